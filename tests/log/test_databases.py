"""Tests of log.databases."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import sys
from pathlib import Path
from random import Random

import duckdb
import pytest

import evenhand
from evenhand import audit
from evenhand.errors import BadFile, EvenhandError, MissingExtra
from evenhand.log import layout
from evenhand.log.databases import connect_to_duckdb, lock
from evenhand.log.layout import read_address

# Database files of strangers: they are data, and reach nothing but themselves.

ROWS = "(VALUES ('A', 1, 3.0), ('B', 2, 3.0), ('A', 3, 2.0)) AS rows(who, day, much)"
ASKED = {"stakeholder": "who", "time": "day", "amount": "much"}
WORDS = ("--stakeholder", "who", "--time", "day", "--amount", "much", "--table")


@pytest.fixture
def duckdb_file(tmp_path):
    """A DuckDB file of some statements, beside a table of decisions."""

    def made(*statements):
        path = tmp_path / "strange.duckdb"
        path.unlink(missing_ok=True)
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
        path.unlink(missing_ok=True)
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
    monkeypatch.setattr(layout, "SECONDS", 0.3)
    monkeypatch.setattr(layout, "MEMORY", 1 << 28)


def received(log, table, **more):
    answer = evenhand.audit(log, table=table, **ASKED, **more)
    return {one.name: one.received for one in answer.by_stakeholder}


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


def test_what_a_view_may_not_do_nobody_can_do_where_it_is_read(duckdb_file, tmp_path):
    address = read_address(duckdb_file())
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        connect_to_duckdb(address) as connection,
    ):
        lock(connection, view=True)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x.csv"
        for statement in (
            f"SELECT * FROM read_csv('{url}')",
            f"SELECT * FROM '{url}'",
            f"ATTACH '{tmp_path / 'other.duckdb'}'",
            f"COPY log.decisions TO '{tmp_path / 'copy.csv'}'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET memory_limit = '100 GB'",
            "SET lock_configuration = false",
            "INSERT INTO log.decisions VALUES ('C', 4, 1)",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):  # as nobody has called
            server.accept()
    assert [one.name for one in tmp_path.iterdir()] == ["strange.duckdb"]


def test_a_view_does_not_see_variables_of_this_program(duckdb_file, refuses, monkeypatch):
    import evenhand.log.databases as ours

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
}


def test_functions_that_we_call_are_not_those_of_the_file(duckdb_file):
    text = (
        "CREATE TABLE texts AS SELECT who, '2021-01-0' || day AS day, much || ' ' AS much "
        "FROM decisions"
    )
    asked = {"every": "day", "where": "who != 'C'", "table": "texts", **ASKED}
    plain = evenhand.audit(duckdb_file(text), **asked)
    macros = [f"CREATE MACRO {name}{body}" for name, body in MACROS.items()]
    with_macros = evenhand.audit(duckdb_file(text, *macros), **asked)
    assert with_macros.by_stakeholder == plain.by_stakeholder
    assert with_macros.score == plain.score
    assert with_macros.notes == plain.notes


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "view",
    [
        "SELECT 'A' AS who, range AS day, 1 AS much, 1 AS run FROM range(1000000000000)",
        "WITH RECURSIVE forever(day) AS (SELECT 1 UNION ALL SELECT day + 1 FROM forever) "
        "SELECT 'A' AS who, day, 1 AS much, 1 AS run FROM forever",
    ],
)
def test_an_endless_view_of_duckdb_is_stopped(duckdb_file, refuses, view):
    log = duckdb_file(f"CREATE VIEW endless AS {view}")
    words = ("endless in duckdb:///", "is a view that takes more than", "make it a table")
    refuses(words, log, *WORDS, "endless")
    refuses(words, log, *WORDS, "endless", "--run", "run")


@pytest.mark.usefixtures("impatient")
def test_an_endless_view_of_sqlite_is_stopped(sqlite_file, refuses):
    log = sqlite_file(
        "CREATE VIEW endless AS WITH RECURSIVE forever(day) AS "
        "(SELECT 1 UNION ALL SELECT day + 1 FROM forever) "
        "SELECT 'A' AS who, day, 1 AS much FROM forever"
    )
    words = ("endless in sqlite:///", "is a view that takes more than 0.3 seconds", "a table")
    refuses(words, log, *WORDS, "endless")


def test_a_view_made_of_billions_of_views_is_refused(sqlite_file, refuses):
    twice = "CREATE VIEW v{} AS SELECT * FROM {before} UNION ALL SELECT * FROM {before}"
    log = sqlite_file(
        "CREATE VIEW v0 AS SELECT * FROM decisions",
        *(twice.format(k, before=f"v{k - 1}") for k in range(1, 40)),
    )
    refuses(("v39 is a view that takes more than", "make it a table"), log, *WORDS, "v39")


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("SELECT error('boom') AS who, 1 AS day, 1 AS much", "boom"),
        ("SELECT 'A' AS who, CAST(who AS INT) AS day, 1 AS much FROM decisions", "convert"),
    ],
)
def test_a_view_that_raises_is_one_sentence(duckdb_file, refuses, view, words):
    log = duckdb_file(f"CREATE VIEW raising AS {view}")
    refuses(("raising in duckdb:///", "cannot be read", words), log, *WORDS, "raising")


def test_a_broken_view_is_one_sentence(duckdb_file, sqlite_file, refuses):
    statements = (
        "CREATE TABLE gone (who TEXT, day INT, much INT)",
        "CREATE VIEW broken AS SELECT * FROM gone",
        "DROP TABLE gone",
    )
    for log in (duckdb_file(*statements), sqlite_file(*statements)):
        refuses(("broken in", "cannot be read", "gone"), log, *WORDS, "broken")


def test_views_of_each_other_are_one_sentence(duckdb_file, refuses):
    log = duckdb_file(
        "CREATE VIEW a AS SELECT * FROM decisions",
        "CREATE VIEW b AS SELECT * FROM a",
        "CREATE OR REPLACE VIEW a AS SELECT * FROM b",
    )
    refuses(("a in duckdb:///", "infinite recursion"), log, *WORDS, "a")


def test_a_view_of_sqlite_may_not_call_what_is_unusual(sqlite_file, refuses):
    for call in ("load_extension('x')", "evenhand_number(who)"):
        log = sqlite_file(
            "DROP TABLE decisions",
            "CREATE TABLE decisions (who TEXT, day INTEGER, much REAL)",
            f"CREATE VIEW calling AS SELECT {call} AS who, day, much FROM decisions",
        )
        refuses(("calling in sqlite:///", "cannot be read"), log, *WORDS, "calling")


def test_nothing_is_written_beside_or_into_the_file(duckdb_file, sqlite_file, tmp_path):
    for log in (duckdb_file(), sqlite_file()):
        path = log.split("///")[1]
        with open(path, "rb") as file:
            before = file.read()
        received(log, "decisions")
        with open(path, "rb") as file:
            assert file.read() == before
    assert {one.name for one in tmp_path.iterdir()} == {"strange.duckdb", "strange.db"}


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_what_is_no_database_file(tmp_path, scheme):
    for make, words in (
        (os.mkfifo, "is not a file but a pipe"),
        (os.mkdir, "is a folder"),
        (lambda path: path.symlink_to(path), "leads back to itself"),
        (lambda path: path.write_text("who,day\n"), "is not a"),
    ):
        path = tmp_path / f"x{len(list(tmp_path.iterdir()))}"
        make(path)
        with pytest.raises(BadFile, match=words):
            received(f"{scheme}:///{path}", "decisions")


@pytest.mark.parametrize("kind", ["duckdb_file", "sqlite_file"])
def test_a_damaged_file_is_one_sentence(request, kind):
    path = Path(request.getfixturevalue(kind)().split("///")[1])
    whole, log = path.read_bytes(), f"{kind.split('_')[0]}:///{path}"
    random, refused = Random(0), 0
    for _ in range(6):
        damaged = bytearray(whole)
        for place in (random.randrange(16, len(whole)) for _ in range(200)):
            damaged[place] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        with contextlib.suppress(EvenhandError):  # and nothing else
            received(log, "decisions")
            continue
        refused += 1
    assert refused > 1


# What a database needs that is not installed is said with the command that brings it.


@pytest.mark.parametrize(("module", "named"), [("ibis", "Ibis"), ("psycopg", "psycopg")])
def test_a_missing_package_is_named(monkeypatch, module, named):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"needs {named}, .*pip install 'evenhand\[sql\]'"):
        audit("postgresql://somewhere.invalid/log", stakeholder="who", time="when")
