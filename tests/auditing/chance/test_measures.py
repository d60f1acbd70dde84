"""Figures of a log beside those of chance: each with its unfair side, ties counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.chance.history_figures import Figures
from evenhand.auditing.chance.measures import MEASURES, WorstOverall, at_least, compare


def figures(score, overall, below, gap=None):
    arrays = (np.array(part, dtype=float) for part in (score, overall, below))
    return Figures(*arrays, None if gap is None else np.array(gap, dtype=float))


LOG = figures([2], [[-3, 3]], [[0.5, 0]], [4])
DRAWN = figures(
    [1, 2, 3, 4],
    [[-4, 4], [3, -3], [1, -1], [0, 0]],
    [[0.6, 0], [0, 0.5], [0, 0], [0, 0]],
    [3, 5, 4, 1],
)


def test_every_measure_counts_histories_that_are_at_least_as_unfair():
    found = {one.name: one for one in (compare(m, LOG, DRAWN) for m in MEASURES)}
    assert {name: (one.found, one.p, one.p_other_side) for name, one in found.items()} == {
        "score": (2.0, 3 / 5, 4 / 5),  # scores 1 and 2 are as low; 2, 3 and 4 are as high
        "worst_overall_unfairness": (-3.0, 3 / 5, 4 / 5),
        "largest_share_below": (0.5, 3 / 5, 4 / 5),
        "gap_between_groups": (4.0, 3 / 5, 4 / 5),
    }


def test_the_interval_is_that_of_chance():
    found = compare(WorstOverall(), LOG, DRAWN)
    assert found.middle == -2.0
    assert found.low == pytest.approx(-4 + 0.025 * 3)
    assert found.high == pytest.approx(-0.025 * 3)
    assert found.to_json()["p"] == found.p


def test_what_is_undefined_is_left_out():
    nan = figures([np.nan], [[0, 0]], [[0, 0]])
    names = [m.name for m in MEASURES if compare(m, nan, DRAWN) is not None]
    assert names == ["worst_overall_unfairness", "largest_share_below"]


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.integers(-5, 5))
def test_p_is_the_rank_of_the_log_among_all(drawn, found):
    p = at_least(np.array(drawn, dtype=float), np.array(float(found)))
    everything = [*drawn, found]
    assert p == sum(one >= found for one in everything) / len(everything)


def test_rounding_is_a_tie():
    assert at_least(np.array([0.3, 0.3]), np.array(0.1 + 0.2)) == 1.0
