"""Files that are not what they should be: each mistake has one sentence that says where it is."""

from __future__ import annotations

import gzip
import json
import sqlite3

import duckdb
import pandas as pd
import pytest

from evenhand.auditing import audit
from evenhand.auditing.sources.addresses import read_address
from evenhand.auditing.sources.databases import _connect_to_sqlite
from evenhand.auditing.sources.open_source import open_table
from evenhand.auditing.sources.own_duckdb import connect
from evenhand.errors import BadFile
from logs import MAPPED, OPTIONS, write

HEADER = "date,country,doses\n"
FIRST, SECOND = "2021-01-01,A,1\n", "2021-01-02,B,2\n"
FAR = 50_000  # rows, more than the engine looks at before it reads


def log(tmp_path, text, name="log.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return str(tmp_path / name)


@pytest.mark.parametrize("written", ["%q", "", "%", "%Y-%Q"])
def test_a_time_format_that_is_none(refuses, tmp_path, written):
    path = log(tmp_path, HEADER + FIRST + SECOND)
    refuses((f"--time-format is {written!r}", "%d/%m/%Y"), path, *OPTIONS, "--time-format", written)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (FIRST + "2021-01-02,B,2,9\n2021-01-02,B\n", "line 3 has 4 fields where the header has 3"),
        (FIRST + "2021-01-02,B,2,9\n", "line 3 has 4 fields where the header has 3"),
        (FIRST + "\nx\n", "line 4 has 1 field where the header has 3"),
        (FIRST * FAR + "2021-01-02,B,2,9\n", f"line {FAR + 2:,} has 4 fields"),
        ('2021-01-01,"A\nA",1\n' + "2021-01-02,B,2,9\n", "line 4 has 4 fields"),
    ],
)
def test_a_line_with_too_many_or_too_few_fields_is_named(refuses, tmp_path, rows, words):
    refuses((words, "fix the line"), log(tmp_path, HEADER + rows), *OPTIONS)


def test_the_file_of_such_a_line_is_named_too(refuses, tmp_path):
    log(tmp_path, HEADER + FIRST, "one.csv")
    log(tmp_path, HEADER + "2021-01-02,B,2,9\n" + SECOND, "two.csv")
    refuses(("line 2", "two.csv", "4 fields"), str(tmp_path / "*.csv"), *OPTIONS)
    with gzip.open(tmp_path / "three.csv.gz", "wt") as file:
        file.write(HEADER + FIRST + "2021-01-02,B,2,9\n")
    refuses(("line 3 has 4 fields",), str(tmp_path / "three.csv.gz"), *OPTIONS)
    roster = log(tmp_path, "country,from\nA,2021-01-01\nB\n", "roster.txt")
    good = log(tmp_path, HEADER + FIRST + SECOND, "good.tsv")
    refuses(("roster.txt", "line 3 has 1 field"), good, *OPTIONS, "--roster", roster)


@pytest.mark.parametrize("rows", [FIRST + SECOND, FIRST * FAR + SECOND])
def test_what_is_missing_at_the_end_of_a_line_is_empty_as_in_pandas(tmp_path, rows):
    ragged = log(tmp_path, HEADER + rows + '2021-01-03,"C\nD"\n', "ragged.csv")
    found = audit(ragged, **MAPPED)
    assert found.score == audit(pd.read_csv(ragged), **MAPPED).score
    assert found.stakeholder("C\nD").final == 0
    assert sum("has 2 fields where the header has 3: what is" in note for note in found.notes) == 1


def test_a_mistyped_column_does_not_read_the_whole_file(refuses, tmp_path, monkeypatch):
    path = log(tmp_path, HEADER + FIRST + SECOND)
    looked_at = []
    monkeypatch.setattr(
        "evenhand.auditing.sources.csv_files.refuse_misfits",
        lambda _, paths: looked_at.extend(paths),
    )
    refuses(("dose",), path, *OPTIONS, "--amount", "dose")
    assert looked_at == []


def test_an_empty_field_at_the_end_of_lines_and_a_title_above_are_no_mistakes(tmp_path):
    rows = [FIRST.strip() + ",\n", SECOND.strip() + ",\n"]
    assert audit(log(tmp_path, HEADER + "".join(rows)), **MAPPED).score > 0
    assert audit(log(tmp_path, "Doses, 2021\n\n" + HEADER + FIRST + SECOND), **MAPPED).score > 0


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (FIRST + '2021-01-02,"B,2\n', 3),
        ('2021-01-02,"B,2\n' + FIRST + '2021-01-02,"C,2\n', 2),
        (FIRST + '2021-01-02,"The" B,2\n', 3),
        (FIRST * FAR + '2021-01-02,"B,2\n' + FIRST, FAR + 2),
    ],
)
def test_a_quote_that_is_not_closed_is_named(refuses, tmp_path, rows, line):
    refuses((f"in line {line:,} a double quote",), log(tmp_path, HEADER + rows), *OPTIONS)


def test_a_name_is_the_same_with_and_without_quotes_however_far_down(run, tmp_path):
    path = log(tmp_path, HEADER + FIRST * FAR + SECOND + '2021-01-03,"A",1\n2021-01-03,5" B,1\n')
    found = json.loads(run(path, *OPTIONS, "--json")[1])
    final = {one["name"]: one["final"] for one in found["stakeholders"]}
    assert final == {"A": FAR + 1, "B": 2, '5" B': 1}
    single = log(tmp_path, HEADER + "2021-01-01,'A',1\n2021-01-02,'B, C',2\n")
    found = json.loads(run(single, *OPTIONS, "--json")[1])
    assert {one["name"] for one in found["stakeholders"]} == {"A", "B, C"}


def test_two_columns_of_one_name_are_refused_where_it_is_asked_for(refuses, run, tmp_path):
    rows = "2021-01-01,A,1,3\n2021-01-02,B,2,3\n"
    path = log(tmp_path, "date,country,doses,doses\n" + rows)
    refuses(("2 columns called 'doses'", "--amount", "header"), path, *OPTIONS)
    assert run(path, *OPTIONS[:4])[0] == 0
    path = log(tmp_path, "date,country,Doses,doses\n" + rows)
    refuses(("2 columns called 'Doses' and 'doses'",), path, *OPTIONS)
    path = log(tmp_path, "date,country,doses,doses_1\n" + rows)
    assert run(path, *OPTIONS)[0] == 0


def test_dates_and_numbers_in_messages_are_plain(refuses, tmp_path):
    path = log(tmp_path, HEADER + FIRST + "2021-01-02,B,inf\n")
    refuses(("infinite at row 2 (inf):",), path, *OPTIONS)
    for time, words in (("2021-01-02", "2021-01-02"), ("7", "7")):
        path = log(tmp_path, HEADER + f"{time},A,1\n{time},A,2\n")
        words = f"'A' has two running totals at {words} (1 and 2;"
        refuses((words,), path, *OPTIONS, "--cumulative")
    path = log(tmp_path, HEADER + FIRST + "2021-01-02 10:30,,1\n")
    refuses(("no name in column 'country' at row 2 (2021-01-02 10:30:00):",), path, *OPTIONS)


@pytest.mark.parametrize(
    "rows",
    [
        "2021-01-01,A,1e308\n2021-01-02,A,1e308\n2021-01-02,B,1\n",
        "2021-01-01,A,1e308\n2021-01-02,B,1e308\n",
        "2021-01-01,A,1e308\n2021-01-01,A,1e308\n",
        "2021-01-01,A,-1e308\n2021-01-02,A,-1e308\n",
    ],
)
def test_amounts_that_cannot_be_added_up(refuses, tmp_path, rows):
    path = log(tmp_path, HEADER + rows)
    refuses(("the amounts of", "too large", "larger units"), path, *OPTIONS)


def test_options_are_named_in_messages(refuses, tmp_path):
    path = log(tmp_path, HEADER + FIRST + SECOND)
    refuses(("--after-each is 0: it must be a positive number",), path, *OPTIONS, "--after-each=0")
    for number in ("²", "9" * 5000):
        refuses(("--every is", "whole number"), path, *OPTIONS, "--every", number)
    refuses(("is a folder: name a file in it",), path, *OPTIONS, "--out", str(tmp_path))


def test_a_log_of_an_unknown_kind_is_told_all_kinds(refuses, tmp_path):
    refuses((".ndjson, .json, .xlsx",), log(tmp_path, "x", "log.docx"), *OPTIONS)
    rows = [dict(zip(("date", "country", "doses"), ("2021-01-01", "A", 1), strict=True))]
    assert open_table(log(tmp_path, json.dumps(rows), "log.json")).columns[0] == "date"


def test_a_database_is_known_by_its_first_bytes(refuses, tmp_path):
    with sqlite3.connect(tmp_path / "town.db") as town:
        town.execute("CREATE TABLE decisions (date, country, doses)")
    town.close()
    path = tmp_path / "town.db"
    mend = f"begins with sqlite:///, as sqlite:///{path}"
    refuses(("is not a DuckDB file", mend), f"duckdb:///{path}", *OPTIONS, "--table", "decisions")
    text = log(tmp_path, HEADER + FIRST)
    refuses(("is not a DuckDB file", "without duckdb:///"), f"duckdb:///{text}", *OPTIONS)
    with duckdb.connect(str(tmp_path / "town.duckdb")) as other:
        other.execute("CREATE TABLE decisions (date DATE)")
    address = f"duckdb:///{tmp_path / 'town.duckdb'}"
    refuses(("'\"dec'", "not closed"), address, *OPTIONS, "--table", '"dec')
    refuses(("has no table 'dec.x.y'",), address, *OPTIONS, "--table", "dec.x.y")


def test_an_sqlite_file_is_told_apart_too(monkeypatch, tmp_path):
    monkeypatch.setattr("evenhand.auditing.sources.databases._ibis", lambda: None)
    with duckdb.connect(str(tmp_path / "town.duckdb")):
        pass
    with pytest.raises(BadFile, match="is not an SQLite file: its address begins with duckdb:///"):
        _connect_to_sqlite(read_address(f"sqlite:///{tmp_path / 'town.duckdb'}"))
    (tmp_path / "empty.db").touch()
    address = read_address(f"sqlite:///{tmp_path / 'empty.db'}")
    _connect_to_sqlite(address).close()

    def fails(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", fails)
    with pytest.raises(BadFile, match="cannot be opened: unable to open database file"):
        _connect_to_sqlite(address)


def test_our_engine_fetches_nothing_from_elsewhere():
    connection = connect()
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
        asked = connection.execute("SELECT current_setting(?)", [setting])
        assert asked.fetchall() == [(False,)]


def test_rows_that_fit_are_read_as_before(tmp_path):
    path = write(tmp_path / "log.csv", [("2021-01-01", "A, B", 1), ("2021-01-02", 'C "D"', 2)])
    found = audit(path, **MAPPED)
    assert {one.name for one in found.by_stakeholder} == {"A, B", 'C "D"'}
