"""Several files of one log with the date in their names."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.auditing.sources.dated_names import time_in_name
from logs import FIRST_A_THEN_B, write
from read_alone import audit, rows_read


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
