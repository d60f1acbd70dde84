"""Decay, by hand and by recursion."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Boosters, State
from evenhand.envs.boosters import Protection
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from plain_recursion import best_score, chances, log_nash

NO_NOISE = jnp.zeros(0)


def test_a_booster_brings_one_to_its_level_and_then_all_may_fade():
    """Of levels 0 and 1, the first boosted to 2: who fades is one of four combinations."""
    env = Boosters(2, (0.9, 0.6), 5)
    world = Protection(jnp.asarray([0, 1]), jnp.asarray(3))
    chance, after = env.outcomes(world, NO_NOISE, 0)
    found = {tuple(level): float(p) for level, p in zip(after.level.tolist(), chance, strict=True)}
    expected = {(2, 1): 0.1 * 0.4, (1, 1): 0.9 * 0.4, (2, 0): 0.1 * 0.6, (1, 0): 0.9 * 0.6}
    assert found == pytest.approx(expected)
    assert after.time.tolist() == [4] * 4


def test_whoever_is_not_at_zero_is_protected():
    env, state = Boosters(2, (0.9, 0.6), 5), State(Boosters().start(), NO_NOISE)
    after = Protection(jnp.asarray([1, 0]), jnp.asarray(1))
    assert np.asarray(env.rewards(state, 0, after)).tolist() == [1, 0]
    assert np.asarray(env.observation(State(after, NO_NOISE))) == pytest.approx([0.5, 0.0])


def test_the_optimum_is_that_of_plain_recursion():
    levels, fading = (2, 1), (0.7, 0.4)
    env = Boosters(levels, fading, 4)

    def step(time, world, noise, action):
        boosted = [levels[i] if i == action else world[i] for i in range(2)]
        for p, fades in chances(fading):
            after = tuple(max(0, a - f) for a, f in zip(boosted, fades, strict=True))
            yield p, after, tuple(int(level > 0) for level in after)

    best = best_score(4, (0, 0), [(1.0, None)], step, log_nash, 2)
    assert plan(Problem(env, env.default_scheme())).value == pytest.approx(best, abs=1e-9)


def test_bad_numbers_are_refused():
    with pytest.raises(BadParameter, match="whole numbers"):
        Boosters(levels=1.5)
    with pytest.raises(BadParameter, match="fading"):
        Boosters(fading=(1.5,))
    with pytest.raises(UnequalLengths, match="empty"):
        Boosters(fading=())
