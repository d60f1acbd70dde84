"""The fair taxi: its rules by a second program, and its optimum by two searches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import taxi_rides
from evenhand.envs import FairTaxi, Random, State, to_trace
from evenhand.envs.episodes import rollout, rollouts
from evenhand.envs.fair_taxi import Ride
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Every, Final
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import GeometricMean
from evenhand.memory.memory import Full
from evenhand.planning import plan
from evenhand.problem.problem import Problem

TAXI = FairTaxi()
WORLDS = [
    (cell, passenger) for cell in taxi_rides.cells(TAXI.size) for passenger in (None, 0, 1, 2)
]


@pytest.fixture(scope="module")
def every_step():
    """What the environment does in every cell, with every passenger, for every action."""
    at = jnp.asarray([cell for cell, _ in WORLDS])
    passenger = jnp.asarray([-1 if who is None else who for _, who in WORLDS])
    world = Ride(at, passenger, jnp.zeros(len(WORLDS), dtype=jnp.int32))

    def one(world, action):
        _, after = TAXI.outcomes(world, jnp.zeros(0), action)
        after = jax.tree.map(lambda leaf: leaf[0], after)
        return after, TAXI.rewards(State(world, jnp.zeros(0)), action, after)

    by_action = jax.vmap(one, in_axes=(None, 0))
    return jax.device_get(jax.vmap(by_action, in_axes=(0, None))(world, jnp.arange(6)))


@pytest.mark.system  # takes seconds
def test_every_decision_in_every_world_is_as_described(every_step):
    after, rewards = every_step
    for k, (cell, passenger) in enumerate(WORLDS):
        for action in range(6):
            there, whom, paid = taxi_rides.step(
                TAXI.origins, TAXI.destinations, TAXI.size, cell, passenger, action
            )
            assert tuple(after.at[k, action]) == there
            assert after.passenger[k, action] == (-1 if whom is None else whom)
            assert rewards[k, action].tolist() == paid


def test_it_starts_empty_and_anywhere_with_equal_chance():
    number = 20_000
    runs = rollouts(FairTaxi(horizon=1), Random(6), Full(), jax.random.key(0), number)
    at = np.asarray(runs.initial.world.at)
    counts = np.bincount(at[:, 0] * 6 + at[:, 1], minlength=36)
    spread = np.sqrt(number / 36 * (35 / 36))
    assert np.abs(counts - number / 36).max() < 5 * spread
    assert (np.asarray(runs.initial.world.passenger) == -1).all()


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("horizon", [20, 26])
def test_the_optimum_is_that_of_a_search_over_deliveries(horizon):
    taxi = FairTaxi(horizon=horizon)
    found = plan(Problem(taxi, taxi.default_scheme())).value
    best = taxi_rides.best_by_deliveries(TAXI.origins, TAXI.destinations, TAXI.size, horizon)
    assert found == pytest.approx(best, abs=1e-9)


SMALL = {"origins": ((0, 0), (1, 2)), "destinations": ((0, 1), (1, 1)), "size": (2, 3)}


@pytest.mark.parametrize(
    ("when", "assessed"),
    [(Final(), (9,)), (Every(3), (3, 6, 9)), (Always(), tuple(range(1, 10)))],
    ids=["long-term", "periodic", "anytime"],
)
def test_the_optimum_is_that_of_a_search_over_all_decisions(when, assessed):
    scheme = FairnessScheme(Returns(), TimepointFirst(GeometricMean(), Total()), when)
    found = plan(Problem(FairTaxi(**SMALL, horizon=9), scheme)).value
    assert found > 0
    best = taxi_rides.best_of_all(*SMALL.values(), 9, assessed)
    assert found == pytest.approx(best, abs=1e-9)


def test_a_run_on_another_map_adds_up_as_the_second_program_says():
    trace = to_trace(rollout(FairTaxi(**SMALL, horizon=200), Random(6), Full(), jax.random.key(0)))
    at, passenger = tuple(np.asarray(trace.states[0].world.at)), None
    for action, rewards in zip(trace.actions, trace.rewards, strict=True):
        at, passenger, paid = taxi_rides.step(*SMALL.values(), at, passenger, action)
        assert rewards.tolist() == paid
    assert trace.rewards.max() == 30.0  # somebody was brought home
    assert trace.rewards.min() == -10.0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"origins": ((0, 6),), "destinations": ((0, 0),)}, BadParameter, "not on a grid of 6 by"),
        ({"origins": ((0, 0),)}, UnequalLengths, "1 origins and 3"),
        ({"origins": (), "destinations": ()}, UnequalLengths, "0 origins"),
        ({"origins": ((0, 0),) * 3}, BadParameter, "two origins are one cell"),
        ({"origins": (1, 2, 3)}, BadParameter, "two whole numbers"),
        ({"size": (6.5, 6)}, BadParameter, "two whole numbers"),
        ({"size": (0, 6)}, BadParameter, "size is 0"),
        ({"horizon": 0}, BadParameter, "horizon is 0"),
        ({"fare": -1.0}, BadParameter, "fare is -1"),
        ({"penalty": float("nan")}, BadParameter, "penalty is nan"),
    ],
)
def test_a_map_that_is_not_one_is_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        FairTaxi(**arguments)
