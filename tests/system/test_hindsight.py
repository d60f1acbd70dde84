"""Hindsight on a thousand small logs: every welfare and filter, against all that could be."""

from __future__ import annotations

import itertools
import math

import pytest

from evenhand import Discounted, Last, Mean, TimepointFirst, Total, Worst
from evenhand.decide.hindsight.best_division import best_division, best_in_lots
from small_logs import (
    FILTERS,
    WELFARES,
    best_by_cvxpy,
    division_of,
    small_log,
    with_unequal_rows,
)

pytestmark = pytest.mark.system

LOGS = 1_000
TEMPORALS = [Mean(), Total(), Discounted(0.5), Last(), Worst()]
KINDS = [(False, False, False), (True, False, False), (True, True, False), (False, False, True)]
PAIRS = list(itertools.product(WELFARES, FILTERS))


def case(number):
    """The log, welfare and temporal of a number; every pair of welfare and filter comes often."""
    welfare, when = PAIRS[number % len(PAIRS)]
    stays, sizes, asked = KINDS[number // len(PAIRS) % len(KINDS)]
    # What is still wanted is below 0, where these are undefined.
    asked = asked and type(welfare).__name__ not in ("LogNash", "AlphaFair")
    temporal = TEMPORALS[number // 7 % len(TEMPORALS)]
    return small_log(number, stays, sizes, asked, when), welfare, temporal


@pytest.mark.parametrize("first", range(0, LOGS, 100))
def test_whole_rows_as_by_trying_all_allocations(first):
    for number in range(first, first + 100):
        log, welfare, temporal = case(number)
        if number % 3 == 0:
            log = with_unequal_rows(log, number)
        division, lots = division_of(log)
        aggregation = TimepointFirst(welfare, temporal)
        expected = log.best_by_trying(welfare, temporal)
        assert math.isfinite(expected)
        found = best_in_lots(division, aggregation, lots)
        scale = max(1.0, abs(expected))
        score = division.score(found.allocation, aggregation)
        assert abs(score - expected) <= 1e-6 * scale, number
        assert expected - 1e-7 * scale <= found.bound <= expected + 1e-4 * scale, number
        assert division.misses(found.allocation) < 1e-9, number


@pytest.mark.parametrize("first", range(0, LOGS, 100))
def test_divisible_supply_as_by_clarabel(first):
    for number in range(first, first + 100):
        log, welfare, temporal = case(number)
        division, _ = division_of(log)
        aggregation = TimepointFirst(welfare, temporal)
        expected = best_by_cvxpy(log, welfare, temporal)
        found = best_division(division, aggregation)
        scale = max(1.0, abs(expected))
        score = division.score(found.allocation, aggregation)
        assert abs(score - expected) <= 2e-5 * scale, number
        assert found.bound >= score - 1e-8 * scale, number
        assert found.bound >= expected - 1e-6 * scale, number
        assert found.bound - score <= 1e-5 * scale, number
        assert division.misses(found.allocation) < 1e-8, number
        # The gap is never violated: no allocation of whole rows lies above the bound either.
        assert log.best_by_trying(welfare, temporal) <= found.bound + 1e-7 * scale, number
