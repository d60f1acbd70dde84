"""Waiting with urgency, by hand and by recursion."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import State, Triage
from evenhand.envs.triage import CRITICAL, NOBODY, STABLE, Beds
from evenhand.errors import UnequalLengths
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from plain_recursion import best_score, chances, one_to


def beds(*condition):
    return Beds(jnp.asarray(condition), jnp.asarray(0))


def test_a_patient_comes_to_an_empty_bed_alone():
    state = State(beds(NOBODY, NOBODY, CRITICAL), jnp.asarray([True, False, True]))
    assert np.asarray(Triage().condition(state)).tolist() == [STABLE, NOBODY, CRITICAL]
    assert np.asarray(Triage().present(state)).tolist() == [True, False, True]
    assert np.asarray(Triage().observation(state)).tolist() == [1, 0, 1, 0, 0, 1]


def test_treating_a_critical_patient_while_another_waits():
    """It helps with 0.3; the other, stable, turns critical with 0.5 meanwhile."""
    env = Triage((0.5, 0.5), (0.9, 0.5), (1.0, 0.3), 4)
    chance, after = env.outcomes(beds(CRITICAL, STABLE), jnp.asarray([False, False]), 0)
    found = {}
    for p, condition in zip(chance.tolist(), after.condition.tolist(), strict=True):
        found[tuple(condition)] = found.get(tuple(condition), 0.0) + p
    expected = {
        (NOBODY, STABLE): 0.15,
        (NOBODY, CRITICAL): 0.15,
        (CRITICAL, STABLE): 0.35,
        (CRITICAL, CRITICAL): 0.35,
    }
    assert found == pytest.approx(expected)


def test_the_class_of_whoever_was_helped_receives_one():
    env, state = Triage((0.5, 0.5), 0.5), State(beds(CRITICAL, NOBODY), jnp.asarray([False, True]))
    assert np.asarray(env.rewards(state, 0, beds(NOBODY, CRITICAL))).tolist() == [1, 0]
    assert np.asarray(env.rewards(state, 1, beds(CRITICAL, NOBODY))).tolist() == [0, 1]
    assert np.asarray(env.rewards(state, 0, beds(CRITICAL, STABLE))).tolist() == [0, 0]


def test_the_optimum_is_that_of_plain_recursion():
    arrivals, worsening, cured = (0.7, 0.4), (0.8, 0.3), (0.9, 0.4)
    env = Triage(arrivals, worsening, cured, 4)

    def step(time, world, comes, action):
        now = [1 if c == 0 and new else c for c, new in zip(world, comes, strict=True)]
        helped = (0.0, *cured)[now[action]]
        for chance, helps in ((helped, True), (1 - helped, False)):
            left = [0 if helps and i == action else c for i, c in enumerate(now)]
            for p, worsens in chances(worsening):
                after = tuple(2 if c == 1 and w else c for c, w in zip(left, worsens, strict=True))
                yield chance * p, after, one_to(action, int(helps), 2)

    best = best_score(4, (0, 0), list(chances(arrivals)), step, min, 2)
    assert plan(Problem(env, env.default_scheme())).value == pytest.approx(best, abs=1e-6)


def test_bad_numbers_are_refused():
    with pytest.raises(UnequalLengths, match="empty"):
        Triage(arrivals=())
    with pytest.raises(UnequalLengths, match="cured has 3 entries for 2"):
        Triage(cured=(1.0, 0.5, 0.2))
