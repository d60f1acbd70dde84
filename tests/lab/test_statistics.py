"""Statistics of runs, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.lab.statistics import (
    estimate,
    improvement_chance,
    median_steps,
    performance_profile,
    pooled_iqm,
    steps_to,
    stratified_interval,
)

runs = st.lists(
    st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=6).map(np.array),
    min_size=1,
    max_size=4,
)


def test_the_middle_half_of_all_runs():
    # Together 0 1 2 3 4 5 6 100: two are left out at either end.
    assert pooled_iqm([np.array([0.0, 1.0, 100.0, 3.0]), np.array([4.0, 5.0, 6.0, 2.0])]) == 3.5


def test_the_chance_to_beat_the_other_counts_ties_half():
    ours = [np.array([1.0, 2.0]), np.array([0.0])]
    theirs = [np.array([1.0, 0.0]), np.array([5.0])]
    # On the first pair 1>1 half, 1>0, 2>1, 2>0: 3.5 of 4; on the second never.
    assert improvement_chance(ours, theirs) == pytest.approx((3.5 / 4 + 0.0) / 2)


@given(runs)
def test_the_chances_of_two_methods_add_up_to_one(some):
    other = [values[::-1] * 2 - 1 for values in some]
    both = improvement_chance(some, other) + improvement_chance(other, some)
    assert both == pytest.approx(1.0)


def test_every_pair_counts_the_same_in_a_profile():
    profile = performance_profile(
        [np.array([0.2, 0.6]), np.array([0.9])], np.array([0.0, 0.5, 0.6, 0.95])
    )
    assert profile == pytest.approx([1.0, 0.75, 0.75, 0.0])


@given(runs)
def test_a_profile_never_rises(some):
    profile = performance_profile(some, np.linspace(-10, 10, 21))
    assert profile[0] == 1.0
    assert (np.diff(profile) <= 0).all()


def test_an_interval_resamples_each_pair_by_itself():
    # All runs of a pair are equal, so every resample is the same: nothing is left to chance.
    found = stratified_interval(([np.full(5, 1.0), np.full(5, 3.0)],), pooled_iqm)
    assert found == (2.0, 2.0, 2.0)
    spread = stratified_interval(([np.arange(10.0)],), pooled_iqm)
    assert spread.low < spread.value < spread.high


def test_steps_are_counted_from_where_it_stays():
    """The first seed is there for good from the last evaluation on, the second at none."""
    reached = np.array([[False, True], [True, False], [False, True], [True, False]])
    assert steps_to(reached, np.array([10, 20, 30, 40])) == [40, None]
    assert steps_to(np.ones((2, 1), dtype=bool), np.array([5, 10])) == [5]


@pytest.mark.parametrize(
    ("reached", "median"),
    [([10, 30, None], 30), ([10, None, None], None), ([10, 20], 15), ([], None)],
)
def test_the_median_seed_has_to_get_there(reached, median):
    assert median_steps(reached) == median


def test_a_single_run_has_no_width():
    assert estimate(np.array([3.0])) == (3.0, 3.0, 3.0)
    value, low, high = estimate(np.array([1.0, 2.0, 6.0]), np.mean)
    assert (value, low) == (3.0, 1.0)
    assert value < high <= 6.0
