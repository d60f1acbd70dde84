"""Fish wood: its law, and its optimum by a program of its own."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import LogNash, Total, anytime
from evenhand.envs import FishWood, Random
from evenhand.envs.episodes import rollouts
from evenhand.errors import BadParameter
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Final
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns
from evenhand.memory.memory import Full
from evenhand.planning import plan
from evenhand.problem.problem import Problem


def optimum(fish, wood, horizon, assessed):
    """Over where one is and what was found, in plain Python."""

    @functools.cache
    def value(place, fishes, logs, time):
        if time == horizon:
            return 0.0
        chance = fish if place == 0 else wood
        found = []
        for action in range(2):
            total = 0.0
            for got, probability in ((1, chance), (0, 1 - chance)):
                counts = (fishes + got * (place == 0), logs + got * (place == 1))
                now = sum(math.log(1 + c) for c in counts) if time + 1 in assessed else 0.0
                total += probability * (now + value(action, *counts, time + 1))
            found.append(total)
        return max(found)

    return value(1, 0, 0, 0)


@pytest.mark.parametrize("chances", [(0.1, 0.9), (0.5, 0.5), (1.0, 0.0)])
def test_the_optimum_is_that_of_a_program_of_its_own(chances):
    horizon = 15
    world = FishWood(*chances, horizon=horizon)
    final = FairnessScheme(Returns(), TimepointFirst(LogNash(), Total()), Final())
    found = plan(Problem(world, final)).value
    assert found == pytest.approx(optimum(*chances, horizon, {horizon}), abs=1e-9)
    found = plan(Problem(world, anytime(LogNash(), Total()))).value
    every = set(range(1, horizon + 1))
    assert found == pytest.approx(optimum(*chances, horizon, every), abs=1e-9)


def test_what_is_found_is_of_the_place_one_came_from():
    runs = rollouts(FishWood(horizon=40), Random(2), Full(), jax.random.key(0), 500)
    place = np.asarray(runs.steps.next_state.world.place)
    before = np.concatenate([np.ones((500, 1), dtype=int), place[:, :-1]], axis=1)
    assert (place == np.asarray(runs.steps.action)).all()
    rewards = np.asarray(runs.steps.rewards)
    for where, chance in ((0, 0.1), (1, 0.9)):
        there = rewards[before == where]
        assert (there[:, 1 - where] == 0).all()
        spread = math.sqrt(chance * (1 - chance) / len(there))
        assert abs(there[:, where].mean() - chance) < 5 * spread


def test_chances_are_chances():
    with pytest.raises(BadParameter, match=r"fish is 1\.5"):
        FishWood(fish=1.5)
    assert jnp.shape(FishWood().observation(FishWood().initial(jax.random.key(0)))) == (1,)
