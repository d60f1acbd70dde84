"""A long log of many stakeholders is added up by month, and the answer is the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.auditing.reading import counting
from logs import audit_alone as audit

MAPPED = {"stakeholder": "who", "time": "date", "amount": "amount"}


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
    exact = audit(log, **MAPPED, **question, welfare="rawls")
    by_month(monkeypatch)
    found = audit(log, **MAPPED, **question, welfare="rawls")
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
    assert counting.BY_MONTH not in audit(log_of(3, "pandas"), **MAPPED, **options).notes


def test_few_stakeholders_are_counted_by_day(monkeypatch):
    by_month(monkeypatch, names=8)
    found = audit(log_of(3, "pandas"), **MAPPED, every="month")
    assert counting.BY_MONTH not in found.notes
    assert "every day" in [row.question for row in found.questions]
