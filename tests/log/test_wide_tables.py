"""Tests of log.wide_tables."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.log.wide_tables import is_time, time_columns, time_in_name
from logs import FIRST_A_THEN_B, MAPPED, write
from read_alone import audit, rows_read

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
        later = audit(files, **asked, time="when", where="\"when\" > '2021-02-28'")
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
    tidy = audit(TIDY, **MAPPED, every="month")
    found = audit(BY_TIME, stakeholder="country", wide="time", every="month")
    assert found.score == tidy.score
    assert found.over_time.times == tidy.over_time.times
    assert [one.final for one in found.by_stakeholder] == [40_000, 40_000]


def test_what_its_columns_are_to_be_called(tmp_path):
    found = audit(
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
