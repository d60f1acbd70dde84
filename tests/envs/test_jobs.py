"""A deadline, by hand and by recursion."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Jobs, State
from evenhand.envs.jobs import Workshop
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from plain_recursion import best_score, log_nash, one_to

RUNS, STANDS = jnp.asarray(True), jnp.asarray(False)


def at(time, *work):
    left = [period - time % period for period in (3, 4, 6)]
    return Workshop(jnp.asarray(work), jnp.asarray(left), jnp.asarray(time))


def after(env, world, noise, action):
    """The world after a step, and what was received."""
    found = jax.tree.map(lambda leaf: leaf[0], env.outcomes(world, noise, action).world)
    rewards = env.rewards(State(world, noise), action, found)
    return np.asarray(found.work).tolist(), np.asarray(rewards).tolist()


def test_a_job_is_paid_when_it_is_done_and_lost_when_it_is_due():
    """Jobs of 2, 2 and 3 steps, due every 3, 4 and 6."""
    env = Jobs()
    assert after(env, at(0, 0, 0, 0), RUNS, 0) == ([1, 0, 0], [0, 0, 0])
    assert after(env, at(1, 1, 0, 0), RUNS, 0) == ([2, 0, 0], [1, 0, 0])
    assert after(env, at(1, 1, 0, 0), STANDS, 0) == ([1, 0, 0], [0, 0, 0])
    assert after(env, at(2, 1, 1, 0), RUNS, 1) == ([0, 2, 0], [0, 1, 0])
    assert after(env, at(2, 1, 1, 0), RUNS, 0) == ([0, 1, 0], [1, 0, 0])


def test_a_job_that_is_done_cannot_be_done_again():
    env = Jobs()
    assert after(env, at(4, 0, 0, 3), RUNS, 2) == ([0, 0, 3], [0, 0, 0])
    assert np.asarray(env.present(State(at(4, 0, 1, 3), RUNS))).tolist() == [True, True, False]


def test_a_job_that_cannot_be_done_in_time_is_not_worked_on():
    """At step 5 the job of the third has one step left, and needs two."""
    env = Jobs()
    assert np.asarray(env.present(State(at(5, 1, 0, 1), RUNS))).tolist() == [True, True, False]
    assert after(env, at(4, 0, 0, 0), RUNS, 2) == ([0, 0, 0], [0, 0, 0])


def test_what_is_seen_is_what_is_left_of_each_job_and_of_its_time():
    seen = np.asarray(Jobs().observation(State(at(4, 1, 0, 3), RUNS)))
    assert seen == pytest.approx([0.5, 1.0, 0.0, 2 / 3, 1.0, 2 / 6, 1.0])


def test_the_optimum_is_that_of_plain_recursion():
    periods, work, uptime = (2, 3), (1, 2), 0.7
    env = Jobs(periods, work, uptime, 6)

    def step(time, world, runs, action):
        done = list(world)
        done[action] += int(runs and done[action] < work[action])
        paid = int(done[action] == work[action] != world[action])
        left = (0 if (time + 1) % p == 0 else d for p, d in zip(periods, done, strict=True))
        return [(1.0, tuple(left), one_to(action, paid, 2))]

    noises = [(uptime, True), (1 - uptime, False)]
    best = best_score(6, (0, 0), noises, step, log_nash, 2)
    assert plan(Problem(env, env.default_scheme())).value == pytest.approx(best, abs=1e-6)


def test_bad_numbers_are_refused():
    with pytest.raises(BadParameter, match="can never be done"):
        Jobs(periods=(2,), work=(3,))
    with pytest.raises(BadParameter, match="whole numbers"):
        Jobs(work=(1.5, 2, 3))
    with pytest.raises(UnequalLengths, match="empty"):
        Jobs(periods=(), work=())
