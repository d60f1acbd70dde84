"""A log of which no column is named: what each is taken for, and the command that is printed."""

from __future__ import annotations

import json
import shlex

import pandas as pd
import pytest

from evenhand.auditing.reading.column_roles import look_at
from evenhand.auditing.sources.open_source import opened
from logs import FIRST_A_THEN_B, OPTIONS, write

FRAMES = [
    (
        {"date": ["2021-01-31", "2021-02-28"], "country": ["A", "B"], "doses": [1, 2]},
        ["when", "who", "how much"],
        "--stakeholder country --time date --amount doses",
    ),
    (
        {
            "id": [1, 2, 3],
            "Council": ["X", "Y", "X"],
            "Quarter": ["2023-Q1", "2023-Q1", "2023-Q2"],
            "Spend": ["1.234,5", "<5", "7"],
            "Population": [10, 20, 10],
            "Type": ["city", "town", "city"],
        },
        [None, "who", "when", "how much", "size or population", "group"],
        "--stakeholder Council --time Quarter --amount Spend --group Type --entitlement Population",
    ),
    (
        {"Region": ["N", "S"], "2021": [1, 2], "2022": [3, 4], "Notes": ["", "late"]},
        ["who", "how much at that time", "how much at that time", None],
        "--wide time --stakeholder Region",
    ),
    (
        {"day": [1, 2, 2], "user": ["a", "b", "a"], "total_hours": [1, 1, 3]},
        ["when", "who", "how much"],
        "--stakeholder user --time day --amount total_hours --cumulative",
    ),
    (
        {"date": ["2021-01-31", "2021-02-28"], "Aland": [1, 2], "Bland": ["3", "*"]},
        ["when", "how much of that stakeholder", "how much of that stakeholder"],
        "--wide stakeholder --time date",
    ),
]


@pytest.mark.parametrize(("frame", "roles", "options"), FRAMES)
def test_what_columns_are_taken_for(frame, roles, options):
    with opened(pd.DataFrame(frame)) as table:
        found = look_at(table)
    assert [one.role for one in found.columns] == roles
    assert found.complete
    assert " ".join(found.options({})) == options


def test_the_command_runs_as_it_is_printed(tmp_path, run):
    path = tmp_path / "a log.csv"
    pd.DataFrame(FRAMES[0][0]).to_csv(path, index=False)
    code, out, err = run(str(path), "--json")
    assert (code, err.startswith("evenhand: say which column of")) == (2, True)
    found = json.loads(out)
    assert [one["taken_for"] for one in found["columns"]] == FRAMES[0][1]
    assert found["command"] == f"evenhand audit {shlex.quote(str(path))} {FRAMES[0][2]}"
    command = shlex.split(found["command"])[2:]
    assert run(*command, "--at-end", "--no-chance")[0] == 0


@pytest.mark.parametrize(
    "columns", [("date", "Aland"), ("date", "Aland", "population"), ("step", "Aland", "Bland")]
)
def test_numbers_that_may_be_something_else_are_not_taken_for_stakeholders(columns):
    frame = pd.DataFrame({name: [1, 2] for name in columns} | {columns[0]: ["x", "y"]})
    if columns[0] == "date":
        frame["date"] = ["2021-01-31", "2021-02-28"]
    with opened(frame) as table:
        assert look_at(table).wide is None


def test_a_column_for_each_stakeholder_is_noticed(tmp_path, refuses):
    path = write(tmp_path / "log.csv", [("2021-01-31", 1, 2)], columns=("date", "A", "B"))
    words = ("no column 'country' (--stakeholder)", "('A' and 'B')", "--wide stakeholder")
    refuses(words, path, *OPTIONS)


def test_dates_in_the_names_of_files_are_noticed(tmp_path, run):
    for day, who, doses in FIRST_A_THEN_B:
        write(tmp_path / f"{day}.csv", [(who, doses)], columns=("country", "doses"))
    code, out, _ = run(str(tmp_path / "*.csv"), "--json")
    assert code == 2
    command = shlex.split(json.loads(out)["command"])
    assert command[3:] == ["--time-from-name", "--stakeholder", "country", "--amount", "doses"]
    with opened(str(tmp_path / "2021-01-31.csv")) as table:
        assert not look_at(table).time_from_name  # one file is one moment


def test_what_is_given_is_kept_and_shown_with_values(tmp_path, run):
    path = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    code, out, err = run(path, "--stakeholder", "country")
    assert (code, "(--time)" in err) == (2, True)
    assert "20000" in out
    assert "Nothing was judged yet" in out
    assert "--stakeholder country --time date --amount doses" in out
    assert "'date', 'country', 'doses'" in run(path)[2]


def test_a_file_of_which_nothing_can_be_said(tmp_path, run):
    path = write(tmp_path / "log.csv", [("a",)], columns=("x",))
    code, out, err = run(path)
    assert (code, "run:" in out) == (2, False)
    assert "(--stakeholder)" in err


def test_a_column_whose_name_no_engine_gives_back(tmp_path, refuses):
    path = tmp_path / "odd.csv"
    path.write_bytes(b"\x00\x01\n1\n")
    refuses(("no column 'who'",), str(path), "--stakeholder", "who", "--time", "day")
