"""Tests of log.checks."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

from evenhand._util.files import write_whole
from evenhand.errors import CannotWrite
from evenhand.log.checks import note_sizes
from evenhand.log.layout import Notes
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, write
from logs import audit_alone as audit

# Bad input, line by line of the list in docs/audit.md: a clear error, or a note that counts.

ROWS = [("2021-01-01", "A", 1), ("2021-01-02", "B", 2), ("2021-01-03", "A", 3)]


def test_missing_column_offers_the_nearest(refuses, tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    for option, name, near in (
        ("--stakeholder", "Country ", "'country'"),
        ("--time", "dates", "'date'"),
        ("--amount", "dose", "'doses'"),
        ("--group", "contry", "'country'"),
    ):
        words = (f"no column {name!r} ({option})", f"did you mean {near}?")
        refuses(words, path, *OPTIONS, option, name)
    refuses(
        ("no column 'zzz'", "it has 'date', 'country', 'doses'"), path, *OPTIONS, "--group", "zzz"
    )


def test_unparsable_dates_are_named_by_row(refuses, tmp_path):
    rows = [*ROWS, ("31/12/2021", "A", 1), ("2021-02-30", "A", 1), *[("soon", "B", 1)] * 3]
    path = write(tmp_path / "log.csv", rows)
    refuses(
        ("'date'", "not a date or time at rows 4, 5, 6 and 2 more ('31/12/2021')", "--time-format"),
        path,
        *OPTIONS,
    )


def test_dates_in_another_format(notes, refuses, tmp_path):
    path = write(tmp_path / "log.csv", [("31/12/2021", "A", 1), ("01/01/2022", "B", 1)])
    said = "'01/01/2022' was taken as 2022-01-01"  # as no month is the 31st
    assert said in notes(path, *OPTIONS, "--every", "year")
    assert said not in notes(path, *OPTIONS, "--time-format", "%d/%m/%Y", "--every", "year")
    refuses(("another --time-format than %Y-%m-%d",), path, *OPTIONS, "--time-format", "%Y-%m-%d")


def test_day_and_month_that_could_be_either_are_asked_about(refuses, tmp_path):
    path = write(tmp_path / "log.csv", [("01/02/2021 10:30", "A", 1), ("03/02/2021 9:05", "B", 1)])
    words = (
        "--time-format day-first (01 February 2021) or --time-format month-first (02 January 2021)",
    )
    refuses(words, path, *OPTIONS)


def test_a_row_without_a_time_is_named(refuses, tmp_path):
    path = write(tmp_path / "log.csv", [*ROWS, (None, "A", 1)])
    refuses(("not a date or time at row 4",), path, *OPTIONS)


def test_a_row_without_a_name_is_named(refuses, tmp_path):
    path = write(tmp_path / "log.csv", [*ROWS, ("2021-01-04", None, 1)])
    refuses(("no name in column 'country' at row 4",), path, *OPTIONS)


def test_empty_file_and_header_only(refuses, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    refuses(("is empty", "no header and no rows"), str(tmp_path / "empty.csv"), *OPTIONS)
    path = write(tmp_path / "log.csv", [])
    refuses(("no rows to judge", "header only"), path, *OPTIONS)
    path = write(tmp_path / "blank.csv", [("2021-01-01", "A", None)])
    refuses(("has no events", "none of its 1 row has an amount"), path, *OPTIONS)
    path = write(tmp_path / "some.csv", ROWS)
    refuses(("filters leave nothing",), path, *OPTIONS, "--where", "doses > 100")


def test_no_file_and_no_log(refuses, tmp_path):
    refuses(("there is no file", "none.csv"), str(tmp_path / "none.csv"), *OPTIONS)
    (tmp_path / "log.docx").write_text("x")
    refuses((".csv", ".parquet", ".jsonl"), str(tmp_path / "log.docx"), *OPTIONS)
    refuses(("is a folder",), str(tmp_path.parent / tmp_path.name), *OPTIONS)
    (tmp_path / "log.parquet").write_text("not parquet")
    refuses(("log.parquet cannot be read",), str(tmp_path / "log.parquet"), *OPTIONS)
    path = write(tmp_path / "log.csv", ROWS)
    refuses(("3 logs were given", "glob"), path, path, path, *OPTIONS)


def test_nan_is_an_empty_amount_and_counted(notes, tmp_path):
    path = write(
        tmp_path / "log.csv", [*ROWS, ("2021-01-04", "A", "NaN"), ("2021-01-05", "B", None)]
    )
    assert "2 rows have an empty amount and are not events" in notes(path, *OPTIONS)
    frame = pd.DataFrame(ROWS, columns=["date", "country", "doses"]).astype({"doses": float})
    frame.loc[1, "doses"] = float("nan")
    answer = audit(frame, **MAPPED)
    assert "1 row has an empty amount and is not an event." in answer.notes
    assert answer.overall.assessments == 2


def test_infinity_and_words_are_no_amounts(refuses, tmp_path):
    path = write(tmp_path / "log.csv", [*ROWS, ("2021-01-04", "A", "inf")])
    refuses(("'doses'", "infinite at row 4"), path, *OPTIONS)
    path = write(tmp_path / "log.csv", [*ROWS, ("2021-01-04", "A", "many"), *ROWS])
    refuses(("'doses'", "not a number at row 4 ('many')"), path, *OPTIONS)


def test_negative_amounts_are_corrections(notes, run, tmp_path):
    rows = [("2021-01-01", "A", 5), ("2021-01-02", "A", -2), ("2021-01-02", "B", 1)]
    path = write(tmp_path / "log.csv", rows)
    assert "Negative amounts occur at 1 time point" in notes(path, *OPTIONS)
    found = json.loads(run(path, *OPTIONS, "--json")[1])
    final = {one["name"]: one["final"] for one in found["stakeholders"]}
    assert final == {"A": 3, "B": 1}
    assert found["corrections"] == [{"time": "2021-01-02", "stakeholder": "A", "amount": -2.0}]
    assert "log Nash" in found["scheme"]


def test_a_negative_status_falls_back_to_rawls_and_says_so(notes, refuses, run, tmp_path):
    path = write(tmp_path / "log.csv", [("2021-01-01", "A", -5), ("2021-01-02", "B", 1)])
    assert "log_nash is undefined: rawls" in notes(path, *OPTIONS)
    assert json.loads(run(path, *OPTIONS, "--json")[1])["score"] == -5
    refuses(
        ("the status of 'A' at 2021-01-01 is -5", "LogNash"),
        path,
        *OPTIONS,
        "--welfare",
        "log_nash",
    )


def test_a_running_total_that_falls_is_a_correction(notes, run, tmp_path):
    rows = [
        ("2021-01-01", "A", 5),
        ("2021-01-02", "A", 9),
        ("2021-01-03", "A", 7),
        ("2021-01-03", "B", 1),
    ]
    path = write(tmp_path / "log.csv", rows)
    assert "A running total falls 1 time" in notes(path, *OPTIONS, "--cumulative")
    found = json.loads(run(path, *OPTIONS, "--cumulative", "--json")[1])
    assert {one["name"]: one["final"] for one in found["stakeholders"]} == {"A": 7, "B": 1}


def test_two_running_totals_at_once_are_refused(refuses, notes, tmp_path):
    rows = [("2021-01-01", "A", 5), ("2021-01-01", "A", 9), ("2021-01-02", "B", 7)]
    path = write(tmp_path / "log.csv", rows)
    refuses(("'A' has two running totals at 2021-01-01", "5 and 9"), path, *OPTIONS, "--cumulative")
    path = write(tmp_path / "log.csv", [rows[0], rows[0], rows[2]])
    assert "1 row is an exact copy" in notes(path, *OPTIONS, "--cumulative")
    refuses(("--cumulative", "--amount"), path, *OPTIONS[:4], "--cumulative")


def test_duplicate_rows_are_noted_and_kept(notes, run, tmp_path):
    path = write(tmp_path / "log.csv", [*ROWS, *ROWS[:2]])
    assert "2 rows are exact copies of other rows: kept" in notes(path, *OPTIONS)
    found = json.loads(run(path, *OPTIONS, "--json")[1])
    assert {one["name"]: one["final"] for one in found["stakeholders"]} == {"A": 5, "B": 4}


def test_unsorted_rows_are_put_in_order(notes, run, tmp_path):
    path = write(tmp_path / "log.csv", ROWS[::-1])
    assert "2 rows are earlier than the row above" in notes(path, *OPTIONS)
    found = json.loads(run(path, *OPTIONS, "--json")[1])
    assert found["over_time"]["times"] == ["2021-01-01", "2021-01-02", "2021-01-03"]


def test_mixed_zones_are_put_into_utc(notes, run, tmp_path):
    rows = [
        ("2021-01-01T00:30:00+02:00", "A", 1),  # 22:30 the day before
        ("2020-12-31T23:30:00+01:00", "B", 1),  # the same moment
        ("2021-01-01T10:00:00Z", "A", 1),
        ("2021-01-02T10:00:00", "B", 1),
    ]
    path = write(tmp_path / "log.csv", rows)
    words = notes(path, *OPTIONS)
    assert "Times come in 4 zones" in words
    assert "+02:00 in 1 row" in words
    assert "none in 1 row" in words
    found = json.loads(run(path, *OPTIONS, "--json")[1])
    times = ["2020-12-31 22:30:00", "2021-01-01 10:00:00", "2021-01-02 10:00:00"]
    assert found["over_time"]["times"] == times


def test_text_that_is_not_utf_8(refuses, run, tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes("date,country,doses\n2021-01-01,Curaçao,1\n2021-01-02,B,1\n".encode("latin-1"))
    refuses(("not UTF-8", "line 2", "--encoding latin-1"), str(path), *OPTIONS)
    found = json.loads(run(str(path), *OPTIONS, "--encoding", "latin-1", "--json")[1])
    assert "Curaçao" in [one["name"] for one in found["stakeholders"]]
    for unknown in ("klingon", "hex", "\0" * 3000):
        words = ("which is not known: it is a name such as latin-1, cp1252 or utf-16.",)
        refuses(words, str(path), *OPTIONS, "--encoding", unknown)
        assert len(run(str(path), *OPTIONS, "--encoding", unknown)[2]) < 200


def test_a_stakeholder_who_is_not_on_the_roster(refuses, tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    roster = write(tmp_path / "roster.csv", [("A",), ("C",)], ("country",))
    words = ("1 stakeholder is in the log and not on the roster ('B')", "--exclude")
    refuses(words, path, *OPTIONS, "--roster", roster)


def test_rosters_that_cannot_be(refuses, tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    columns = ("country", "from", "until")
    for rows, words in (
        ([("A", None, None), ("A", None, None)], ("names 'A' twice",)),
        ([("A", "2021-05-01", "2021-01-01"), ("B", None, None)], ("leave before coming", "'A'")),
        ([("A", "soon", None), ("B", "2021-01-01", None)], ("'from'", "'soon' at row 1")),
        ([], ("names nobody",)),
    ):
        roster = write(tmp_path / "roster.csv", rows, columns)
        refuses(words, path, *OPTIONS, "--roster", roster)


def test_zero_and_missing_entitlements(refuses, tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    for rows, words in (
        ([("A", 1), ("B", 0)], ("entitlement of 'B' is 0", "--exclude")),
        ([("A", 1)], ("no entitlement is given for 'B'",)),
        ([("A", 1), ("B", None)], ("no entitlement is given for 'B'",)),
        ([("A", 1), ("A", 2), ("B", 1)], ("names 'A' twice",)),
    ):
        people = write(tmp_path / "people.csv", rows, ("country", "people"))
        refuses(words, path, *OPTIONS, "--entitlement", people)
    refuses(
        ("neither a column", "did you mean the column 'doses'"),
        path,
        *OPTIONS,
        "--entitlement",
        "dosis",
    )
    wide = write(tmp_path / "wide.csv", [("A", 1, 2)], ("country", "people", "more"))
    refuses(("3 columns", "has two"), path, *OPTIONS, "--entitlement", wide)
    zero = write(
        tmp_path / "zero.csv", [(*row, 0) for row in ROWS], ("date", "country", "doses", "need")
    )
    refuses(("entitlement of 'A' is 0",), zero, *OPTIONS, "--entitlement", "need")


def test_an_aggregate_row_is_noticed_and_asked_about(notes, tmp_path):
    rows = [
        (f"2021-01-0{day}", name, amount * day)
        for day in (1, 2, 3)
        for name, amount in (("North", 3), ("South", 4), ("West", 5), ("The Union", 12))
    ]
    path = write(tmp_path / "log.csv", rows)
    words = notes(path, *OPTIONS)
    assert "Is 'The Union' the sum of the others?" in words
    assert "--exclude 'The Union'" in words
    assert "sum of the others" not in notes(path, *OPTIONS, "--exclude", "The Union")


def test_amounts_of_a_billion_thousand_keep_every_unit(run, tmp_path):
    rows = [("2021-01-01", "A", 10**12), ("2021-01-01", "B", 10**12 + 1), ("2021-01-02", "A", 1)]
    found = json.loads(run(write(tmp_path / "log.csv", rows), *OPTIONS, "--json")[1])
    assert found["over_time"]["unfairness"] == {"A": [-0.5, 0.0], "B": [0.5, 0.0]}
    assert found["overall"]["unequal_assessments"] == 1


def test_column_names_with_quotes_and_spaces(run, tmp_path):
    columns = ('the "day"', "who's; DROP TABLE log", "how much")
    path = write(tmp_path / "log.csv", ROWS, columns)
    options = ("--stakeholder", columns[1], "--time", columns[0], "--amount", columns[2])
    code, out, err = run(path, *options, "--where", '"how much" >= 2', "--json")
    assert code == 0, err
    assert {one["name"]: one["final"] for one in json.loads(out)["stakeholders"]} == {
        "A": 3,
        "B": 2,
    }
    code, out, _ = run(path, *options, "--group", columns[1], "--by", "group", "--json")
    assert code == 0


def test_an_output_path_that_cannot_be_written(refuses, tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    nowhere = tmp_path / "none" / "report.html"
    refuses((str(nowhere), "cannot be written", "folder"), path, *OPTIONS, "--out", str(nowhere))
    refuses(("log.csv", "cannot be a folder"), path, *OPTIONS, "--csv", path + "/sheets")


def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch, run):
    path, report = write(tmp_path / "log.csv", ROWS), tmp_path / "report.html"
    report.write_text("the old report")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    code, *_ = run(path, *OPTIONS, "--out", str(report))
    assert code == 130
    assert report.read_text() == "the old report"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log.csv", "report.html"]


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="No space left on device"):
        write_whole(tmp_path / "report.html", b"x")
    assert list(tmp_path.iterdir()) == []


def test_names_that_nobody_has(refuses, tmp_path):
    path = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    refuses(("--exclude names 'C'", "not in the log"), path, *OPTIONS, "--exclude", "C")
    refuses(("--only names 'a'",), path, *OPTIONS, "--only", "a")


def test_questions_that_do_not_fit(refuses, tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    refuses(("--every and --at-end", "choose one"), path, *OPTIONS, "--every", "day", "--at-end")
    refuses(("--every is 'fortnight'", "day, week"), path, *OPTIONS, "--every", "fortnight")
    refuses(("--every is '0'",), path, *OPTIONS, "--every", "0")
    refuses(("nothing was assessed", "--until"), path, *OPTIONS, "--every", "month")
    refuses(("nothing was assessed",), path, *OPTIONS, "--after-each", "1000")
    refuses(("--after-each is -1",), path, *OPTIONS, "--after-each", "-1")
    refuses(
        ("no welfare called 'rals'", "did you mean 'rawls'"), path, *OPTIONS, "--welfare", "rals"
    )
    refuses(("alpha_fair needs 'alpha'", "--scheme"), path, *OPTIONS, "--welfare", "alpha_fair")
    refuses(("--until is 'soon'",), path, *OPTIONS, "--until", "soon")
    refuses(("begins after --until",), path, *OPTIONS, "--until", "2020-01-01")
    refuses(("--by group", "--group"), path, *OPTIONS, "--by", "group")
    numbers = write(tmp_path / "numbers.csv", [(1, "A", 1), (2, "B", 1)])
    refuses(("plain numbers", "--every N"), numbers, *OPTIONS, "--every", "month")
    refuses(("give a number",), numbers, *OPTIONS, "--until", "2021-01-01")


def test_schemes_that_do_not_fit(refuses, tmp_path):
    path = write(tmp_path / "log.csv", ROWS)
    scheme = tmp_path / "scheme.toml"
    scheme.write_text('welfare = "rawls"\nfilter = "final"\n')
    refuses(("scheme's filter",), path, *OPTIONS, "--scheme", str(scheme), "--every", "day")
    refuses(("--welfare", "scheme"), path, *OPTIONS, "--scheme", str(scheme), "--welfare", "gini")
    refuses(("there is no file",), path, *OPTIONS, "--scheme", str(tmp_path / "none.toml"))


def test_two_groups_for_one(refuses, tmp_path):
    rows = [("2021-01-01", "A", 1, "x"), ("2021-01-02", "A", 1, "y"), ("2021-01-02", "B", 1, "y")]
    path = write(tmp_path / "log.csv", rows, ("date", "country", "doses", "region"))
    refuses(
        ("'A' is in two groups ('x' and 'y')",),
        path,
        *OPTIONS,
        "--group",
        "region",
        "--by",
        "group",
    )
    rows = [("2021-01-01", "A", 1, "x"), ("2021-01-02", "B", 1, None)]
    path = write(tmp_path / "log.csv", rows, ("date", "country", "doses", "region"))
    refuses(("no group is known for 'B'",), path, *OPTIONS, "--by", "region")


def test_a_value_far_down_that_does_not_fit_its_column(run, tmp_path):
    """The type of a column we do not need is guessed from its first rows, and may be wrong."""
    rows = [(f"2021-01-{1 + k % 28:02}", "AB"[k % 2], 1, k) for k in range(30_000)]
    rows.append(("2021-01-28", "A", 1, "n/a"))
    path = write(tmp_path / "log.csv", rows, ("date", "country", "doses", "serial"))
    code, out, err = run(path, *OPTIONS, "--json")
    assert code == 0, err
    assert {one["name"]: one["final"] for one in json.loads(out)["stakeholders"]} == {
        "A": 15_001,
        "B": 15_000,
    }


def test_names_alike_are_pointed_at(notes, tmp_path):
    path = write(tmp_path / "log.csv", [*ROWS, ("2021-01-04", "a ", 1)])
    assert "'A' and 'a '" in notes(path, *OPTIONS)


@pytest.mark.parametrize(
    ("dates", "words"),
    [
        (("infinity", ""), "holds 'infinity', which lies outside the years 1 to 9999"),
        (("", "20210-01-01"), "holds '20210-01-01', which lies outside the years 1 to 9999"),
        (("", "9999-12-31T23:59:59-12:00"), "lies outside the years 1 to 9999"),
        (("", "2021-01-01 10:00 EST"), "which is not a date"),
        (("7", ""), "in plain numbers, and the times it is compared with are dates"),
        (("2021-01-01", "7"), "a date and a plain number for from and until"),
    ],
)
def test_a_roster_has_dates_as_the_log_has(refuses, tmp_path, dates, words):
    path = write(tmp_path / "log.csv", ROWS)
    rows = [("A", "", ""), ("B", *dates)]
    roster = write(tmp_path / "roster.csv", rows, ("country", "from", "until"))
    refuses((words,), path, *OPTIONS, "--roster", roster)


@pytest.mark.parametrize("more", [(), ("--best",), ("--stock",), ("--newcomers", "zero")])
def test_a_roster_whose_dates_leave_no_row(refuses, tmp_path, more):
    path = write(tmp_path / "log.csv", ROWS)
    rows = [("A", "2031-01-01", ""), ("B", "", "1999-12-31")]
    roster = write(tmp_path / "roster.csv", rows, ("country", "from", "until"))
    words = ("every row of the log", "by the roster's dates", "fix from and until")
    refuses(words, path, *OPTIONS, "--roster", roster, *more)


# Rates that are added up are noticed, and asked about.

MAPPED_SUSPICIOUS_ROWS = {"stakeholder": "who", "time": "day"}


def asked(amounts, column="got", days=(1, 1, 2, 2), **options):
    log = pd.DataFrame({"day": days, "who": ["A", "B"] * 2, column: amounts, "tried": 9})
    return audit(log, **MAPPED_SUSPICIOUS_ROWS, amount=column, **options).asks


def test_amounts_from_0_to_1_with_fractions_are_asked_about():
    (question,) = asked([0.2, 0.5, 1.0, 0.0])
    assert question.startswith("Is 'got' a rate?")
    assert "with `out_of` out of how many" in question


@pytest.mark.parametrize("column", ["grant rate", "share_met", "PCT", "filled %"])
def test_so_is_what_is_called_a_rate(column):
    assert len(asked([20, 50, 100, 0], column)) == 1


@pytest.mark.parametrize(
    ("amounts", "column"),
    [([0.2, 0.5, 1.1, 0.0], "got"), ([0, 1, 1, 0], "got"), ([20, 5, 9, 1], "separate")],
)
def test_other_amounts_are_not(amounts, column):
    assert asked(amounts, column) == ()


def test_nor_what_is_not_added_up_or_said_to_be_one():
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"], "got": [0.2, 0.5]})
    assert audit(log, **MAPPED_SUSPICIOUS_ROWS, amount="got").asks == ()
    assert asked([0.2, 0.5, 1.0, 0.0], out_of="tried") == ()


def test_those_of_whom_every_amount_is_empty_are_asked_about():
    log = pd.DataFrame(
        {
            "day": [1, 2, 2, 3, 3],
            "who": ["A", "B", "C", "C", "D"],
            "got": [1, 1, None, None, None],
        }
    )
    (question,) = audit(log, **MAPPED_SUSPICIOUS_ROWS, amount="got").asks
    assert question.startswith("Did C and D receive nothing, or is it not known?")
    assert "with `exclude`" in question
    assert audit(log, **MAPPED_SUSPICIOUS_ROWS, amount="got", exclude=["C", "D"]).asks == ()
    assert (
        audit(log, **MAPPED_SUSPICIOUS_ROWS, amount="got", roster=["A", "B", "C", "D"]).asks == ()
    )
    assert audit(log[log.who < "C"], **MAPPED_SUSPICIOUS_ROWS, amount="got").asks == ()


CUT = pd.DataFrame({"day": [1, 2, 3, 4, 5], "who": list("ABBCA"), "got": [10, 9, 4, 4, 5]})


def left_out(**options):
    found = audit(CUT, **MAPPED_SUSPICIOUS_ROWS, amount="got", **options)
    assert found.asks == ()  # no amount is empty
    return [note for note in found.notes if note.startswith("All that")]


def test_those_who_received_only_outside_the_part_that_is_judged_are_named():
    (note,) = left_out(until=3)
    assert note == (
        "All that C received is in the part that was left out (`until`): it is judged as having "
        "received nothing. Leave it out with `exclude`, or say with `roster` who is to be judged."
    )
    assert left_out(since=4)[0].startswith("All that B received is in the part that was left out (")
    (both,) = left_out(since=2, until=3)
    assert "A and C received is in the part that was left out (`since` or `until`): they" in both
    assert left_out() == left_out(since=2) == left_out(until=4) == []
    assert left_out(until=3, roster=["A", "B", "C"]) == []
    assert left_out(since=4, stock=True) == []  # a level holds on


def test_one_time_point_is_left_out_and_two_are():
    assert (
        "1 time point after `until` was left out."
        in audit(CUT, **MAPPED_SUSPICIOUS_ROWS, until=4).notes
    )
    assert (
        "2 time points before `since` were left out."
        in audit(CUT, **MAPPED_SUSPICIOUS_ROWS, since=3).notes
    )


@pytest.mark.parametrize(
    ("unit", "welfare", "questions"),
    [(1_000_000, None, 1), (10, None, 0), (1_000_000, "rawls", 0)],
)
def test_statuses_that_are_tiny_beside_what_log_nash_adds_are_asked_about(unit, welfare, questions):
    log = pd.DataFrame({"day": [1, 1, 2, 2], "who": ["A", "B"] * 2, "got": [20, 5, 9, 1]})
    sizes = {"A": 3.0 * unit, "B": 1.0 * unit}
    asks = audit(
        log, **MAPPED_SUSPICIOUS_ROWS, amount="got", entitlement=sizes, welfare=welfare
    ).asks
    assert len([ask for ask in asks if ask.startswith("Are the units right?")]) == questions


def series(*amounts, **options):
    """What is asked of a log in which A and B have these amounts, day by day."""
    days = [day for day in range(len(amounts)) for _ in "AB"]
    log = pd.DataFrame({"day": days, "who": ["A", "B"] * len(amounts)})
    log["got"] = [value for pair in amounts for value in pair]
    found = audit(log, **MAPPED_SUSPICIOUS_ROWS, amount="got", **options).asks
    return [question for question in found if "running total" in question]


RISING = [(10, 5), (20, 15), (20, 30), (50, 31), (60, 40)]


def test_amounts_that_never_fall_are_asked_about():
    (question,) = series(*RISING)
    assert question.startswith("Is 'got' a running total?")
    assert "say so with `cumulative`" in question
    assert series(*RISING, cumulative=True) == []


def test_what_falls_stays_or_is_short_is_not_taken_for_running_totals():
    assert series(*RISING[:4], (9, 40)) == []
    assert series(*[(10, 10)] * 9) == []  # as much each day
    assert series(*RISING[:4]) == []  # six steps, which may be chance
    assert series((-1, 5), *RISING[1:]) == []  # a total is not negative


def test_running_totals_may_be_corrected_now_and_then():
    many = [(k, 2 * k) for k in range(60)]
    assert len(series(*many, (40, 120))) == 1
    assert series(*many, *[(40, 120), (60, 20)] * 3) == []


@pytest.mark.parametrize(
    ("final", "times"),
    [([1000.0, 2.0], "500 times"), ([10.0, 1e-320], "more than a billion times"), ([3.0, 2.0], "")],
)
def test_statuses_far_apart_may_be_a_matter_of_size(final, times):
    notes = Notes()
    note_sizes(np.array(final), notes)
    assert [note.split(" the smallest")[0] for note in notes.sentences] == (
        [f"The largest status is {times}"] if times else []
    )
