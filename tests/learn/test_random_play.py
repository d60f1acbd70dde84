"""What random play shows: amounts, rewards, and which memories would do."""

from __future__ import annotations

import numpy as np

from evenhand.envs import Doughnuts
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import LogNash
from evenhand.learn.random_play import EPISODES, LONGEST_LOOK, random_play, typical
from evenhand.memory.memory import Clock, Full, Min, Nothing
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 5, 0.8, wasted=None)


def test_a_typical_size_is_the_median_of_what_is_not_0():
    assert typical(np.array([[0.0, -2.0], [8.0, 4.0]])) == 4.0
    assert typical(np.zeros(3)) == 1.0


def test_it_is_what_the_problem_does():
    problem = Problem(SHOP, anytime(LogNash(), Total()))
    memories = (Full(), Min(), Nothing(), Clock(6))
    play = random_play(problem, memories)
    assert play.received.shape == (EPISODES, 5, 2)
    assert play.unit == 1.0
    assert not play.over.any()
    np.testing.assert_array_equal(play.status, np.cumsum(play.received, axis=1))
    pay = np.log1p(play.status).sum(axis=-1)
    np.testing.assert_allclose(play.pay, pay, rtol=1e-5)
    # All that was received determines the reward; leads, nothing and a clock do not.
    assert [play.determines(k) for k in range(4)] == [True, False, False, False]
    assert [play.looks_back(k) for k in range(4)] == [True, True, False, True]
    # Both actions are taken, by everybody about as often.
    assert 0.3 < play.received[..., 0].sum() / play.received.sum() < 0.7


def test_of_a_long_episode_the_beginning_is_looked_at():
    problem = Problem(Doughnuts(2, 1000, 0.8, wasted=None), anytime(LogNash(), Total()))
    assert random_play(problem).pay.shape == (EPISODES, LONGEST_LOOK)


def test_the_same_play_each_time():
    problem = Problem(Doughnuts(2, 3, 1.0), anytime(LogNash(), Total()))
    first = random_play(problem)
    random_play.cache_clear()
    np.testing.assert_array_equal(random_play(problem).received, first.received)
