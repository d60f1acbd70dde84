"""Tests of fairness.unfairness."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from evenhand import (
    BalancedUnfairness,
    FairnessScheme,
    Rawls,
    Trace,
    anytime,
    long_term,
    overall_unfairness,
    unfair_in_favour_of,
    unfair_to,
)
from evenhand.errors import BadParameter, NotFinite, UnequalLengths
from evenhand.fairness import Circumstances, Rate, TraceFunction

# What a score was made of: when, who stood where, and to whom it was unfair.

NAMES = ("A", "B", "C")


def test_whoever_does_not_count_is_neither_favoured_nor_neglected():
    """C has no chance at first; later it is granted 3 of 4, where all are granted 6 of 12."""
    chances = np.array([[2.0, 2.0, 0.0], [4.0, 4.0, 4.0]])
    trace = Trace(
        rewards=[[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]],
        circumstances=Circumstances(chances=chances),
        stakeholders=NAMES,
    )
    found = anytime(Rawls(), status=Rate()).assess(trace)
    assert [found.unfairness(name, 1) for name in NAMES] == [-0.25, 0.25, 0.0]
    assert [found.unfairness(name, 2) for name in NAMES] == [-0.25, 0.0, 0.25]
    assert (found.unfair_to(1), found.unfair_in_favour_of(1)) == (("A",), ("B",))
    assert (found.unfair_to(2), found.unfair_in_favour_of(2)) == (("A",), ("C",))
    assert found.overall_unfairness() == {"A": -0.5, "B": 0.25, "C": 0.25}
    # The worst-off of those who count: A with 1 of 2, and with 1 of 4.
    assert found.welfare.tolist() == [0.5, 0.25]
    assert found.score == 0.375


def test_the_end_is_assessed_alone():
    found = long_term(Rawls()).assess(Trace(rewards=[[1, 2], [1, 0], [0, 3]]))
    assert found.assessed.tolist() == [False, False, True]
    assert found.times.tolist() == [3]
    assert found.welfare.tolist() == [2.0]


def test_only_a_score_that_begins_with_time_points_has_welfare_at_each():
    trace = Trace(rewards=[[1, 2], [1, 0]])
    assert anytime(Rawls()).assess(trace).welfare.tolist() == [1.0, 2.0]
    assert FairnessScheme(aggregation=BalancedUnfairness()).assess(trace).welfare is None


def test_a_function_of_the_trace_judges_whom_it_likes():
    trace = Trace(rewards=[[1, 2, 3]] * 4, stakeholders=NAMES)
    two = TraceFunction(lambda trace: trace.rewards.sum(axis=0)[:2])
    assert anytime(status=two).assess(trace).names == ("0", "1")
    three = TraceFunction(lambda trace: trace.rewards.sum(axis=0))
    assert anytime(status=three).assess(trace).names == NAMES


def test_who_is_unknown_is_told_of_ten_who_are_not():
    found = anytime().assess(Trace(rewards=np.ones((1, 12))))
    with pytest.raises(BadParameter, match=r"there are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\.$"):
        found.unfairness("X", 1)


def test_where_nobody_counts_nothing_is_assessed_and_nobody_is_unfairly_treated():
    """Nobody has had a chance by time 1; at time 2 the rates are 1/2 and 1/4, and the mean 1/3."""
    known = Circumstances(chances=np.array([[0.0, 0.0], [2.0, 4.0]]))
    found = anytime(Rawls(), status=Rate()).assess(
        Trace(rewards=[[0, 0], [1, 1]], circumstances=known)
    )
    assert found.times.tolist() == [2]
    assert found.welfare.tolist() == [0.25]
    assert found.unfair_to(1) == ()
    assert found.unfairness(0, 1) == 0.0
    assert found.overall_unfairness() == pytest.approx({"0": 1 / 6, "1": -1 / 12})


# To whom it is unfair, asked of lists and of arrays.

STATUSES = [[6, 8, 10], [9, 9, 9], [1, 4, 1]]


@pytest.mark.parametrize("form", [list, tuple, np.array, jnp.array, pd.DataFrame])
def test_lists_and_arrays_are_judged_alike(form):
    statuses = form(STATUSES)
    assert unfair_to(statuses).tolist() == [[True, False, False], [False] * 3, [True, False, True]]
    assert unfair_in_favour_of(statuses).tolist() == [
        *([False, False, True], [False] * 3, [False, True, False])
    ]
    assert overall_unfairness(statuses).tolist() == [-3.0, 2.0, 1.0]


def test_weights_may_be_a_list_too():
    assert unfair_to([6, 9], weights=[0.5, 1.5]).tolist() == [True, False]
    assert overall_unfairness([[6, 9]], weights=[[0.5, 1.5]]).tolist() == [-2.25, 0.75]


def test_what_is_traced_stays_traced():
    assert jax.jit(unfair_to)(jnp.array([1.0, 2.0])).tolist() == [True, False]


def test_what_is_not_of_that_form_is_a_sentence():
    for function in (unfair_to, unfair_in_favour_of):
        with pytest.raises(UnequalLengths) as alone:
            function(3)
        assert str(alone.value) == "statuses is 3: it must have one number per stakeholder."
        with pytest.raises(NotFinite, match=r"^statuses must be numbers in equal rows"):
            function([[1, 2], [3]])
        with pytest.raises(NotFinite, match=r"^statuses must be numbers in equal rows"):
            function("Ann")
        with pytest.raises(NotFinite, match=r"^weights must be numbers in equal rows"):
            function([1, 2], weights=["a", "b"])
    for once in ([6, 8, 10], np.array([6.0, 8.0])):
        with pytest.raises(UnequalLengths, match=r"^assessed is .*: it must have a row for each"):
            overall_unfairness(once)
