"""The best division against Clarabel, and against all allocations, for every welfare and filter."""

from __future__ import annotations

import pytest

from evenhand import Discounted, Jain, Last, Mean, Total, Worst, errors, over_time
from evenhand.decide.hindsight.best_division import best_division
from evenhand.decide.hindsight.best_of_log import look_back
from evenhand.fairness.welfare import (
    Equality,
    GiniWelfare,
    LogNash,
    Nash,
    NegativeVariance,
    Rawls,
    WelfareFunction,
)
from evenhand.log.options import AuditOptions
from small_logs import FILTERS, WELFARES, best_by_cvxpy, small_log

TEMPORALS = [Mean(), Total(), Discounted(0.5), Last(), Worst()]
KINDS = [(False, False, False), (True, False, False), (True, True, False), (False, False, True)]


def found(log, welfare, temporal):
    options = AuditOptions(welfare=welfare, temporal=temporal, **log.options())
    judged, scheme, hindsight = look_back(log.frame(), options)
    division = hindsight.division
    best = best_division(division, scheme.aggregation)
    assert division.misses(best.allocation) < 1e-8
    actual = division.score(hindsight.actual, scheme.aggregation)
    assert actual == pytest.approx(judged.score, abs=1e-12)
    return division.score(best.allocation, scheme.aggregation), best.bound


def allowed(welfare):
    """Whether requests may be judged; what is still wanted is below 0, where some are undefined."""
    return type(welfare).__name__ not in ("LogNash", "AlphaFair", "Nash")


@pytest.mark.parametrize("welfare", WELFARES, ids=repr)
def test_the_best_is_that_of_clarabel(welfare):
    """One log each; `tests/system` takes a thousand, for every filter."""
    place = WELFARES.index(welfare)
    number = place % len(KINDS)
    stays, sizes, asked = KINDS[number]
    check_against_clarabel(welfare, place, number, stays, sizes, asked and allowed(welfare))


def check_against_clarabel(welfare, place, number, stays, sizes, asked):
    log = small_log(number, stays, sizes, asked, FILTERS[place % len(FILTERS)])
    temporal = TEMPORALS[(place + number) % len(TEMPORALS)]
    expected = best_by_cvxpy(log, welfare, temporal)
    score, bound = found(log, welfare, temporal)
    assert score == pytest.approx(expected, rel=2e-5, abs=2e-5)
    assert bound >= expected - 1e-6 * max(1.0, abs(expected))
    assert score <= bound + 1e-9 * max(1.0, abs(bound))


@pytest.mark.parametrize("welfare", [LogNash(), Rawls(), NegativeVariance()], ids=repr)
def test_newcomers_at_the_mean_couple_everybody_and_are_solved_too(welfare):
    log = small_log(1, True, True, False, {}, newcomers="mean")
    expected = best_by_cvxpy(log, welfare, Mean())
    score, bound = found(log, welfare, Mean())
    assert score == pytest.approx(expected, rel=2e-5, abs=2e-5)
    assert bound >= expected - 1e-6 * max(1.0, abs(expected))


@pytest.mark.parametrize("welfare", WELFARES, ids=repr)
def test_no_allocation_of_whole_rows_scores_above_the_bound(welfare):
    for seed in range(2):
        log = small_log(seed, bool(seed), True, False, FILTERS[seed])
        _, bound = found(log, welfare, Mean())
        assert log.best_by_trying(welfare, Mean()) <= bound + 1e-9 * max(1.0, abs(bound))


def test_a_product_is_made_best_where_one_assessment_counts():
    log = small_log(3, False, False, False, {"at_end": True})
    score, bound = found(log, Nash(), Mean())
    share = sum(log.supply(time) for time in log.times) / len(log.names)
    assert score == pytest.approx(share ** len(log.names), rel=1e-6)
    assert bound == pytest.approx(score, rel=1e-5)


@pytest.mark.parametrize(
    ("welfare", "temporal", "words"),
    [
        (Jain(), Mean(), "ratio"),
        (Equality(), Mean(), "0 or 1"),
        (Nash(), Mean(), "log_nash"),
        (WelfareFunction(max), Mean(), "not known to be concave"),
        (LogNash(), over_time(GiniWelfare()), "over time"),
    ],
    ids=repr,
)
def test_what_has_many_peaks_is_refused_with_the_reason(welfare, temporal, words):
    log = small_log(1, False, False, False, {})
    with pytest.raises(errors.BadParameter, match=words):
        found(log, welfare, temporal)
