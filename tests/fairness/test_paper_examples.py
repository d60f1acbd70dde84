"""The paper's worked cases, with hand arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand import (
    AfterEach,
    BalancedUnfairness,
    Equality,
    Every,
    FairnessScheme,
    Last,
    LogNash,
    Mean,
    Parity,
    Rawls,
    TimepointFirst,
    Total,
    Trace,
    anytime,
    bounded,
    long_term,
    periodic,
)

# Figure 1: 80,000 vaccines in four monthly shipments.
FIRST_A_THEN_B = Trace(rewards=[[20_000, 0], [20_000, 0], [0, 20_000], [0, 20_000]])
SIDE_BY_SIDE = Trace(rewards=[[10_000, 10_000]] * 4)

# 24 doughnuts for three children, one at a time.
TURNS = Trace(rewards=np.tile(np.eye(3), (8, 1)), stakeholders=("A", "B", "C"))


def test_figure_1_both_processes_are_equal_at_the_end():
    for welfare in (Equality(), Rawls(), LogNash(), Parity()):
        at_end = long_term(welfare)
        assert at_end.score(FIRST_A_THEN_B) == at_end.score(SIDE_BY_SIDE)
    assert long_term(Equality()).score(FIRST_A_THEN_B) == 1.0


def test_figure_1_monthly_evaluation_tells_them_apart():
    monthly = anytime(Parity(), Mean())
    # After each month A leads by 20, 40, 20 and 0 thousand.
    assert monthly.score(FIRST_A_THEN_B) == -(20_000 + 40_000 + 20_000 + 0) / 4
    assert monthly.score(SIDE_BY_SIDE) == 0.0
    # And the worst-off has 0, 0, 20 and 40 thousand against 10, 20, 30 and 40.
    assert anytime(Rawls(), Total()).score(FIRST_A_THEN_B) == 60_000
    assert anytime(Rawls(), Total()).score(SIDE_BY_SIDE) == 100_000


def test_figure_1_the_first_process_favours_a_for_a_time():
    result = anytime(Parity()).assess(FIRST_A_THEN_B)
    for month in (1, 2, 3):
        assert result.unfair_to(month) == ("1",)
        assert result.unfair_in_favour_of(month) == ("0",)
    assert result.unfair_to(4) == result.unfair_in_favour_of(4) == ()
    # Half the lead to either side: 10 + 20 + 10 + 0 thousand.
    assert result.overall_unfairness() == {"0": 40_000.0, "1": -40_000.0}


def test_24_doughnuts_for_3_children_are_fair_at_the_end():
    assert long_term(Equality()).score(TURNS) == 1.0
    assert long_term(LogNash()).score(TURNS) == pytest.approx(3 * math.log(9))
    unequal = Trace(rewards=[[6, 8, 10]])
    assert long_term(Equality()).score(unequal) == 0.0


def test_24_doughnuts_by_turns_are_equal_at_every_third_time_point_only():
    assert anytime(Equality(), Total()).score(TURNS) == 8.0
    assert periodic(3, Equality(), Mean()).score(TURNS) == 1.0


def test_6_8_10_is_unfair_to_a_in_favour_of_c():
    result = long_term().assess(Trace(rewards=[[6, 8, 10]], stakeholders=("A", "B", "C")))
    assert result.unfair_to(1) == ("A",)
    assert result.unfair_in_favour_of(1) == ("C",)
    assert [result.unfairness(i, 1) for i in ("A", "B", "C")] == [-2.0, 0.0, 2.0]


def test_a_dozen_doughnuts_at_a_time():
    after_a_dozen = bounded(AfterEach(12), Equality(), Total())
    result = after_a_dozen.assess(TURNS)
    assert result.times.tolist() == [12, 24]
    assert result.score == 2.0


def test_periodic_stops_at_the_last_whole_period():
    trace = Trace(rewards=[[1, 0]] * 11)
    result = periodic(4, Parity(), Total()).assess(trace)
    assert result.times.tolist() == [4, 8]  # ⌊11/4⌋·4 = 8
    assert result.score == -(4 + 8)


def test_anytime_is_periodic_with_period_1():
    for trace in (FIRST_A_THEN_B, TURNS):
        assert anytime().score(trace) == periodic(1).score(trace)


def test_long_term_is_the_last_of_anytime():
    for trace in (FIRST_A_THEN_B, TURNS):
        assert anytime(temporal=Last()).score(trace) == long_term().score(trace)


def test_unfair_to_one_and_then_in_its_favour_balances_out():
    # A leads by 2 for one time point, then B leads by 2 for one: ±1 from the mean each.
    swings = Trace(rewards=[[2, 0], [0, 2], [0, 2], [2, 0]])
    balanced = FairnessScheme(aggregation=BalancedUnfairness())
    result = balanced.assess(swings)
    assert [result.unfairness(0, t) for t in (1, 2, 3, 4)] == [1.0, 0.0, -1.0, 0.0]
    assert result.overall_unfairness() == {"0": 0.0, "1": 0.0}
    assert result.score == 0.0
    # Timepoint-first cannot see it: two time points were unfair to somebody.
    assert anytime(Parity(), Total()).score(swings) == -4.0
    # What is not made good is squared: overall ±40,000 twice.
    assert balanced.score(FIRST_A_THEN_B) == -2 * 40_000.0**2


def test_balanced_unfairness_counts_assessed_time_points_only():
    scheme = FairnessScheme(aggregation=BalancedUnfairness(), filter=Every(4))
    assert scheme.score(FIRST_A_THEN_B) == 0.0


def test_rewards_near_a_billion_with_differences_of_1_are_told_apart():
    even = Trace(rewards=[[1e9, 1e9]])
    uneven = Trace(rewards=[[1e9 - 1, 1e9]])
    for welfare in (LogNash(), Rawls(), Parity(), Equality()):
        scheme = FairnessScheme(aggregation=TimepointFirst(welfare, Mean()))
        assert scheme.score(even) != scheme.score(uneven), welfare
    result = anytime().assess(uneven)
    assert result.unfair_to(1) == ("0",)
    assert result.unfairness(0, 1) == -0.5
    assert not anytime().assess(even).unfair_to(1)


def test_float32_input_is_scored_in_float64():
    rewards = np.full((3, 2), 2**24, dtype=np.float32)
    rewards[0, 0] += 2  # the least difference float32 can hold here; totals need more
    assert anytime(Parity(), Last()).score(Trace(rewards=rewards)) == -2.0
