"""What a plan may be asked for, how far it has come, and what it says of a state."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import Discounted, FiniteMDP, LogNash, Total, Window, anytime
from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, CannotPlan, TooLarge
from evenhand.planning import planner
from evenhand.planning.model import noise_distribution
from evenhand.planning.planner import PlanReasons, backward, plan, value_iteration
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 3, 0.5)
NASH = anytime(LogNash(), Total())
PROBLEM = Problem(SHOP, NASH)
ENDLESS = Problem(SHOP, anytime(LogNash(), Discounted(0.5), Window(1)))


def test_the_horizon_is_the_environments_or_none():
    assert plan(PROBLEM, horizon=3).value == plan(PROBLEM).value
    for horizon in (0, -1, 2.5, math.nan):
        with pytest.raises(BadParameter, match=r"whole number from 1, or math\.inf"):
            plan(PROBLEM, horizon=horizon)
    for horizon in (1, 2, 4):
        with pytest.raises(BadParameter, match="build the environment with the horizon"):
            plan(PROBLEM, horizon=horizon)


def test_a_plan_tells_how_far_it_is():
    told = []
    plan(PROBLEM, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)] * 2  # the states, then their values
    assert plan(PROBLEM, canonical=False).states == 10  # sums of at most 3, after the last step
    assert plan(PROBLEM).states == 6
    assert repr(plan(PROBLEM)) == "Plan(error=0.0)"  # not the table, nor its values
    assert "index" not in repr(plan(PROBLEM).table)


def test_values_by_step_number_are_those_of_shorter_problems():
    """From the start with k steps left: the whole problem of k steps."""
    found = plan(PROBLEM)
    for steps in (1, 2, 3):
        shorter = plan(Problem(Doughnuts(2, steps, 0.5), NASH)).value
        assert found.values[3 - steps][0] == pytest.approx(shorter, abs=1e-12)
    assert not found.values[3].any()
    assert [len(values) for values in found.values] == found.table.within


def test_value_iteration_is_within_its_error_and_gives_up_in_words():
    found = plan(ENDLESS, horizon=math.inf)
    for tolerance in (0.5, 1e-3):
        values, error = value_iteration(found.table, tolerance)
        assert np.abs(values - found.values[0]).max() <= error <= tolerance
    with pytest.raises(CannotPlan, match="after 3 sweeps"):
        value_iteration(found.table, 1e-9, max_sweeps=3)
    with pytest.raises(CannotPlan, match="finite horizon"):
        backward(found.table)
    with pytest.raises(CannotPlan, match="finite horizon"):
        found.random_value()
    assert found.states == found.table.num_states == 2  # nobody was served, or someone
    assert found.error <= 1e-9


def test_blocks_of_states_change_nothing(monkeypatch):
    whole, forever = plan(PROBLEM), plan(ENDLESS, horizon=math.inf)
    monkeypatch.setattr(planner, "BLOCK", 2)
    for one, other in (
        (plan(PROBLEM), whole),
        (plan(ENDLESS, horizon=math.inf), forever),
    ):
        for values, others in zip(one.values, other.values, strict=True):
            np.testing.assert_allclose(values, others, atol=1e-12)
    assert plan(PROBLEM).random_value() == pytest.approx(whole.random_value(), abs=1e-12)


def test_the_first_of_those_that_are_as_good_is_taken():
    values = np.array([1.0, 2.0 - 5e-10, 2.0, 2.0 - 2e-9])
    assert PlanReasons(2, values).as_good == [1, 2]
    start = PROBLEM.initial(jax.random.key(0))
    found = plan(PROBLEM)
    for present, action in (([True, True], 0), ([False, True], 1), ([True, False], 0)):
        at = start._replace(state=start.state._replace(noise=jnp.array(present)))
        assert found.explain(at).action == action
    forever = plan(ENDLESS, horizon=math.inf)
    at = ENDLESS.initial(jax.random.key(0))
    at = at._replace(state=at.state._replace(noise=jnp.array([False, True])))
    reasons = forever.explain(at)
    assert reasons.action == 1
    nothing, served = forever.values[0][0], reasons.values[1]
    # To serve pays log 2 and leads to a window with one in it; to waste pays 0 and changes nothing
    # that is remembered, as the window is empty either way.
    assert reasons.values[0] == pytest.approx(0.5 * nothing, abs=1e-8)
    assert served == pytest.approx(math.log(2) + 0.5 * nothing, abs=1e-8)


def test_a_rule_is_judged_wherever_it_can_come():
    found = plan(PROBLEM, canonical=False)

    def last_present(world, carried, noise):
        return jnp.where(noise[1], 1, 0)

    holds, witness = found.is_best_everywhere(last_present)
    assert not holds
    # At the first step nobody has had any; at the second the one served is served again.
    assert witness["time"] == 2
    assert witness["noise"] == [[True, True]]
    assert witness["chosen"] == 1
    worth = witness["values"]
    assert worth[0] > worth[1] + 1e-6
    plan(PROBLEM, canonical=False).is_best_everywhere(last_present, treats_alike=True)
    with pytest.raises(CannotPlan, match="canonical order"):
        plan(PROBLEM).is_best_everywhere(last_present)


def test_a_rule_is_asked_in_double_precision():
    found = plan(PROBLEM, canonical=False)

    def least_served(world, carried, noise):
        total = carried.status.total
        sign = 1 if total.dtype == np.float64 else -1
        return jnp.argmin(jnp.where(noise, sign * total, jnp.inf))

    assert found.is_best_everywhere(least_served) == (True, None)


def test_how_long_a_plan_may_be(monkeypatch):
    monkeypatch.setattr(planner, "LONGEST_PLAN", 3)
    assert plan(PROBLEM).table.horizon == 3
    monkeypatch.setattr(planner, "LONGEST_PLAN", 2)
    with pytest.raises(TooLarge, match="horizon is 3 decisions"):
        plan(PROBLEM)
    assert plan(ENDLESS, horizon=math.inf).table.horizon is None


# Noise found in the states of an MDP


def paired(noise, worlds=2):
    """An MDP whose states are pairs of a world that stays and a noise that is drawn afresh."""
    size = worlds * len(noise)
    transitions = np.zeros((size, 1, size))
    for state in range(size):
        world = state // len(noise)
        transitions[state, 0, world * len(noise) : (world + 1) * len(noise)] = noise
    return FiniteMDP(0, transitions, np.zeros((size, 1, size, 1)))


def test_noise_is_found_in_pairs():
    mdp = paired([0.2, 0.3, 0.5])
    assert noise_distribution(mdp, 3).tolist() == [0.2, 0.3, 0.5]
    # One value of noise is none; as many as states, and the world is the noise.
    assert noise_distribution(mdp, 1).tolist() == [1.0]
    for wrong in (0, -1, 4):
        with pytest.raises(BadParameter, match="not pairs"):
            noise_distribution(mdp, wrong)
    with pytest.raises(CannotPlan, match="not drawn afresh"):
        noise_distribution(mdp, 2)
