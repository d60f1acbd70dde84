"""The rule without foresight: by hand, and where it is optimal."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from evenhand.envs import Boosters, Crates, Doughnuts, State, TurnTaking
from evenhand.envs.boosters import Protection
from evenhand.envs.environment import OneStepAhead
from evenhand.planning.evaluation import evaluate
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

KEY = jax.random.key(0)


def policy_of(env):
    policy = OneStepAhead(env, env.default_scheme())
    return policy, policy.memory().init(env.num_stakeholders)


def test_it_boosts_whoever_gains_most_by_it():
    """Levels 1 and 0: the first keeps 1 − 0.9 of its own, the second gets 1 − 0.3 of it anew.

    Boosted to 1, the first is at 0.1 as before and the second at 0; the other way round 0.1, 0.7.
    """
    env = Boosters(1, (0.9, 0.3), 4)
    policy, memory = policy_of(env)
    state = State(Protection(jnp.asarray([1, 0]), jnp.asarray(0)), jnp.zeros(0))
    assert int(policy(KEY, state, jax.tree.map(jnp.asarray, memory))) == 1


def test_of_those_as_good_it_serves_whoever_has_least_and_is_there():
    """Under Rawls a first crate changes nothing, whoever gets it; of equals, the first."""
    env = Crates()
    policy, memory = policy_of(env)
    state = State(env.start(), jnp.asarray(4))
    assert int(policy(KEY, state, memory)) == 0
    shop = Doughnuts(3, 4, 0.5)
    policy, memory = policy_of(shop)
    state = State(shop.start(), jnp.asarray([False, True, True]))
    assert int(policy(KEY, state, memory)) == 1


def test_in_doughnuts_it_is_turn_taking():
    env = Doughnuts(2, 4, 0.5)
    policy, _ = policy_of(env)
    scheme = env.default_scheme()
    score = evaluate(Problem(env, scheme, policy.memory()), policy).score
    assert score == pytest.approx(evaluate(Problem(env, scheme), TurnTaking()).score)
    assert score == pytest.approx(plan(Problem(env, scheme)).value)
