"""FairQCM by its name: the algorithm that the recipes run, on tables and on networks."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, MemoryDoesNotPay
from evenhand.experiments.running.run_spec import RunSpec
from evenhand.experiments.running.runs import train
from evenhand.learn import (
    DQN,
    MLP,
    Above,
    Everything,
    FairQCM,
    Greedy,
    NoProposal,
    Raw,
    Recurrent,
    Relative,
    Tabular,
    Watkins,
)
from evenhand.memory.memory import Clock, Full, Min, Product
from evenhand.planning import plan
from evenhand.problem.problem import Problem

SHOP = Doughnuts(num_stakeholders=2, horizon=4, presence=0.8)
PROBLEM = Problem(SHOP, SHOP.default_scheme())


def test_on_tables_it_is_the_papers_recipe():
    """The same digits as `evenhand train --method fairqcm --recipe paper`."""
    agent = FairQCM(PROBLEM, proposal=Above(2))
    assert agent.agent == Tabular(PROBLEM, Above(2))
    learned = agent.train(steps=2_000, seed=[3, 4])
    spec = RunSpec(SHOP, "fairqcm", (3, 4), steps=2_000, every=2_000)
    run = train(spec.build(), spec)
    np.testing.assert_array_equal(learned.scores, run.scores[-1])
    np.testing.assert_array_equal(np.asarray(learned.learners.q), np.asarray(run.learners.q))


def test_it_goes_on_from_what_was_learned_and_leaves_that_as_it_is():
    problem = Problem(SHOP, SHOP.default_scheme(), Product((Full(), Clock(5))))
    how = {"discount": 1.0, "horizon_terminates": True, "shaping": True, "rate": Watkins(0.6)}
    agent = FairQCM(problem, Everything(), **how)
    some = agent.train(20, seed=7)
    before = some.score
    more = some.train(2_000)
    assert (some.steps, more.steps, some.seeds) == (20, 2_020, (7,))
    np.testing.assert_array_equal(some.agent.evaluate(some.learners).score, some.scores)
    assert before < more.score == pytest.approx(plan(problem).value)
    assert agent.train(20, seed=7).score == before  # the same seed, the same result


def test_the_greedy_policy_takes_the_best_action():
    learned = FairQCM(PROBLEM, Above(1)).train(2_000, seed=(0, 5))
    augmented = PROBLEM.initial(jax.random.key(1))
    for seed in (0, 5):
        policy = learned.policy(seed)
        values = learned.action_values(augmented, seed)
        assert values.shape == (SHOP.num_actions,)
        assert policy.decide(policy.start(), augmented) == ((), int(values.argmax()))
    np.testing.assert_array_equal(
        learned.action_values(augmented), learned.action_values(augmented, 0)
    )
    with pytest.raises(BadParameter, match="no seed 1: it was trained with 0, 5"):
        learned.policy(1)


def test_with_a_network_it_is_deep():
    agent = FairQCM(PROBLEM, proposal=Above(2), network=MLP((8,)), warm_up=50, capacity=500)
    assert isinstance(agent.agent, DQN)
    assert (agent.agent.encoder, agent.agent.warm_up, agent.agent.batch) == (Relative(), 50, 128)
    learned = agent.train(60, seed=[0, 1])
    assert learned.scores.shape == (2,)
    policy = learned.policy()
    assert isinstance(policy, Greedy)
    augmented = PROBLEM.initial(jax.random.key(1))
    _, action = policy.decide(policy.start(), augmented)
    assert int(action) == learned.action_values(augmented).argmax()
    raw = FairQCM(PROBLEM, Above(2), network=MLP((8,)), encoder=Raw())
    assert raw.agent.encoder == Raw()


def test_mistakes_are_named():
    with pytest.raises(BadParameter, match="encoder is for networks"):
        FairQCM(PROBLEM, encoder=Raw())
    with pytest.raises(BadParameter, match="Everything needs a list of all memories"):
        FairQCM(PROBLEM, Everything(), network=MLP((8,)))
    with pytest.raises(BadParameter, match="use RecurrentDQN"):
        FairQCM(PROBLEM, network=Recurrent())
    with pytest.raises(MemoryDoesNotPay):
        FairQCM(Problem(SHOP, SHOP.default_scheme(), Min()))
    agent = FairQCM(PROBLEM, NoProposal())
    for seed in ([], [1, 1], -1):
        with pytest.raises(BadParameter, match="seed is"):
            agent.train(10, seed)
    with pytest.raises(BadParameter, match="steps is 0"):
        agent.train(0)
