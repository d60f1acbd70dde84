"""Learners of others: by hand, and to what is known."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import Trace
from evenhand.envs import FairTaxi, FishWood
from evenhand.fairness.welfare import GeometricMean, LogNash, Rawls
from evenhand.lab.benchmark_worlds import SIZES, world_of
from evenhand.lab.peers import (
    SMOOTHING,
    DiscountedReceipts,
    GiniDQN,
    GiniNetwork,
    TableRow,
    WelfareQLearning,
    WelfareTable,
    candidate_weights,
    halving_weights,
    linear_scheme,
    scalarised,
    table_row,
)
from evenhand.learn.deep.encoders import Layout, Relative
from evenhand.learn.schedules import Exploration
from evenhand.problem.problem import Problem


def test_a_history_is_worth_the_weighted_sum_of_what_it_brought():
    trace = Trace(rewards=[[1.0, 0.0], [0.0, 4.0], [2.0, 1.0]])
    assert linear_scheme((1.0, 1.0)).score(trace) == pytest.approx(8.0)
    assert linear_scheme((0.5, 0.1)).score(trace) == pytest.approx(0.5 * 3 + 0.1 * 5)


def test_weights_are_spread_over_the_simplex():
    found = candidate_weights(3, 4)
    assert found[0] == pytest.approx((1 / 3, 1 / 3, 1 / 3), abs=1e-6)
    assert len(set(found)) == 4
    for weights in found:
        assert min(weights) > 0
        assert sum(weights) == pytest.approx(1.0, abs=1e-5)
    assert found == candidate_weights(3, 4)


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


GAMMA, RATE, STEPS = 0.9, 0.5, 150


def learner_of(epsilon):
    world = FishWood(fish=0.5, wood=0.7, horizon=10_000)
    return WelfareQLearning(
        problem=Problem(world, linear_scheme((1.0, 1.0)), DiscountedReceipts(GAMMA)),
        encoder=TableRow(),
        network=WelfareTable(LogNash(), GAMMA, 0.0),
        discount=GAMMA,
        learning_rate=RATE,
        exploration=Exploration(start=epsilon, factor=1.0, floor=0.0),
        horizon_terminates=True,
        acts_with_target=False,
    )


def log_nash(vector):
    return sum(math.log(max(value, 0.0) + 1.0) for value in vector)


def test_updates_and_choices_are_those_of_the_paper():
    agent = learner_of(epsilon=0.3)
    step = jax.jit(agent.experience)
    learner = agent.start(jax.random.key(0))
    table = {0: [[0.0, 0.0], [0.0, 0.0]], 1: [[0.0, 0.0], [0.0, 0.0]]}
    received, greedy = [0.0, 0.0], 0
    for time in range(STEPS):
        place = int(learner.augmented.state.world.place)
        worth = [
            log_nash([r + GAMMA**time * q for r, q in zip(received, table[place][a], strict=True)])
            for a in range(2)
        ]
        learner = step(learner)
        after = learner.augmented.state.world
        action = int(after.place)  # an action goes to the place of its number
        greedy += worth[action] >= max(worth) - 1e-6
        rewards = [float(bool(after.found) and place == i) for i in range(2)]
        best = max(range(2), key=lambda a: log_nash([GAMMA * q for q in table[action][a]]))
        for i in range(2):
            goal = rewards[i] + GAMMA * table[action][best][i]
            table[place][action][i] += RATE * (goal - table[place][action][i])
            received[i] += GAMMA**time * rewards[i]
    for place in range(2):
        row = int(table_row(jnp.asarray([float(place)])))
        assert np.asarray(learner.weights[row]) == pytest.approx(np.array(table[place]), abs=1e-4)
    assert greedy / STEPS > 0.7  # 0.3 explore, and half of that is greedy by chance
    memory = np.asarray(learner.augmented.memory[0])
    assert memory == pytest.approx(received, abs=1e-4)


def test_nash_is_smoothed_as_in_the_paper():
    found = scalarised(GeometricMean(), np.array([[3.0, 0.0], [1.0, -5.0]]))
    expected = [math.log(3.01) + math.log(SMOOTHING), math.log(1.01) + math.log(SMOOTHING)]
    assert found == pytest.approx(expected)
    assert scalarised(Rawls(), np.array([3.0, -1.0])) == -1.0
    assert scalarised(LogNash(), np.array([1.0, -7.0])) == pytest.approx(math.log(2))


def test_states_of_the_taxi_have_rows_of_their_own():
    taxi = FairTaxi()
    worlds, _ = taxi.starts()

    def rows(passenger):
        shown = lambda at: jnp.concatenate(  # noqa: E731
            [jnp.arange(6) == at[0], jnp.arange(6) == at[1], jnp.arange(3) == passenger]
        )
        return jax.vmap(lambda at: table_row(shown(at).astype(float)))(worlds.at)

    numbers = np.concatenate([np.asarray(rows(passenger)) for passenger in (-1, 0, 1, 2)])
    assert len(set(numbers.tolist())) == 144


@pytest.mark.parametrize("name", ["doughnuts", "fish_wood"])
def test_states_of_small_worlds_have_rows_of_their_own(name):
    assert name in SIZES
    world = world_of(name).environment()
    size = len(np.ravel(world.observation(world.initial(jax.random.key(0)))))
    every = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(float)
    numbers = np.asarray(jax.vmap(table_row)(jnp.asarray(every)))
    assert len(set(numbers.tolist())) == 2**size
