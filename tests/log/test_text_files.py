"""Tests of log.text_files."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tracemalloc

import duckdb
import pandas as pd
import pytest

import evenhand
from command_line import evenhand as evenhand_workload_files
from evenhand import best_there_was, smallest_change
from evenhand.auditing import audit
from evenhand.errors import BadFile
from evenhand.log import text_files
from evenhand.log.databases import _connect_to_sqlite
from evenhand.log.files import open_table
from evenhand.log.layout import read_address
from evenhand.log.text_files import connect, is_time, time_columns, time_in_name
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, write
from read_alone import audit as audit_wide_tables
from read_alone import audit as audit_workload_files
from read_alone import rows_read

# Tests of log.text_files.

# Files that are not what they should be: each mistake has one sentence that says where it is.

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
        "evenhand.log.text_files.refuse_misfits",
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
    monkeypatch.setattr("evenhand.log.databases._ibis", lambda: None)
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


# Packed logs: those that are cut short, damaged, no gzip at all, or bombs.

LOG = "who,day,much\n" + "".join(f"p{k % 9},{k % 300},{k * k % 101}\n" for k in range(3000))
ASKED = ("--stakeholder", "who", "--time", "day", "--amount", "much")


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    return path


def test_a_packed_log_is_the_same_log(packed, tmp_path):
    plain = tmp_path / "log.csv"
    plain.write_text(LOG)
    keywords = {"stakeholder": "who", "time": "day", "amount": "much"}
    expected = evenhand.audit(str(plain), **keywords).score
    assert evenhand.audit(str(packed), **keywords).score == expected
    assert evenhand.audit(str(packed), encoding="latin-1", **keywords).score == expected


def test_no_gzip_at_all(packed, refuses):
    for content in (LOG.encode(), b"\x00"):
        packed.write_bytes(content)
        words = ("log.csv.gz is not packed with gzip, though its name ends in .gz: name it by",)
        refuses(words, str(packed), *ASKED)


def test_cut_short(packed, refuses):
    whole = packed.read_bytes()
    for size in (11, len(whole) // 2, len(whole) - 1):
        packed.write_bytes(whole[:size])
        refuses(("log.csv.gz ends in the middle: it was cut short, so copy",), str(packed), *ASKED)


def test_damaged(packed, refuses):
    whole = bytearray(packed.read_bytes())
    for place in (len(whole) // 2, len(whole) - 6):  # in the data, in its checksum
        damaged = whole.copy()
        damaged[place] ^= 255
        packed.write_bytes(damaged)
        refuses(("log.csv.gz is damaged: copy or download it again",), str(packed), *ASKED)


def test_a_bomb_is_refused_in_little_memory(packed, monkeypatch):
    monkeypatch.setattr(text_files, "ALWAYS_FINE", 1 << 24)
    packed.write_bytes(gzip.compress(bytes(1 << 25)))
    tracemalloc.start()
    with pytest.raises(BadFile, match=r"has 31.\d KB and unpacks to more than 16 MB: if you trust"):
        text_files.require_gzip(str(packed))
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()


def test_a_long_line_is_refused_and_not_held(packed, refuses):
    packed.write_bytes(gzip.compress(b"who,day,much\n" + b"A" * (1 << 24)))
    refuses(("log.csv.gz cannot be read", "line"), str(packed), *ASKED)


# Job logs in the Standard Workload Format.

HEADER_WORKLOAD_FILES = (
    "; Version: 2.2\n; Computer: Test\n;UnixStartTime: 1000000000\n; Note: a: b\n"
)
# job submit wait run processors … user: 4 × 100 for user 3, 8 requested × 50 for user 5
JOBS = """
  1      0 10 100  4 -1 -1  4 200 -1 1 3 1 -1 1 -1 -1 -1
  2     50 -1  -1  1 -1 -1  1 200 -1 5 3 1 -1 1 -1 -1 -1
  3  86400  0  50 -1 -1 -1  8 200 -1 1 5 1 -1 1 -1 -1 -1
  4  86500  0  10 30 -1 -1 30 200 -1 1 5 1 -1 1 -1 -1 -1
"""
NAMED = {"stakeholder": "user", "time": "start", "amount": "processor_seconds"}


def test_what_each_user_was_given(tmp_path, run):
    log = tmp_path / "log.swf"
    log.write_text(HEADER_WORKLOAD_FILES + JOBS)
    found = audit_workload_files(str(log), every="day")  # with no column named
    assert {one.name: one.final for one in found.by_stakeholder} == {"3": 400, "5": 700}
    assert found.over_time.times == ("2001-09-09", "2001-09-10")  # 10⁹ s is 01:46:40 on the 9th
    assert audit_workload_files([log], time="submit").over_time.times[0] == "2001-09-09 01:46:40"
    code, out, _ = run(str(log), "--every", "day", "--no-chance", "--json")  # with no column named
    assert (code, json.loads(out)["score"]) == (0, found.score)
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert rows_read(str(packed), **NAMED) == (rows_read(str(log), **NAMED))._replace(
        label=str(packed)
    )
    waits = audit_workload_files(
        str(log), stakeholder="user", wait_from="submit", wait_to="start", at_end=True
    )
    assert waits.overall.assessments == 1


@pytest.mark.parametrize("verb", ["replay", "train"])
def test_no_verb_needs_the_columns_named(tmp_path, verb):
    log = tmp_path / "log.swf"
    log.write_text(HEADER_WORKLOAD_FILES + JOBS)
    done = evenhand_workload_files(verb, str(log), "--every", "day", "--json")
    if verb == "replay":
        assert (
            json.loads(done.stdout)["logged"]["score"]
            == audit_workload_files(str(log), every="day").score
        )
    else:  # it was read, and has two days
        assert "too short to be cut into blocks: it covers 2 days" in done.stderr


def test_looking_back_needs_none_either(tmp_path):
    log = tmp_path / "log.swf"
    log.write_text(HEADER_WORKLOAD_FILES + JOBS)
    assert best_there_was(str(log), at_end=True, welfare="rawls").actual == 400
    assert smallest_change(str(log), raise_worst_to=500).amount == pytest.approx(100)


def test_times_stay_numbers_without_a_beginning(tmp_path):
    log = tmp_path / "log.swf"
    for header in ("", "; UnixStartTime: 0\n", "; UnixStartTime: unknown\n"):
        log.write_text(header + JOBS)
        times = [time for time, _, amount in rows_read(str(log), **NAMED).rows if amount]
        assert times == ["10", "86400", "86500"]


@pytest.mark.parametrize("line", ["1 2 3", "x" + " 1" * 17, "1 " * 19, "inf" + " 1" * 17])
def test_a_line_that_is_not_a_job(tmp_path, refuses, line):
    log = tmp_path / "log.swf"
    log.write_text(HEADER_WORKLOAD_FILES + JOBS + line + "\n")
    refuses(("line 10 is not 18 numbers",), str(log))


# Tests of log.wide_tables.

# Several files of one log with the date in their names.


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("grants-2023-01-31.csv", "2023-01-31"),
        ("20230131_grants.csv.gz", "2023-01-31"),
        ("grants_2023-04.xlsx", "2023M04"),
        ("grants202304.csv", "2023M04"),
        ("2023_Q2 grants.csv", "2023-Q2"),
        ("Q2-2023.csv", "2023-Q2"),
        ("w-2023W05.csv", "2023-W05"),
        ("Grants January 2023.xlsx", "Jan 2023"),
        ("2023-mar.csv", "mar 2023"),
        ("budget 2023.csv", "2023"),
        ("v2-final.csv", None),
        ("job12345678901.csv", None),
    ],
)
def test_the_time_in_a_name(name, time):
    assert time_in_name(f"folder-1999/{name}") == time


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_the_numbers_are_those_of_one_file(tmp_path, kind):
    rows = [*FIRST_A_THEN_B, ("2021-04-30", "A", 5)]
    frame = pd.DataFrame(rows, columns=["date", "country", "doses"])
    for day, part in frame.groupby("date"):
        part, path = part.drop(columns="date"), tmp_path / f"doses {day}.{kind}"
        if kind == "xlsx":
            pytest.importorskip("xlsxwriter")
            part.to_excel(path, index=False, engine="xlsxwriter")
        else:
            getattr(part, f"to_{kind}")(path, index=False)
    files = str(tmp_path / f"*.{kind}")
    asked = {"stakeholder": "country", "amount": "doses", "time_from_name": True}
    assert rows_read(files, **asked).rows == sorted(rows)
    if kind == "csv":
        later = audit_wide_tables(files, **asked, time="when", where="\"when\" > '2021-02-28'")
        assert later.overall.assessments == 2
        assert later.stakeholder("A").final == 5


def test_a_name_without_a_date_and_a_column_that_is_there(tmp_path, refuses):
    path = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    asked = ("--stakeholder", "country", "--amount", "doses", "--time-from-name")
    refuses(("needs a date in the name of each file", "log.csv has none"), path, *asked)
    path = write(tmp_path / "log-2021.csv", FIRST_A_THEN_B)
    refuses(("has a column 'date' already", "--time"), path, *asked, "--time", "date")


# Wide tables: a column for each time or each stakeholder, with the numbers of the tidy table.

TIDY = pd.DataFrame(FIRST_A_THEN_B, columns=["date", "country", "doses"])
BY_TIME = TIDY.pivot(index="country", columns="date", values="doses").reset_index()
BY_NAME = TIDY.pivot(index="date", columns="country", values="doses").reset_index()


def written(tmp_path, frame, kind):
    path = tmp_path / f"log.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path, index=False)
    else:
        return frame
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_the_numbers_are_those_of_the_tidy_table(tmp_path, kind):
    by_time = rows_read(written(tmp_path, BY_TIME, kind), stakeholder="country", wide="time")
    by_name = rows_read(written(tmp_path, BY_NAME, kind), time="date", wide="stakeholder")
    for found in (by_time, by_name):
        assert [row for row in found.rows if row[2] is not None] == FIRST_A_THEN_B
    assert "wide table: 4 columns (2021-01-31," in by_time.notes


def test_the_answer_is_that_of_the_tidy_table():
    tidy = audit_wide_tables(TIDY, **MAPPED, every="month")
    found = audit_wide_tables(BY_TIME, stakeholder="country", wide="time", every="month")
    assert found.score == tidy.score
    assert found.over_time.times == tidy.over_time.times
    assert [one.final for one in found.by_stakeholder] == [40_000, 40_000]


def test_what_its_columns_are_to_be_called(tmp_path):
    found = audit_wide_tables(
        BY_TIME,
        stakeholder="country",
        wide="time",
        time="month",
        amount="doses",
        where="month >= '2021-03-01'",
    )
    assert (found.unit, found.overall.assessments) == ("doses", 2)


def test_suppressed_names_do_not_vanish_and_remarks_are_no_stakeholders(tmp_path):
    rows = [("2021-01-31", "5", "*", "fine"), ("2021-02-28", "1,5", "*", "late")]
    path = write(tmp_path / "log.csv", rows, columns=("date", "A", "B", "remarks"))
    found = rows_read(path, time="date", wide="stakeholder")
    assert {name for _, name, _ in found.rows} == {"A", "B"}
    assert "B is not judged" in found.hidden.sentence()
    assert "remarks had no part" in found.notes


def test_a_wide_table_is_noticed_and_the_option_printed(tmp_path, refuses):
    path = written(tmp_path, BY_TIME, "csv")
    words = ("columns that are each a time", "--wide time")
    refuses(words, path, "--stakeholder", "country", "--time", "date")
    refuses(
        ("--wide is 'rows'",), path, "--stakeholder", "country", "--time", "x", "--wide", "rows"
    )
    refuses(
        ("and none is",),
        write(tmp_path / "t.csv", FIRST_A_THEN_B),
        *("--stakeholder", "country"),
        "--wide",
        "time",
    )
    text = path.replace("log.csv", "named.csv")
    BY_TIME.assign(amount=1).to_csv(text, index=False)
    refuses(("has a column 'amount' already",), text, "--stakeholder", "country", "--wide", "time")


@pytest.mark.parametrize(
    "name", ["2021", "2021-01-31", "Jan 2023", "2023-Q1", "1/22/20", "2023/24"]
)
def test_a_name_that_is_a_time(name):
    assert is_time(name)


def test_names_that_are_not():
    assert time_columns(["Region", "Total", "12", "A1", "Q1", ""]) == []
