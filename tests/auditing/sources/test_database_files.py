"""Database files of strangers: they are data, and reach nothing but themselves."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import duckdb
import pytest

import evenhand
from evenhand.auditing.sources import view_limits
from evenhand.errors import BadFile, BadLog

ROWS = "(VALUES ('A', 1, 3.0), ('B', 2, 3.0), ('A', 3, 2.0)) AS rows(who, day, much)"
ASKED = {"stakeholder": "who", "time": "day", "amount": "much"}
WORDS = ("--stakeholder", "who", "--time", "day", "--amount", "much", "--table")


@pytest.fixture
def duckdb_file(tmp_path):
    """A DuckDB file of some statements, beside a table of decisions."""

    def made(*statements):
        path = tmp_path / "strange.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE decisions AS FROM {ROWS}")
            for statement in statements:
                connection.execute(statement)
        return f"duckdb:///{path}"

    return made


@pytest.fixture
def sqlite_file(tmp_path):
    """The same of SQLite."""

    def made(*statements):
        path = tmp_path / "strange.db"
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE decisions (who TEXT, day INTEGER, much REAL)")
            connection.execute(
                "INSERT INTO decisions VALUES ('A', 1, 3.0), ('B', 2, 3.0), ('A', 3, 2.0)"
            )
            for statement in statements:
                connection.execute(statement)
        return f"sqlite:///{path}"

    return made


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(view_limits, "SECONDS", 0.3)
    monkeypatch.setattr(view_limits, "MEMORY", 1 << 28)


def received(log, table, **more):
    answer = evenhand.audit(log, table=table, **ASKED, **more)
    return {one.name: one.total for one in answer.by_stakeholder}


@pytest.mark.parametrize("kind", ["duckdb_file", "sqlite_file"])
def test_views_over_tables_of_the_same_file_are_read(request, kind):
    made = request.getfixturevalue(kind)
    log = made(
        "CREATE VIEW doubled AS SELECT who, day, 2 * much AS much FROM decisions",
        "CREATE VIEW most AS SELECT * FROM doubled WHERE day < 3",
    )
    assert received(log, "decisions") == {"A": 5.0, "B": 3.0}
    assert received(log, "doubled") == {"A": 10.0, "B": 6.0}
    assert received(log, "most") == {"A": 6.0, "B": 6.0}
    assert received(log, "doubled", where="day > 1") == {"A": 4.0, "B": 6.0}


def test_views_of_other_schemas_and_with_macros_of_their_own(duckdb_file):
    log = duckdb_file(
        "CREATE SCHEMA town",
        "CREATE VIEW town.all_of_them AS SELECT * FROM decisions",
        "CREATE MACRO twice(x) AS 2 * x",
        "CREATE VIEW doubled AS SELECT who, day, twice(much) AS much FROM decisions",
    )
    assert received(log, "town.all_of_them") == {"A": 5.0, "B": 3.0}
    assert received(log, "doubled") == {"A": 10.0, "B": 6.0}


def test_a_view_is_worked_out_once_so_that_chance_in_it_is_the_same_throughout(duckdb_file):
    log = duckdb_file(
        "CREATE VIEW chance AS SELECT 'p' || (random() * 3)::INT AS who, range AS day, "
        "1.0 AS much FROM range(2000)"
    )
    assert sum(received(log, "chance").values()) == 2000


def test_runs_of_a_view(duckdb_file):
    log = duckdb_file(
        "CREATE VIEW runs AS SELECT *, run FROM decisions, range(2) AS numbers(run)",
    )
    assert evenhand.audit(log, table="runs", run="run", **ASKED).runs == 2


@pytest.mark.parametrize(
    "view",
    [
        "SELECT content AS who, 1 AS day, 1 AS much FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT file AS who, 1 AS day, 1 AS much FROM glob('{folder}/*')",
        "SELECT * FROM read_json('{secret}')",
        "SELECT decode(content) AS who, 1 AS day, 1 AS much FROM read_blob('{secret}')",
        "SELECT Columns::VARCHAR AS who, 1 AS day, 1 AS much FROM sniff_csv('{secret}')",
        "SELECT * FROM query('SELECT * FROM read_csv(''{secret}'')')",
    ],
)
def test_a_view_that_reads_another_file_is_refused(duckdb_file, tmp_path, refuses, view):
    secret = tmp_path / "secret.csv"
    secret.write_text("who,day,much\nSECRET,1,1\nOTHER,2,1\n")
    text = view.format(secret=secret, folder=tmp_path)
    log = duckdb_file(f"CREATE VIEW peeping AS {text}")
    words = ("peeping in duckdb:///", "cannot be read", "disabled by configuration")
    refuses(words, log, *WORDS, "peeping")


class _Listening(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_error(404)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def test_a_view_that_reads_from_the_network_is_refused_and_nobody_is_asked(duckdb_file, refuses):
    with HTTPServer(("127.0.0.1", 0), _Listening) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/x.csv"
        # A macro is not looked into when it is made, unlike a view.
        log = duckdb_file(
            f"CREATE MACRO fetched() AS TABLE SELECT * FROM read_csv('{address}')",
            "CREATE VIEW decoy AS SELECT 1 AS who, 2 AS day, 3 AS much",
            "CREATE MACRO asking() AS TABLE SELECT * FROM query('FROM fetched()')",
            "CREATE VIEW sending AS SELECT who, day, much FROM decisions WHERE "
            "(SELECT count(*) FROM query('FROM decisions')) > 0",
        )
        with duckdb.connect(log.removeprefix("duckdb:///")) as connection:
            with contextlib.suppress(duckdb.Error):
                connection.execute("CREATE OR REPLACE VIEW sending AS FROM fetched()")
        server.asked.clear()
        with contextlib.suppress(BadLog):
            received(log, "sending")
        asked = list(server.asked)
        server.shutdown()
        thread.join()
    assert asked == []


def test_a_view_does_not_see_variables_of_this_program(duckdb_file, refuses, monkeypatch):
    import evenhand.auditing.sources.databases as ours

    monkeypatch.setattr(ours, "secret_table", object(), raising=False)
    log = duckdb_file(
        "CREATE TABLE secret_table (who TEXT, day INT, much INT)",
        "CREATE VIEW peeping AS SELECT * FROM secret_table",
        "DROP TABLE secret_table",
    )
    refuses(("Table with name secret_table does not exist",), log, *WORDS, "peeping")


MACROS = {
    "trim": "(text) AS 'M'",
    "lower": "(text) AS 'M'",
    "sum": "(x) AS 42",
    "min": "(x) AS 42",
    "max": "(x) AS 42",
    "count": "(x) AS 42",
    "hash": "(a, b, c) AS 42",
    "regexp_extract": "(a, b, c) AS 'M'",
    "regexp_matches": "(a, b) AS true",
    "isnan": "(x) AS true",
    "isinf": "(x) AS true",
    "timezone": "(a, b) AS TIMESTAMP '2000-01-01'",
    "try_strptime": "(a, b) AS TIMESTAMP '2000-01-01'",
    "date_trunc": "(a, b) AS TIMESTAMP '2000-01-01'",
    "coalesce_": "(a) AS 1",
}


def test_functions_that_we_call_are_not_those_of_the_file(duckdb_file):
    text = (
        "CREATE TABLE texts AS SELECT ' ' || who AS who, '2021-01-0' || day AS day, "
        "' ' || much AS much FROM decisions"
    )
    macros = [f"CREATE MACRO {name}{body}" for name, body in MACROS.items()]
    asked = {"every": "day", "where": "much != 'none' and who != 'C'"}
    plain = evenhand.audit(duckdb_file(text), table="texts", **ASKED, **asked).to_json()
    log = duckdb_file("DROP TABLE IF EXISTS texts", text, *macros) if False else None
    assert log is None
    assert plain
