"""Bets against a lottery: their mean is 1 whatever is bet on, beside plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.chance.bets import (
    AT_START,
    EIGHTHS,
    FACTORS,
    LARGEST,
    REFERENCE,
    STAKES,
    Bets,
)

ENDS = np.arange(1, 100)


def bets(size=3, groups=None, mass=1.0, less_is_better=False):
    unit = np.arange(size) if groups is None else np.array(groups)
    return Bets(unit, int(unit.max()) + 1, mass, less_is_better)


def test_stakes_are_the_whole_capital():
    assert STAKES.sum() == pytest.approx(1.0)
    assert np.exp(bets(mass=0.5).won).sum() == pytest.approx(0.5 * AT_START)


@given(
    st.lists(st.floats(0.0, 5.0), min_size=3, max_size=3).filter(lambda o: sum(o) > 0.1),
    st.integers(1, LARGEST),
    st.booleans(),
)
def test_the_mean_of_every_bet_over_all_outcomes_is_1(odds, size, less_is_better):
    odds = np.array(odds)
    made = bets(less_is_better=less_is_better)
    table = made.table(odds)
    before, mean = np.exp(made.won), 0.0
    for who in range(3):
        after = made.at_each(table, np.array([who]), np.array([size]))[0]
        mean = mean + odds[who] / odds.sum() * np.exp(after)
    assert mean == pytest.approx(before, rel=1e-9)


def test_the_mean_over_all_lotteries_of_several_lots_is_1_with_bets_that_begin_later():
    odds, sizes = np.array([0.5, 0.3, 0.2]), np.array([8, 4, 16, 8])
    total = 0.0
    for who in itertools.product(range(3), repeat=4):
        made = bets()
        table = made.table(odds)
        made.take(table, np.arange(2.0), np.array(who[:2]), sizes[:2], ENDS[:2])
        made.begin_again(1 - AT_START)
        made.take(table, np.arange(2.0), np.array(who[2:]), sizes[2:], ENDS[:2])
        total += math.prod(odds[k] for k in who) * np.exp(made.won).sum()
    assert total == pytest.approx(1.0)


LOTS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, LARGEST)), min_size=1, max_size=12)


@given(LOTS, st.booleans(), st.sampled_from([None, [0, 0, 1, 1]]))
def test_what_is_won_is_the_product_of_the_factors(lots, less_is_better, groups):
    odds = np.array([1.0, 2.0, 3.0, 4.0])
    made = bets(4, groups, less_is_better=less_is_better)
    table = made.table(odds)
    who, size = (np.array(part) for part in zip(*lots, strict=True))
    units = range(made.size)
    expected = np.exp(made.won)
    rows = made.at_each(table, who, size)
    bound = made.bound(table, who, size)
    for step, (person, eighths) in enumerate(lots):
        for unit in units:
            p = odds[made.unit == unit].sum() / odds.sum()
            for bet, factor in enumerate(FACTORS):
                rho = (1 / factor if less_is_better else factor) ** (eighths / EIGHTHS)
                came = made.unit[person] == unit
                expected[unit, bet] *= (rho if came else 1.0) / (1 - p + p * rho)
        assert np.exp(rows[step]) == pytest.approx(expected, rel=1e-9)
        assert (rows[step] <= bound + 1e-9).all()
    made.take(table, np.arange(len(lots) * 1.0), who, size, ENDS[: len(lots)])
    assert np.exp(made.won) == pytest.approx(expected, rel=1e-9)


def test_since_when_is_the_time_at_which_the_evidence_stood_lowest():
    # A gets the first four lots, and none of the next ten.
    who = np.array([0] * 4 + [1, 2] * 5)
    at = np.arange(10.0, 24.0)
    made = bets()
    made.begin(10.0)
    made.take(made.table(np.ones(3)), at, who, np.full(14, EIGHTHS), ENDS[:14])
    assert made.since[0] == 13.0
    assert made.height[0] > 0


def plainly(lots, times, less_is_better):
    """Since when each of four alike is behind, time point by time point."""
    rho = FACTORS[REFERENCE] ** (-1 if less_is_better else 1)
    height, since = [0.0] * 4, [times[0]] * 4
    for at in sorted(set(times)):
        for (person, eighths), time in zip(lots, times, strict=True):
            tilt = rho ** (eighths / EIGHTHS)
            for k in range(4):
                if time == at:
                    height[k] += math.log((tilt if k == person else 1.0) / (0.75 + 0.25 * tilt))
        for k in range(4):
            if height[k] <= 1e-12:
                height[k], since[k] = 0.0, at
    return height, since


@given(
    LOTS, st.lists(st.integers(0, 6), min_size=12, max_size=12), st.integers(0, 12), st.booleans()
)
def test_since_when_is_that_of_a_plain_loop_however_lots_are_cut(lots, times, cut, less_is_better):
    times = sorted(times[: len(lots)])
    who, size = (np.array(part) for part in zip(*lots, strict=True))
    at = np.array(times, dtype=float)
    made = bets(4, less_is_better=less_is_better)
    table = made.table(np.ones(4))
    made.begin(at[0])
    ends = np.flatnonzero(np.diff(at)) + 1
    cut = min(cut, len(lots))
    for start, stop in ((0, cut), (cut, len(lots))):
        if start < stop:
            if start in ends:
                made.settle(float(at[start - 1]))
            inside = ends[(ends > start) & (ends < stop)] - start
            made.take(table, at[start:stop], who[start:stop], size[start:stop], inside)
    made.settle(float(at[-1]))
    height, since = plainly(lots, times, less_is_better)
    assert made.height == pytest.approx(height, abs=1e-9)
    clear = [k for k in range(4) if height[k] > 1e-9]  # a tie may be rounded either way
    assert [made.since[k] for k in clear] == [since[k] for k in clear]
