"""Unequal presence, by hand and by recursion."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Shifts, State
from evenhand.errors import BadParameter
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from plain_recursion import best_score, chances, one_to

EVERYONE = jnp.asarray([True, True, True])


def at(time, noise=EVERYONE):
    """The state after so many steps, whatever was done."""
    env = Shifts()
    world = env.start()
    for _ in range(time):
        world = jax.tree.map(lambda leaf: leaf[0], env.outcomes(world, EVERYONE, 0).world)
    return State(world, noise)


def served(env, state, action):
    return np.asarray(env.rewards(state, action, state.world)).tolist()


def test_whoever_is_on_shift_and_there_may_be_served():
    """Shifts are 0 to 6, 3 to 12 and 8 to 15, the last step not included."""
    env = Shifts()
    for time, there in ((0, [1, 0, 0]), (5, [1, 1, 0]), (6, [0, 1, 0]), (11, [0, 1, 1])):
        assert np.asarray(env.present(at(time))).tolist() == there
    assert np.asarray(env.present(at(5, jnp.asarray([False, True, True])))).tolist() == [0, 1, 0]
    assert served(env, at(5), 1) == [0, 1, 0]
    assert served(env, at(5), 2) == [0, 0, 0]


def test_what_is_seen_is_who_is_there_and_how_long_they_stay():
    """At step 4 the first has 2 of 15 steps left, the second 8, the third its whole 7."""
    seen = np.asarray(Shifts().observation(at(4)))
    assert seen == pytest.approx([1, 1, 0, 2 / 15, 8 / 15, 7 / 15])


def test_the_optimum_is_that_of_plain_recursion():
    shifts, presence, size = ((0, 2), (1, 5), (0, 5)), (0.7, 0.9, 0.6), 3
    env = Shifts(shifts, presence, 5)

    def step(time, world, there, action):
        begin, end = shifts[action]
        got = int(there[action] and begin <= time < end)
        return [(1.0, (), one_to(action, got, size))]

    best = best_score(5, (), list(chances(presence)), step, min, size)
    assert plan(Problem(env, env.default_scheme())).value == pytest.approx(best, abs=1e-9)


def test_one_who_leaves_is_served_first_although_another_has_no_more():
    """A leaves after the first step, B stays: with A first both have 1 after two steps.

    Served the other way round, A has nothing for good. Rawls: 0 + 1 against 0 + 0.
    """
    env = Shifts(((0, 1), (0, 2)), 1.0, 2)
    found = plan(Problem(env, env.default_scheme()))
    assert found.value == pytest.approx(1.0)
    state = Problem(env, env.default_scheme()).initial(jax.random.key(0))
    assert found.explain(state).values == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("shifts", [(), ((2, 2),), ((-1, 3),), ((0, 1, 2),), ((0.5, 3),)])
def test_a_shift_that_is_none_is_refused(shifts):
    with pytest.raises(BadParameter, match="shift"):
        Shifts(shifts)
