"""Tests of log.counting."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import BadLog
from evenhand.log import counting
from logs import MAPPED, OPTIONS, write
from logs import audit_alone as audit
from read_alone import audit as audit_hidden_amounts
from read_alone import rows_read

# A long log of many stakeholders is added up by month, and the answer is the same.

MAPPED_COUNTING = {"stakeholder": "who", "time": "date", "amount": "amount"}


def log_of(seed: int, source: str) -> object:
    """Whole amounts, so that sums are the same in any order; two months have no event."""
    rng = np.random.default_rng(seed)
    size = 200
    days = rng.choice([*range(80), *range(150, 260)], size)
    log = pd.DataFrame(
        {
            "date": pd.Timestamp("2020-11-05") + pd.to_timedelta(days, unit="D"),
            "who": rng.choice(list("ABCDEFG"), size),
            "amount": rng.integers(-3, 20, size).astype(float),
        }
    )
    log.loc[rng.choice(size, 9), "amount"] = np.nan  # not events
    if source == "polars":
        return pytest.importorskip("polars").from_pandas(log)
    return log


def by_month(monkeypatch, names: int = 1) -> None:
    monkeypatch.setattr(counting, "EXACT_ROWS", 0)
    monkeypatch.setattr(counting, "MANY_NAMES", names)


@pytest.mark.parametrize("source", ["pandas", "polars"])
@pytest.mark.parametrize(
    "question", [{"every": "month"}, {"every": "quarter"}, {"every": "year"}, {"at_end": True}]
)
def test_the_answer_is_that_of_every_time_point(question, source, monkeypatch):
    log = log_of(3, source)
    exact = audit(log, **MAPPED_COUNTING, **question, welfare="rawls")
    by_month(monkeypatch)
    found = audit(log, **MAPPED_COUNTING, **question, welfare="rawls")
    assert counting.BY_MONTH in found.notes
    assert found.by_stakeholder == exact.by_stakeholder
    assert found.over_time.times == exact.over_time.times
    assert found.over_time.unfairness.tolist() == exact.over_time.unfairness.tolist()
    assert (found.gaps, found.verdict) == (exact.gaps, exact.verdict)
    assert found.overall == exact.overall
    same = {row.question: row.to_json() for row in exact.questions}
    asked = [row.question for row in found.questions]
    assert all(row.to_json() == same[row.question] for row in found.questions)
    assert not {"every day", "every week", "each event"} & set(asked)
    assert {"at the end", "every month", "every quarter"} <= set(asked)


@pytest.mark.parametrize(
    "options",
    [
        {"every": "week"},
        {"every": "day"},
        {"every": "month", "until": "2021-06-15"},
        {"every": "month", "since": "2020-12-15"},
        {"every": "month", "entitlement": dict.fromkeys("ABCDEFG", 2)},
    ],
)
def test_what_depends_on_days_is_counted_by_day(options, monkeypatch):
    by_month(monkeypatch)
    assert counting.BY_MONTH not in audit(log_of(3, "pandas"), **MAPPED_COUNTING, **options).notes


def test_few_stakeholders_are_counted_by_day(monkeypatch):
    by_month(monkeypatch, names=8)
    found = audit(log_of(3, "pandas"), **MAPPED_COUNTING, every="month")
    assert counting.BY_MONTH not in found.notes
    assert "every day" in [row.question for row in found.questions]


# Suppressed amounts: unknown and not zero, nobody vanishes, and what they could change is said.

DAYS = ("2021-01-31", "2021-02-28")


def table(**amounts):
    """A row for each stakeholder and day."""
    return [(day, name, pair[k]) for k, day in enumerate(DAYS) for name, pair in amounts.items()]


def answer(tmp_path, missing=(), **amounts):
    return audit_hidden_amounts(
        write(tmp_path / "log.csv", table(**amounts)), **MAPPED, missing=missing
    )


def score(**amounts):
    """Of the same log with numbers in place of marks: the mean over days of Σ ln(1 + received)."""
    nash = [
        sum(math.log(1 + sum(pair[: k + 1])) for pair in amounts.values()) for k in range(len(DAYS))
    ]
    return pytest.approx(sum(nash) / len(nash), rel=1e-12)


def test_the_verdict_is_of_what_is_known_and_says_what_the_marks_can_hide(tmp_path):
    found = answer(tmp_path, A=(10, 3), B=(5, "<5"), C=(6, 1))
    assert found.score == score(A=(10, 3), B=(5, 0), C=(6, 1))
    assert found.suppressed == {
        "rows": 1,
        "marks": [{"mark": "<5", "rows": 1, "lowest": 0.0, "highest": 4.0}],
        "not_judged": [],
        "with_lowest": {
            "all_treated_worst": ["B"],
            "equal_at_end": False,
            "score": score(A=(10, 3), B=(5, 0), C=(6, 1)),
        },
        "with_highest": {
            # 10, 5, 6 and then 13, 9, 7: B is 2 and 2/3 below the mean in all, C 1 and 8/3
            "all_treated_worst": ["C"],
            "equal_at_end": False,
            "score": score(A=(10, 3), B=(5, 4), C=(6, 1)),
        },
    }
    assert "1 amount is suppressed ('<5' in 1 row) and not counted." in found.verdict
    assert (
        "If all were the lowest they can be, the verdict would be the same; if all were the "
        "highest, treated worst overall would be C (unequal at the end) (they can be 0 to 4 for "
        "'<5')." in found.verdict
    )


@pytest.mark.parametrize("left_out", [{"exclude": ["Total"]}, {"where": "country <> 'Total'"}])
def test_a_row_of_totals_that_does_not_count_says_nothing_about_what_marks_hide(tmp_path, left_out):
    rows = [
        (day, "Total" if name == "T" else name, amount)
        for day, name, amount in table(A=(10, 3), B=("*", "<5"), T=(17.5, 9))
    ]
    found = audit_hidden_amounts(write(tmp_path / "log.csv", rows), **MAPPED, **left_out)
    assert found.suppressed["marks"] == [
        {"mark": "*", "rows": 1, "lowest": 0.0, "highest": 10.0},
        {"mark": "<5", "rows": 1, "lowest": 0.0, "highest": 4.0},
    ]


def test_a_stakeholder_of_whom_all_is_suppressed_is_named_and_not_judged(tmp_path):
    found = answer(tmp_path, A=(10, 3), B=(5, 4), C=("*", "*"))
    assert found.score == score(A=(10, 3), B=(5, 4))  # and not 0 for C
    assert "C is not judged, as all of its amounts are suppressed." in found.verdict
    hidden = found.stakeholder("C")
    assert (hidden.assessments, hidden.received) == (0, None)
    assert found.to_json()["stakeholders"][-1]["final"] is None or hidden.final != hidden.final
    assert found.suppressed["with_lowest"]["all_treated_worst"] == ["C"]
    assert found.suppressed["with_highest"]["all_treated_worst"] == ["B"]  # C then has 10 and 10
    assert any("'*=1-4'" in note for note in found.notes)


@pytest.mark.parametrize(
    ("rows", "span"),
    [
        ([("01", "A", "3"), ("01", "B", "<5"), ("03", "B", "4"), ("03", "A", "<5")], "until"),
        ([("01", "A", "<5"), ("01", "B", "4"), ("03", "A", "3"), ("03", "B", "<5")], "since"),
    ],
)
def test_only_what_is_suppressed_in_the_part_that_is_judged_is_told(rows, span):
    """What is known of B lies outside it: nothing of it is known there."""
    log = pd.DataFrame(
        [(f"2021-{month}-10", who, got) for month, who, got in rows],
        columns=["date", "country", "doses"],
    )
    answer = audit_hidden_amounts(log, **MAPPED, **{span: "2021-02-10"})
    assert answer.suppressed["rows"] == 1
    assert answer.suppressed["not_judged"] == ["B"]
    assert "1 amount is suppressed ('<5' in 1 row)" in answer.verdict
    assert (answer.stakeholder("B").assessments, answer.overall.unequal_assessments) == (0, 0)


def test_marks_of_ones_own_in_text_and_in_numbers(tmp_path, refuses):
    amounts = {"A": (10, 3), "B": (5, "hush")}
    path = write(tmp_path / "own.csv", table(**amounts))
    refuses(("not a number", "'hush'", "--missing"), path, *OPTIONS)
    said = rows_read(path, **MAPPED, missing="hush=1-4").hidden
    assert (said.marks, said.unsaid) == ((("hush", 1, 1.0, 4.0),), False)
    assert rows_read(path, **MAPPED, missing="hush").hidden.unsaid
    coded = pd.DataFrame(table(A=(10, 3), B=(5, -9)), columns=["date", "country", "doses"])
    found = rows_read(coded, **MAPPED, missing="-9=0-2")
    assert found.hidden.marks == (("-9.0", 1, 0.0, 2.0),)
    assert found.rows == sorted(table(A=(10, 3), B=(5, None)))


def test_a_mark_is_not_an_empty_amount_and_an_empty_amount_is_not_a_mark(tmp_path):
    both = write(tmp_path / "both.csv", table(A=(10, "*"), B=(5, None)))
    assert rows_read(both, **MAPPED).hidden.marks == (("*", 1, 0.0, 10.0),)
    empty = write(tmp_path / "empty.csv", table(A=(10, 3), B=(5, None)))
    assert rows_read(empty, **MAPPED).hidden is None


def test_running_totals_that_are_suppressed_stay_as_they_were(tmp_path):
    rows = table(A=(10, 13), B=(5, "*"))
    found = audit_hidden_amounts(write(tmp_path / "log.csv", rows), **MAPPED, cumulative=True)
    assert found.stakeholder("B").final == 5
    assert found.suppressed["with_lowest"] is None
    assert "the one before stands" in found.verdict


def test_a_rate_of_which_both_numbers_are_suppressed_is_a_sentence(tmp_path):
    rows = [("2021-01-31", "A", 5, 10), ("2021-01-31", "B", "s", "s"), ("2021-02-28", "B", 4, 10)]
    log = write(tmp_path / "log.csv", rows, ("date", "country", "doses", "asked"))
    rate = {**MAPPED, "out_of": "asked"}
    with pytest.raises(BadLog, match=r"column 'asked' .* must say out of how many, .* at row 2"):
        audit_hidden_amounts(log, **rate)
    # Without that row it is judged, and what the marks of the amounts alone can hide is known.
    assert audit_hidden_amounts(log, **rate, where="country = 'A'").stakeholder("A").final == 0.5
    known = [("2021-01-31", "A", 5, 10), ("2021-01-31", "B", "s", 10), ("2021-02-28", "B", 4, 10)]
    found = audit_hidden_amounts(
        write(tmp_path / "known.csv", known, ("date", "country", "doses", "asked")), **rate
    )
    assert found.suppressed["marks"][0]["rows"] == 1
