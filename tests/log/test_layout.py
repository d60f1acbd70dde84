"""Tests of log.layout."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest

from evenhand.auditing import audit
from evenhand.errors import BadParameter
from evenhand.log.layout import (
    DEFAULTS,
    HiddenMark,
    common_mark,
    default_columns,
    is_address,
    mark_of,
    read_address,
    read_marks,
    shown,
)
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, write

# Addresses of databases: their parts, what is shown of them, and a DuckDB file read in place.

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


# Marks in place of numbers, and what they can hide.


@pytest.mark.parametrize(
    ("text", "lowest", "whole", "any_number"),
    [
        ("<5", 0, 4, 5),
        ("< 10", 0, 9, 10),
        ("fewer than 3", 0, 2, 3),
        ("≤4", 0, 4, 4),
        ("up to 4", 0, 4, 4),
        ("1-4", 1, 4, 4),
        ("1 to 4", 1, 4, 4),
        ("<0.5", 0, 0, 0.5),
        (">95", 95, None, None),
        ("*", None, None, None),
        ("[c]", None, None, None),
        ("#N/A", None, None, None),
    ],
)
def test_what_a_mark_can_hide(text, lowest, whole, any_number):
    mark = common_mark(text)
    assert (mark.lowest, mark.most(True), mark.most(False)) == (lowest, whole, any_number)


@pytest.mark.parametrize("text", ["five", "12", "C3", "", "4-1", "<", "<x"])
def test_what_is_not_a_mark(text):
    assert common_mark(text) is None


def test_marks_as_users_name_them():
    assert read_marks("*") == read_marks(["*"]) == (HiddenMark("*"),)
    assert read_marks({"x": (1, 4)}) == read_marks(["x=1-4"]) == (HiddenMark("x", 1.0, 4.0),)
    assert read_marks(["a=b"]) == (HiddenMark("a=b"),)
    assert read_marks("<5") == (common_mark("<5"),)
    assert mark_of("-9.0", read_marks("-9")) == HiddenMark("-9")
    assert mark_of("<5", read_marks("<5=1-4")).most(whole=True) == 4


@pytest.mark.parametrize("given", ["", " ", "x=5-1", 7])
def test_a_mark_that_is_none(given):
    with pytest.raises(BadParameter, match="`missing` is"):
        read_marks(given)


# Which columns of a job log are looked at by default, and when none are.


def test_of_job_logs_what_is_not_given_is_filled_in():
    assert default_columns(["a.swf", Path("b.SWF.gz")], {}) == DEFAULTS
    given = {"stakeholder": "group", "time": None}
    assert default_columns([["a.swf"]], given) == {"time": "start", "amount": "processor_seconds"}


@pytest.mark.parametrize(
    ("logs", "given"),
    [
        (["a.csv"], {}),
        (["a.swf", "b.csv"], {}),
        ([{"user": [1]}], {}),
        ([[]], {}),
        (["a.swf"], {"wait_from": "submit"}),
        (["a.swf"], {"wide": "time"}),
    ],
)
def test_of_others_nothing_is(logs, given):
    assert default_columns(logs, given) == {}
