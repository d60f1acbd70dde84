"""Sizes, rates, harms, requests, waits, stocks, newcomers: the same numbers in every engine."""

from __future__ import annotations

import os
import shutil
import sqlite3

import duckdb
import pytest

import parts_of_judging as parts
import postgres_server
import same_numbers as same
from evenhand.auditing import audit, compare_periods

# What other tests of this process have loaded warns where Spark starts its processes.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default")]


def made(name, types):
    columns = ", ".join(f'"{column}" {kind}' for column, kind in types.items())
    return f"CREATE TABLE {name} ({columns})"


TABLES = {
    "decisions": (parts.TYPES, parts.rows),
    "demand": (parts.REQUEST_TYPES, parts.requests),
}


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory):
    pytest.importorskip("ibis", reason="ibis is not installed")
    path = tmp_path_factory.mktemp("sqlite") / "town.db"
    with sqlite3.connect(path) as town:
        for name, (types, rows) in TABLES.items():
            town.execute(made(name, types))
            places = ",".join("?" * len(types))
            dated = [tuple(str(v) if hasattr(v, "year") else v for v in row) for row in rows()]
            town.executemany(f"INSERT INTO {name} VALUES ({places})", dated)
    town.close()
    return (f"sqlite:///{path}", "decisions"), (f"sqlite:///{path}", "demand")


@pytest.fixture(scope="module")
def duckdb_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("duckdb") / "town.duckdb"
    with duckdb.connect(str(path)) as town:
        for name, (types, rows) in TABLES.items():
            town.execute(made(name, types))
            places = ",".join("?" * len(types))
            town.executemany(f"INSERT INTO {name} VALUES ({places})", rows())
    return (f"duckdb:///{path}", "decisions"), (f"duckdb:///{path}", "demand")


@pytest.fixture(scope="module")
def postgres():
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    pytest.importorskip("ibis", reason="ibis is not installed")
    programs = postgres_server.programs()
    if programs is None:
        pytest.skip("Postgres is not installed (Debian: postgresql)")
    with postgres_server.running(programs) as server:
        with psycopg.connect(server.admin, autocommit=True) as town, town.cursor() as cursor:
            for name, (types, rows) in TABLES.items():
                cursor.execute(made(name, types))
                with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                    for row in rows():
                        copy.write_row(row)
        yield (server.reader, "decisions"), (server.reader, "demand")


@pytest.fixture(scope="module")
def spark():
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed (Debian: openjdk-17-jre-headless)")
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",  # nothing may depend on it
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    session = pyspark.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    kinds = {"text": "string", "double precision": "double"}
    tables = []
    for types, rows in TABLES.values():
        schema = ", ".join(f"`{name}` {kinds.get(kind, kind)}" for name, kind in types.items())
        tables.append((session.createDataFrame(rows(), schema).persist(), None))
    yield tables
    session.stop()


@pytest.mark.parametrize("engine", ["sqlite", "duckdb_file", "postgres", "spark"])
@pytest.mark.parametrize("part", [*parts.PARTS, *parts.REQUESTS])
def test_the_same_numbers_as_pandas(engine, part, request):
    (log, table), (demand, demand_table) = request.getfixturevalue(engine)
    asked = {**parts.PARTS, **parts.REQUESTS}[part]
    there, here = {"table": table}, {}
    if part in parts.REQUESTS:
        there |= {"requests": demand, "requests_table": demand_table}
        here |= {"requests": parts.requests_frame()}
    same.assert_same(audit(log, **asked, **there), audit(parts.frame(), **asked, **here))


@pytest.mark.parametrize("engine", ["sqlite", "duckdb_file", "postgres", "spark"])
def test_two_periods(engine, request):
    (log, table), _ = request.getfixturevalue(engine)
    asked = {**parts.BASE, "entitlement": "people", "before": "2021-03-10"}
    found = compare_periods(log, **asked, table=table)
    expected = compare_periods(parts.frame(), **asked)
    same.assert_same(found.first, expected.first)
    same.assert_same(found.second, expected.second)
