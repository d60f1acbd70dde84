"""Addresses of databases: their parts, what is shown of them, and a DuckDB file read in place."""

from __future__ import annotations

import sys

import duckdb
import pytest

from evenhand.auditing import audit
from evenhand.auditing.sources.addresses import is_address, read_address, shown
from evenhand.errors import BadParameter
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, write

SECRETS = ("s3cr:t", "s3cr", "hidden")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("postgresql://ann@host/db", ("ann", "", "host", "", "db")),
        ("postgres://ann:p%40ss%2F@host:5433/my%20db", ("ann", "p@ss/", "host", "5433", "my db")),
        ("POSTGRESQL://", ("", "", "", "", "")),
        ("postgresql:///db", ("", "", "", "", "db")),
        ("postgresql://a:b@[::1]:5/db", ("a", "b", "::1", "5", "db")),
        ("postgresql://%2Fvar%2Frun/db?sslmode=require", ("", "", "/var/run", "", "db")),
    ],
)
def test_the_parts_of_an_address(text, parts):
    found = read_address(text)
    assert (found.user, found.password, found.host, found.port, found.database) == parts
    assert found.scheme == "postgresql"


def test_addresses_of_files():
    assert read_address("sqlite:///here.db").database == "here.db"
    assert read_address("duckdb:////there/it.duckdb").database == "/there/it.duckdb"
    assert str(read_address("sqlite:////a/b.db")) == "sqlite:////a/b.db"
    with pytest.raises(BadParameter, match="three slashes"):
        read_address("sqlite://here.db")
    assert not is_address("log.csv")
    assert not is_address("s3a://bucket/log.parquet")


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:s3cr:t@host/db?sslpassword=hidden",
        "postgresql://ann:s3cr:t@host:5432/db?password=hidden&sslmode=prefer",
        "mysql://ann:s3cr:t@hidden@host/db",
        "postgresql://ann:s3cr:t/hidden@host/db",
        "--option=postgresql://ann:s3cr:t@host/db?application_name=x&api_token=hidden",
        "postgresql://ann:s3cr:t hidden@host/db",
        "postgresql://ann:s3cr:t?hidden@host/db",
        "postgresql://ann@host:5432/db?password=s3cr:t@hidden",
        "https://ann@host/log.csv?sig=hidden&X-Amz-Signature=s3cr:t",
        "Wrong FS: file://ann:s3cr:t@host/log.csv, expected: file:///",
    ],
)
def test_what_is_shown_has_no_secrets(text):
    for secret in SECRETS:
        assert secret not in shown(text)
        assert "ann@host" in shown(text)
    if is_address(text):
        try:
            said = f"{read_address(text)} {read_address(text)!r}"
        except BadParameter as error:
            said = str(error)
        assert not any(secret in said for secret in SECRETS)


def test_options_that_tell_no_secret_are_shown():
    text = "postgresql://host:5432/db?password=p@ss&sslmode=require"
    assert shown(text) == "postgresql://host:5432/db?sslmode=require"


def test_texts_that_are_no_addresses_are_shown_as_they_are():
    for text in ("log.csv", "a@b:c", "kind = 'x://'", "s3a://bucket/log.parquet"):
        assert shown(text) == text


def test_a_duckdb_file_is_read_in_place(run, tmp_path):
    path = tmp_path / "town.duckdb"
    with duckdb.connect(str(path)) as town:
        town.execute('CREATE SCHEMA "a.b"')
        town.execute('CREATE TABLE "a.b"."t""x" (date DATE, country TEXT, doses DOUBLE)')
        town.executemany('INSERT INTO "a.b"."t""x" VALUES (?, ?, ?)', FIRST_A_THEN_B)
        town.execute('CREATE VIEW decisions AS FROM "a.b"."t""x"')
    expected = audit(write(tmp_path / "log.csv", FIRST_A_THEN_B), **MAPPED)
    for table in ("decisions", "main.decisions", 'a.b.t"x', '"a.b"."t""x"'):
        found = audit(f"duckdb:///{path}", table=table, **MAPPED)
        assert found.origin["fingerprint"] == expected.origin["fingerprint"]
        assert found.label.endswith(f" in duckdb:///{path}")
    with duckdb.connect(str(path)):
        pass  # it was closed, so that it can be written to again


def test_options_that_do_not_fit(refuses, tmp_path, monkeypatch):
    path = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    refuses(("--table", "postgresql://"), path, *OPTIONS, "--table", "decisions")
    refuses(("--engine is 'sparc'", "duckdb or spark"), path, *OPTIONS, "--engine", "sparc")
    monkeypatch.setitem(sys.modules, "ibis", None)
    for address in ("postgresql://ann:s3cr@host/db", f"sqlite:///{path}"):
        refuses(("pip install 'evenhand[sql]'",), address, "--table", "t", *OPTIONS)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    refuses(("pip install 'evenhand[spark]'",), path, *OPTIONS, "--engine", "spark")
