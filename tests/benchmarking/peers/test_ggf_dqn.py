"""GGF-DQN: its target by hand, and its weights."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.benchmarking.peers.ggf_dqn import GiniDQN, GiniNetwork, halving_weights
from evenhand.benchmarking.peers.weighted_sum import linear_scheme
from evenhand.envs import FishWood
from evenhand.learn.deep.encoders import Layout, Relative
from evenhand.problem.problem import Problem

AGENT = GiniDQN(
    problem=Problem(FishWood(horizon=5), linear_scheme((1.0, 1.0))),
    encoder=Relative(),
    network=GiniNetwork((2 / 3, 1 / 3), (8,)),
)


def test_the_worst_off_weighs_twice_as_much_as_the_next():
    assert halving_weights(3) == pytest.approx((4 / 7, 2 / 7, 1 / 7))


def test_the_target_is_of_the_action_that_is_best_with_the_reward():
    # Without the reward the second action is better: (2/3)·1 + (1/3)·1 = 1 to (1/3)·2.5 = 5/6.
    # With it the first is: (1, 2.5) is worth 2/3 + 2.5/3 = 1.5, and (2, 1) is worth 4/3.
    ahead = jnp.asarray([[[0.0, 5.0], [2.0, 2.0]]])
    goals = AGENT.goals(ahead, jnp.asarray([[1.0, 0.0]]), jnp.asarray([0.5]))
    assert np.asarray(goals) == pytest.approx(np.array([[1.0, 2.5]]))


def test_at_the_end_the_target_is_the_reward():
    ahead = jnp.asarray([[[9.0, 9.0], [2.0, 2.0]]])
    goals = AGENT.goals(ahead, jnp.asarray([[1.0, 0.0]]), jnp.asarray([0.0]))
    assert np.asarray(goals) == pytest.approx(np.array([[1.0, 0.0]]))


def test_an_action_is_worth_the_gini_of_its_vector():
    weights = AGENT.network.init(jax.random.key(0), Layout(2, 0, 3), 4)
    features = jnp.asarray([0.3, -1.0, 2.0])
    vectors = np.asarray(AGENT.network.vectors(weights, features))
    assert vectors.shape == (4, 2)
    by_hand = [2 / 3 * min(v) + 1 / 3 * max(v) for v in vectors]
    _, values = AGENT.network.apply(weights, (), features)
    assert np.asarray(values) == pytest.approx(by_hand, rel=1e-5)
