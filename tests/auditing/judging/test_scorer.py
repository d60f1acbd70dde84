"""A scheme at work on statuses, and on those statuses made even, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand import LogNash, Rawls, anytime
from evenhand.auditing.judging.scorer import Scorer, Sides, welfare_now
from evenhand.errors import NegativeStatus
from evenhand.fairness.trace import Standing
from logs import audit_alone as audit

MAPPED = {"stakeholder": "who", "time": "date", "amount": "doses"}
LOG = pd.DataFrame({"date": [1, 2], "who": list("AB"), "doses": [4.0, 2.0]})


def test_the_welfare_of_the_even_log_at_each_assessment():
    """Statuses (4, 0) and (4, 2): the even ones are (2, 2) and (3, 3)."""
    course = audit(LOG, **MAPPED, welfare="log_nash").over_time
    assert course.welfare == pytest.approx([np.log(5), np.log(5) + np.log(3)])
    assert course.even_welfare == pytest.approx([2 * np.log(3), 2 * np.log(4)])


def test_with_entitlements_the_even_log_is_even_by_entitlement():
    """Per unit: A 4/1 and B 0/3, then 4 and 2/3; the mean is 4/4, then 6/4; weights 1/2 and 3/2."""
    found = audit(LOG, **MAPPED, welfare="utilitarian", entitlement={"A": 1, "B": 3})
    assert found.over_time.even_welfare == pytest.approx([2 * 1.0, 2 * 1.5])
    assert found.over_time.welfare == pytest.approx(found.over_time.even_welfare)


def test_the_mean_over_time_of_both_are_the_two_scores():
    found = audit(LOG, **MAPPED)
    assert found.overall.score == pytest.approx(found.over_time.welfare.mean())
    assert found.overall.even_score == pytest.approx(found.over_time.even_welfare.mean())


def test_what_is_undefined_once_has_no_score_nor_an_even_one():
    def sides(*statuses):
        return Sides.of(np.array([statuses]), np.array([np.mean(statuses)]), Standing())

    scorer = Scorer(anytime(LogNash()))
    assert scorer.even_score is None  # nothing was assessed yet
    assert scorer.take(sides(1.0, 3.0)) is not None
    assert scorer.even_score == pytest.approx(2 * np.log(3))
    assert scorer.take(sides(-2.0, 4.0)) is None
    assert scorer.even_score is None
    with pytest.raises(NegativeStatus):
        _ = scorer.score
    assert scorer.take(sides(1.0, 3.0)) is None


def test_what_an_assessment_would_find_now():
    status, here = np.array([1.0, 3.0]), Standing()
    found = welfare_now(anytime(Rawls()), status, here)
    assert found == (1.0, 2.0)
    assert welfare_now(anytime(LogNash()), -status, here) is None
    nobody = Standing(weights=np.zeros((1, 2)))
    assert welfare_now(anytime(Rawls()), status, nobody) is None


def test_an_unfinished_period_has_both_too():
    log = pd.DataFrame(
        {"date": ["2021-01-31", "2021-02-03"], "who": list("AB"), "doses": [4.0, 2.0]}
    )
    last = audit(log, **MAPPED, every="month", welfare="rawls").over_time.unfinished
    assert (last.welfare, last.even_welfare) == (2.0, 3.0)
