"""Unequal sizes, by hand and by recursion."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Crates, State
from evenhand.envs.crates import Pantry
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from plain_recursion import best_score, one_to

BEFORE = Pantry(jnp.asarray(0))


@pytest.mark.parametrize(
    ("crate", "household", "eaten"), [(1, 0, 1), (4, 0, 1), (4, 1, 2), (4, 2, 4), (1, 2, 1)]
)
def test_a_household_eats_one_meal_per_head_at_most(crate, household, eaten):
    """Households of 1, 2 and 4; the rest of a crate spoils."""
    state = State(BEFORE, jnp.asarray(crate))
    rewards = np.asarray(Crates().rewards(state, household, Pantry(jnp.asarray(1))))
    assert rewards.tolist() == list(one_to(household, eaten, 3))


def test_what_is_seen_is_how_far_a_crate_goes_with_each():
    seen = np.asarray(Crates().observation(State(BEFORE, jnp.asarray(2))))
    assert seen == pytest.approx([1.0, 1.0, 0.5])


def test_the_optimum_is_that_of_plain_recursion():
    sizes, crates, odds = (1, 2, 3), (1, 3), (0.6, 0.4)
    env = Crates(sizes, crates, odds, 5)

    def step(time, world, crate, action):
        return [(1.0, (), one_to(action, min(crate, sizes[action]), 3))]

    def least_per_head(eaten):
        return min(meals / size for meals, size in zip(eaten, sizes, strict=True))

    noises = list(zip(odds, crates, strict=True))
    best = best_score(5, (), noises, step, least_per_head, 3)
    assert plan(Problem(env, env.default_scheme())).value == pytest.approx(best, abs=1e-9)


def test_rules_go_by_what_each_has_had_per_head():
    assert Crates().entitlements == (1.0, 2.0, 4.0)


def test_bad_numbers_are_refused():
    with pytest.raises(BadParameter, match=r"sum to 0\.9"):
        Crates(chances=(0.3, 0.3, 0.3))
    with pytest.raises(BadParameter, match="whole numbers"):
        Crates(sizes=(1, 2.5))
    with pytest.raises(UnequalLengths, match="2 entries for 3"):
        Crates(chances=(0.5, 0.5))
    with pytest.raises(UnequalLengths, match="at least one"):
        Crates(sizes=())
