"""What random play shows: amounts, rewards, and which memories would do."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import NotFinite
from evenhand.fairness.scheme import anytime
from evenhand.fairness.status import Window
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import LogNash
from evenhand.learn.random_play import (
    EPISODES,
    MemoryTrial,
    RandomPlay,
    _changed,
    random_play,
    typical,
)
from evenhand.memory.memory import Clock, Full, Min, Nothing, OfStatus, Product
from evenhand.problem.checks import LONGEST_LOOK
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 5, 0.8, wasted=None)


def test_a_typical_size_is_the_median_of_what_is_not_0():
    assert typical(np.array([[0.0, -0.5], [8.0, 4.0]])) == 4.0
    assert typical(np.zeros(3)) == 1.0


def test_it_is_what_the_problem_does():
    problem = Problem(SHOP, anytime(LogNash(), Total()))
    # A window moves on: half of it is as it was whatever the steps before.
    window = OfStatus(Window(2))
    memories = (Full(), Min(), Nothing(), Clock(6), Product((Full(), Clock(6))), window)
    play = random_play(problem, memories)
    assert play.received.shape == (EPISODES, 5, 2)
    assert play.unit == 1.0
    assert not play.over.any()
    np.testing.assert_array_equal(play.status, np.cumsum(play.received, axis=1))
    pay = np.log1p(play.status).sum(axis=-1)
    np.testing.assert_allclose(play.pay, pay, rtol=1e-5)
    # All that was received determines the reward; leads, nothing and a clock do not.
    determines = [play.determines(k) for k in range(6)]
    assert determines == [True, False, False, False, True, False]
    assert [play.looks_back(k) for k in range(6)] == [True, True, False, True, True, True]
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


def test_what_comes_after_the_end_does_not_count():
    """Two episodes of two steps, of which the first is over after one."""
    received = np.array([[[2.0, 0.0], [90.0, 0.0]], [[0.0, 6.0], [4.0, 0.0]]])
    over = np.array([[False, True], [False, False]])
    pay = np.array([[1.0, 50.0], [2.0, 3.0]])
    never, once = np.zeros((2, 2), dtype=bool), np.array([[False, False], [True, False]])
    trials = (
        MemoryTrial(np.array([[1.0, 7.0], [2.0, 3.0]]), never, ()),
        MemoryTrial(np.array([[1.0, 50.0], [2.0, 4.0]]), once, ()),
    )
    play = RandomPlay(received, pay, pay, over, (), trials)
    assert play.unit == 4.0
    assert [play.determines(k) for k in range(2)] == [True, False]
    assert [play.looks_back(k) for k in range(2)] == [False, True]


def test_another_memory_differs_at_every_place():
    assert _changed(jnp.array([[5, 5], [5, 5]])).tolist() == [[6, 7], [8, 9]]
    assert _changed(jnp.array([0.5, 0.5])).tolist() == [1.5, 2.5]
    assert _changed(jnp.array([True, False])).tolist() == [False, True]


@dataclass(frozen=True)
class Overflowing(Doughnuts):
    """A shop whose second customer is given more than a number can hold."""

    def rewards(self, state, action, world):
        served = super().rewards(state, action, world)
        return jnp.where((served > 0) & (jnp.arange(2) == 1), jnp.inf, served)


def test_a_reward_that_is_no_number_is_refused_with_its_place():
    problem = Problem(Overflowing(2, 2, 1.0), anytime(LogNash(), Total()))
    with pytest.raises(NotFinite, match=r"stakeholder 1 a reward of inf at step \d of"):
        random_play(problem)
