"""Audits in databases for real: a Postgres server, SQLite and DuckDB files, all only read."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from urllib.parse import quote

import duckdb
import polars as pl
import pytest

import postgres_server
import same_numbers as same
from evenhand.auditing import audit, compare
from evenhand.log import checks, counting
from places import VACCINATIONS
from postgres_server import READER, READER_PASSWORD

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
pytest.importorskip("ibis", reason="ibis is not installed")

pytestmark = pytest.mark.system

TYPES = {
    "id": "integer",
    "at": "timestamp",
    "day": "date",
    "text": "text",
    "who": "text",
    "doses": "numeric",
    "region": "text",
    "people": "double precision",
    "kind": "text",
}
COLUMNS = ", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())
MADE = f"CREATE TABLE decisions ({COLUMNS})"
TOTALS = "CREATE TABLE totals (day date, who text, total double precision)"
OPTIONS = ("--stakeholder", "who", "--time", "at", "--amount", "doses")


@pytest.fixture(scope="module")
def server():
    programs = postgres_server.programs()
    if programs is None:
        pytest.skip("Postgres is not installed (Debian: postgresql)")
    with postgres_server.running(programs) as started:
        _fill(started)
        yield started


def _fill(server):
    with psycopg.connect(server.admin, autocommit=True) as town, town.cursor() as cursor:
        cursor.execute(MADE)
        cursor.execute(TOTALS)
        with cursor.copy("COPY decisions FROM STDIN") as copy:
            for row in same.untidy():
                copy.write_row(row)
        with cursor.copy("COPY totals FROM STDIN") as copy:
            for row in same.running_totals():
                copy.write_row(row)
        cursor.execute(
            "CREATE VIEW elsewhere AS SELECT *, at AT TIME ZONE 'UTC' AS moment FROM decisions"
        )


@pytest.fixture(scope="module")
def sqlite_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sqlite") / "town.db"
    with sqlite3.connect(path) as town:
        town.execute(MADE.replace("numeric", "real"))
        town.execute(TOTALS)
        rows = [(k, str(at), str(day), *rest) for k, at, day, *rest in same.untidy()]
        town.executemany(f"INSERT INTO decisions VALUES ({','.join('?' * len(TYPES))})", rows)
        totals = [(str(day), *rest) for day, *rest in same.running_totals()]
        town.executemany("INSERT INTO totals VALUES (?, ?, ?)", totals)
    town.close()
    return path


@pytest.fixture(scope="module")
def duckdb_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("duckdb") / "town.duckdb"
    with duckdb.connect(str(path)) as town:
        town.execute(MADE.replace("numeric", "double"))
        town.execute(TOTALS)
        for table, frame in (("decisions", same.untidy_frame()), ("totals", same.totals_frame())):
            town.register("filling", frame)
            town.execute(f"INSERT INTO {table} SELECT * FROM filling")
    return path


@pytest.fixture(scope="module")
def sources(server, sqlite_file, duckdb_file):
    """The places that must agree with pandas, each opened by a name of a table."""
    polars = {
        "decisions": pl.DataFrame(same.untidy(), same.COLUMNS, orient="row"),
        "totals": pl.DataFrame(same.running_totals(), ("day", "who", "total"), orient="row"),
    }
    return {
        "polars": lambda table, **options: audit(polars[table], **options),
        "postgres": lambda table, **options: audit(server.reader, table=table, **options),
        "sqlite": lambda table, **o: audit(f"sqlite:///{sqlite_file}", table=table, **o),
        "duckdb": lambda table, **o: audit(f"duckdb:///{duckdb_file}", table=table, **o),
    }


@pytest.mark.parametrize("source", ["polars", "postgres", "sqlite", "duckdb"])
def test_the_same_numbers_as_pandas(source, sources, tmp_path):
    frame, totals = same.untidy_frame(), same.totals_frame()
    for options in same.questions(tmp_path).values():
        asked = {**same.MAPPED, **options}
        same.assert_same(sources[source]("decisions", **asked), audit(frame, **asked), True)
    for options in same.TOTALS.values():
        asked = {**same.TOTALS_MAPPED, **options}
        same.assert_same(sources[source]("totals", **asked), audit(totals, **asked), True)


@pytest.mark.parametrize("source", ["postgres", "sqlite", "duckdb"])
def test_long_logs_are_grouped_by_day_and_come_back_in_blocks(source, sources, monkeypatch):
    """What happens beyond millions of rows, with thousands."""
    frame, totals = same.untidy_frame(), same.totals_frame()
    anytime, monthly = audit(frame, **same.MAPPED), audit(frame, **same.MAPPED, every="month")
    by_month = audit(totals, **same.TOTALS_MAPPED, every="month")
    monkeypatch.setattr(counting, "EXACT_ROWS", 0)
    for module in ("engines", "ibis_engine"):
        monkeypatch.setattr(f"evenhand.log.{module}.BLOCK_ROWS", 100)
    monkeypatch.setattr("evenhand.log.history.IN_MEMORY", 1000)
    monkeypatch.setattr("evenhand.log.history.BLOCK_VALUES", 1 << 12)
    same.assert_same(sources[source]("decisions", **same.MAPPED), anytime, True)
    found = sources[source]("decisions", **same.MAPPED, every="month")
    assert found.origin["time_points"] is None
    assert found.score == pytest.approx(monthly.score, rel=1e-12)
    assert found.over_time.unfairness == pytest.approx(monthly.over_time.unfairness, rel=1e-12)
    found = sources[source]("totals", **same.TOTALS_MAPPED, every="month")
    assert found.over_time.unfairness == pytest.approx(by_month.over_time.unfairness, rel=1e-12)


def test_times_with_a_zone_and_tables_of_ibis(server):
    import ibis

    expected = audit(same.untidy_frame(), **same.MAPPED)
    asked = {**same.MAPPED, "time": "moment"}
    same.assert_same(audit(server.reader, table="elsewhere", **asked), expected, True)
    with psycopg.connect(server.reader) as connection:
        table = ibis.postgres.from_connection(connection).table("elsewhere")
        same.assert_same(audit(table, **asked), expected, True)
    memory = ibis.memtable(pl.DataFrame(same.untidy(), same.COLUMNS, orient="row").to_arrow())
    same.assert_same(audit(memory, **same.MAPPED), expected, True)


@pytest.mark.skipif(not VACCINATIONS.exists(), reason="the real log is not here")
def test_the_real_log(server, tmp_path):
    name = "us_state_vaccinations"
    with duckdb.connect(str(tmp_path / "real.duckdb")) as town:
        town.execute(f"CREATE TABLE {name} AS FROM read_csv(?)", [str(VACCINATIONS)])
        rows = town.execute(f"SELECT date, location, total_distributed FROM {name}").fetchall()
    with psycopg.connect(server.admin, autocommit=True) as town, town.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE {name} (date date, location text, total_distributed double precision)"
        )
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    with sqlite3.connect(tmp_path / "real.db") as town:
        town.execute(f"CREATE TABLE {name} (date text, location text, total_distributed integer)")
        town.executemany(
            f"INSERT INTO {name} VALUES (?, ?, ?)", [(str(d), *rest) for d, *rest in rows]
        )
    town.close()
    for question in same.REAL_QUESTIONS:
        asked = {**same.REAL_MAPPED, **question}
        expected = audit(str(VACCINATIONS), **asked)
        for address in (
            server.reader,
            f"sqlite:///{tmp_path}/real.db",
            f"duckdb:///{tmp_path}/real.duckdb",
        ):
            same.assert_same(audit(address, table=name, **asked), expected, True)


def test_the_reader_may_only_read(server):
    """Everything in this file is done as somebody who can do nothing else."""
    with psycopg.connect(server.reader, autocommit=True) as town:
        for forbidden in (
            "CREATE TEMPORARY TABLE mine (x int)",
            "CREATE TABLE mine (x int)",
            "DELETE FROM decisions",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                town.execute(forbidden)


def test_all_queries_see_one_state_of_the_table(server, monkeypatch):
    expected = audit(server.reader, table="totals", **same.TOTALS_MAPPED, every="month")
    scan, admin = checks.scan_cells, psycopg.connect(server.admin, autocommit=True)

    def and_meanwhile(*arguments):
        admin.execute("INSERT INTO totals VALUES ('2021-01-01', 'A newcomer', 1000)")
        return scan(*arguments)

    monkeypatch.setattr(checks, "scan_cells", and_meanwhile)
    try:
        found = audit(server.reader, table="totals", **same.TOTALS_MAPPED, every="month")
        same.assert_same(found, expected, True)
    finally:
        admin.execute("DELETE FROM totals WHERE who = 'A newcomer'")
        admin.close()


# Names, and what is said of secrets


def test_names_are_never_part_of_the_query(server):
    nasty = 'x"; DROP TABLE decisions; --'
    with psycopg.connect(server.admin, autocommit=True) as town:
        table, column = psycopg.sql.Identifier(nasty), psycopg.sql.Identifier(nasty + "'%s")
        town.execute(psycopg.sql.SQL("CREATE SCHEMA {}").format(table))
        town.execute(
            psycopg.sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(
                table, psycopg.sql.Identifier(READER)
            )
        )
        made = psycopg.sql.SQL("CREATE TABLE {}.{} (at int, {} text)").format(table, table, column)
        town.execute(made)
        town.execute(psycopg.sql.SQL("GRANT SELECT ON {}.{} TO PUBLIC").format(table, table))
        filled = psycopg.sql.SQL("INSERT INTO {}.{} VALUES (1, %s), (2, %s)").format(table, table)
        town.execute(filled, (nasty, "'; DROP TABLE decisions; --"))
    both = f'"{nasty.replace(chr(34), chr(34) * 2)}"'
    for name in (f"{nasty}.{nasty}", f"{both}.{both}"):
        answer = audit(server.reader, table=name, stakeholder=nasty + "'%s", time="at")
        assert {one.name for one in answer.by_stakeholder} == {nasty, "'; DROP TABLE decisions; --"}
    assert audit(server.reader, table="public.decisions", **same.MAPPED).origin["rows"] == 2_420


def test_no_secret_is_ever_shown(server, run, tmp_path):
    report, tables = tmp_path / "report.html", tmp_path / "tables"
    address = f"{server.reader}?application_name=audit&sslpassword=Xyzzy"
    out = ("--out", str(report), "--csv", str(tables), "--json")
    code, text, errors = run(address, "--table", "decisions", *OPTIONS, *out)
    assert code == 0, errors
    origin, log = json.loads(text)["origin"], json.loads(text)["log"]
    assert log == f"decisions in postgresql://{READER}@127.0.0.1:{server.port}/town"
    assert origin["command"].split()[2].startswith(f"'postgresql://{READER}@127.0.0.1")
    written = [path.read_text() for path in (report, *tables.iterdir())]
    assert len(written) > 2
    for said in (text, errors, *written):
        for secret in (READER_PASSWORD, quote(READER_PASSWORD, safe=""), "Xyzzy"):
            assert secret not in said


def test_passwords_from_the_environment_and_a_file(server, run, tmp_path, monkeypatch):
    address = server.url(READER, None)
    asked = (address, "--table", "totals", "--stakeholder", "who", "--time", "day", "--json")
    monkeypatch.setenv("PGPASSWORD", READER_PASSWORD)
    assert run(*asked)[0] == 0
    monkeypatch.delenv("PGPASSWORD")
    secrets = tmp_path / "pgpass"
    secrets.write_text(f"127.0.0.1:{server.port}:*:{READER}:{READER_PASSWORD}\n")
    secrets.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(secrets))
    assert run(*asked)[0] == 0
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    code, _, errors = run(*asked)
    assert code == 2
    assert "PGPASSWORD" in errors


def test_two_tables_side_by_side(server, run):
    answer = compare(
        server.reader,
        server.reader,
        table=["decisions", "elsewhere"],
        **same.MAPPED,
        every="month",
    )
    assert answer.questions[0].fairer is None
    tables = ("--table", "decisions", "--table", "elsewhere")
    code, text, errors = run(server.reader, server.reader, *tables, *OPTIONS, "--json")
    assert code == 0, errors
    assert len(json.loads(text)["logs"]) == 2


# Bad input


def test_addresses_that_lead_nowhere(server, refuses, tmp_path):
    asked = ("--table", "decisions", *OPTIONS)
    wrong = server.url(READER, "hunter2")
    refuses(("does not let us in", READER, "PGPASSWORD"), wrong, *asked)
    refuses(("does not let us in",), server.url("nobody_such", "hunter2"), *asked)
    nowhere = server.url(READER, READER_PASSWORD, "village")
    refuses(("no database 'village'",), nowhere, *asked)
    refuses(
        ("cannot be reached", "nothing listens"), "postgresql://u:hunter2@127.0.0.1:1/d", *asked
    )
    refuses(("no such host",), "postgresql://u:hunter2@nowhere.invalid/d", *asked)
    for broken in (
        "postgresql://u:hun@ter2@h/d",
        "postgresql://u:hunter2/@h/d",
        "postgres://h:x/d",
    ):
        refuses(("address of the database cannot be read", "%40"), broken, *asked)
    refuses(("no file 'postgers://u@h/d'",), "postgers://u:hunter2@h/d", *OPTIONS)
    refuses(("--engine",), server.reader, *asked, "--engine", "spark")


def test_tables_and_columns_that_are_not_there(server, refuses, sqlite_file, duckdb_file):
    for address in (server.reader, f"sqlite:///{sqlite_file}", f"duckdb:///{duckdb_file}"):
        refuses(
            ("no table 'decision'", "did you mean 'decisions'?"), address, "--table", "decision"
        )
        refuses(("--table", "'decisions'", "'totals'"), address, *OPTIONS)
        asked = (address, "--table", "decisions")
        refuses(("'dose' (--amount)", "'doses'?"), *asked, *OPTIONS, "--amount", "dose")
        refuses(("--where names 'kin'", "'kind'"), *asked, *OPTIONS, "--where", "kin = 'x'")
        refuses(("--exclude names 'Nort'",), *asked, *OPTIONS, "--exclude", "Nort")
    refuses(
        ("--table", "once is enough for one log"),
        server.reader,
        "--table",
        "a",
        "--table",
        "b",
        *OPTIONS,
    )


def test_text_that_is_no_time_and_no_number(server, refuses, sqlite_file, duckdb_file):
    for address in (server.reader, f"sqlite:///{sqlite_file}"):
        asked = (address, "--table", "decisions", *OPTIONS)
        refuses(("'region'", "not a date or time", "view"), *asked, "--time", "region")
        refuses(("'kind'", "not a number"), *asked, "--amount", "kind")
        refuses(("--time-format is for files",), *asked, "--time", "text", "--time-format", "%Y")
    asked = (f"duckdb:///{duckdb_file}", "--table", "decisions", *OPTIONS)
    refuses(("'region'", "not a date or time"), *asked, "--time", "region")


def test_single_bad_values_are_shown(server, refuses, tmp_path):
    rows = [("2021-02-28", "A", "1"), ("2021-02-29", "A", "1"), ("soon", "B", "many")]
    with psycopg.connect(server.admin, autocommit=True) as town, town.cursor() as cursor:
        cursor.execute("CREATE TABLE odd (at text, who text, doses text)")
        cursor.executemany("INSERT INTO odd VALUES (%s, %s, %s)", rows)
    with sqlite3.connect(tmp_path / "odd.db") as town:
        town.execute("CREATE TABLE odd (at date, who text, doses real)")
        town.executemany("INSERT INTO odd VALUES (?, ?, ?)", rows)
    town.close()
    for address in (server.reader, f"sqlite:///{tmp_path}/odd.db"):
        asked = (address, "--table", "odd", *OPTIONS)
        refuses(("not a number at 1 row ('many' is one)",), *asked)
        refuses(("not a date or time at 1 row ('2021-02-29'",), *asked, "--where", "who = 'A'")
        assert audit(address, table="odd", **same.MAPPED, where="at < '2021-03-01'").score > 0


def test_a_user_who_may_not_read(server, refuses):
    with psycopg.connect(server.admin, autocommit=True) as town:
        town.execute("CREATE TABLE hidden (at int, who text)")
        town.execute(f"REVOKE SELECT ON hidden FROM {READER}")
    asked = ("--stakeholder", "who", "--time", "at")
    refuses(("permission denied", "GRANT SELECT"), server.reader, "--table", "hidden", *asked)


def test_a_connection_lost_in_mid_query(server, refuses, tmp_path):
    """Somebody ends the session while the server is at work for it."""
    with psycopg.connect(server.admin, autocommit=True) as town:
        town.execute(
            "CREATE VIEW slow AS SELECT n AS at, 'w' || n % 3 AS who, "
            "CASE WHEN pg_sleep(0.01) IS NULL THEN 1 ELSE 2 END AS doses "
            "FROM generate_series(1, 3000) AS n"
        )
    ended, over = [], threading.Event()

    def end_it():
        with psycopg.connect(server.admin, autocommit=True) as town:
            while not over.is_set():
                done = town.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE usename = %s AND state = 'active' AND query LIKE 'FETCH%%'",
                    (READER,),
                ).fetchall()
                if done:
                    ended.extend(done)
                    return
                over.wait(0.1)

    other = threading.Thread(target=end_it)
    other.start()
    report, tables = tmp_path / "report.html", tmp_path / "tables"
    out = ("--out", str(report), "--csv", str(tables))
    refuses(("was lost", "nothing was written"), server.reader, "--table", "slow", *OPTIONS, *out)
    over.set()
    other.join()
    assert ended
    assert not report.exists()
    assert not tables.exists()


def test_files_that_are_no_databases(refuses, tmp_path):
    plain = tmp_path / "plain.db"
    plain.write_text("nothing of the kind\n" * 100)
    for scheme in ("sqlite", "duckdb"):
        refuses(("is not a", "file: "), f"{scheme}:///{plain}", "--table", "t", *OPTIONS)
        refuses(("no file", "three slashes"), f"{scheme}:///{tmp_path}/none.db", "--table", "t")
        refuses(("three slashes",), f"{scheme}://", "--table", "t", *OPTIONS)


def test_without_ibis_the_extra_is_named(server):
    """In a Python that has none of it."""
    code = (
        "import sys; sys.modules['ibis'] = None\n"
        "from evenhand.cli import main\n"
        f"sys.argv = ['evenhand', 'audit', {server.reader!r}, '--table', 't', *{OPTIONS!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'evenhand[sql]'" in done.stderr
    assert READER_PASSWORD not in done.stderr


def test_memory_does_not_grow_with_the_cells(server, monkeypatch):
    """Every one of many time points, with arrays that go to files beyond a small size."""
    import tracemalloc

    with psycopg.connect(server.admin, autocommit=True) as town:
        town.execute(
            "CREATE TABLE busy AS SELECT n / 4 AS at, 'w' || n % 40 AS who, 1.0 AS doses "
            "FROM generate_series(1, 200000) AS n"
        )
    asked = {**same.MAPPED, "welfare": "rawls"}
    expected = audit(server.reader, table="busy", **asked)
    monkeypatch.setattr("evenhand.log.ibis_engine.BLOCK_ROWS", 2_000)
    monkeypatch.setattr("evenhand.log.history.IN_MEMORY", 2_000)
    monkeypatch.setattr("evenhand.log.history.BLOCK_VALUES", 1 << 14)
    monkeypatch.setattr("evenhand.auditing.judge.KEPT_VALUES", 40_000)
    monkeypatch.setattr("evenhand.auditing.judge.STEP_VALUES", 1)
    tracemalloc.start()
    found = audit(server.reader, table="busy", **asked)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.score == pytest.approx(expected.score, rel=1e-12)
    assert found.origin["fingerprint"] == expected.origin["fingerprint"]
    matrix = 8 * 50_000 * 40  # bytes of the status matrix of one question
    print(f"peak {peak / 1e6:.1f} MB, the matrix alone is {matrix / 1e6:.1f} MB")
    assert peak < matrix
