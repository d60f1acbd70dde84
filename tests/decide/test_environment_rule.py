"""Rules in environments: the same object, against the exact planner."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.decide.environment_rule import RuleMemory, RulePolicy, rule_for
from evenhand.decide.rules.half_life import HalfLife
from evenhand.decide.rules.least_served import LeastServed
from evenhand.decide.rules.longest_wait import LongestWait
from evenhand.decide.rules.rule_state import RuleState
from evenhand.envs import Crates, Doughnuts, Lending, Shifts
from evenhand.envs.environment import State
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.planning.evaluation import evaluate
from evenhand.planning.planner import check_turn_taking, plan
from evenhand.problem.problem import Problem


def score(environment, name):
    policy = rule_for(environment, name)
    problem = Problem(environment, environment.default_scheme(), policy.memory())
    return evaluate(problem, policy).score


def best(environment):
    return plan(Problem(environment, environment.default_scheme()))


def test_least_served_is_optimal_where_all_come_alike():
    """The value in closed form of two who come half of the time, in two steps."""
    assert score(Doughnuts(2, 2, (0.5, 0.5)), "least_served") == pytest.approx(
        27 / 16 * math.log(2) + 3 / 16 * math.log(3), abs=1e-5
    )


def test_with_unequal_presence_it_is_not_and_the_planner_shows_where():
    environment = Doughnuts(2, 5, (0.9, 0.2))
    found = best(environment)
    assert score(environment, "least_served") < found.value - 1e-4
    check = check_turn_taking(found)
    assert not check.optimal
    values, chosen = check.witness["values"], check.witness["chosen"]
    assert max(values) > values[chosen]


@pytest.mark.parametrize("rule", [LeastServed(), HalfLife(3.0), LongestWait()])
def test_the_memory_in_an_environment_is_that_of_a_state(rule):
    state, memory = RuleState(rule), RuleMemory(rule)
    for _ in range(3):
        state.add()
    value = memory.init(3)
    for turn, place in enumerate([0, 2, 2, 1, 0]):
        state.time = float(turn)
        state.give(place, 1.0)
        value = memory.update(value, Step(place, np.eye(3)[place]))
    assert pytest.approx(np.array(value[:-1])) == np.array(state.memory).T
    assert value[-1] == state.turn
    assert memory.describe()


def test_what_does_not_fit_is_refused_with_what_does():
    environment = Doughnuts(2, 2, (0.5, 0.5))
    assert rule_for(environment, "fairqcm") is None
    assert isinstance(rule_for(environment, "lottery"), RulePolicy)
    with pytest.raises(BadParameter, match="those that can are least_served"):
        rule_for(environment, "proportional")
    with pytest.raises(BadParameter, match="does not serve one stakeholder"):
        rule_for(Lending(), "least_served")


def test_a_rule_serves_those_whom_the_environment_says_may_be():
    """At first only the first of three is on shift, at step 6 only the second."""
    env = Shifts()
    policy = rule_for(env, "longest_wait")
    state = State(env.start(), jnp.ones(3, bool))
    assert int(policy(jax.random.key(0), state, policy.memory().init(3))) == 0
    later = state.world._replace(begins_in=jnp.asarray([0, 0, 2]), left=jnp.asarray([0, 6, 7]))
    state = state._replace(world=later)
    assert int(policy(jax.random.key(0), state, policy.memory().init(3))) == 1


def test_a_rule_goes_by_what_each_is_entitled_to():
    """Households of 1 and 4 that have had 1 and 2 meals: per head the second has had less."""
    env = Crates((1, 4), (2,), (1.0,), 3)
    policy = rule_for(env, "least_served")
    memory = policy.memory()
    value = memory.update(memory.init(2), Step(0, np.array([1.0, 2.0])))
    state = State(env.start(), jnp.asarray(2))
    assert int(policy(jax.random.key(0), state, value)) == 1
