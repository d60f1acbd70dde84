"""FairQCM by its name: the algorithm that the recipes run, on tables and on networks."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from evenhand._util.saved import read_tensors
from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, MemoryDoesNotPay
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import train
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
from evenhand.learn.fairqcm import Learned, _started_from
from evenhand.learn.policy_files import load_policies
from evenhand.learn.recipe import default_learner
from evenhand.learn.schedules import seed_keys, start_learners
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


def test_derived_it_is_the_default_recipe():
    agent = FairQCM.derived(PROBLEM, steps=300, batch=16)
    assert agent.agent == default_learner(PROBLEM, steps=300, batch=16)
    assert (agent.problem, agent.proposal) == (agent.agent.problem, agent.agent.proposal)
    assert repr(agent) == f"FairQCM({agent.agent!r})"


def test_tables_are_not_saved(tmp_path):
    learned = FairQCM(PROBLEM).train(steps=20)
    assert (learned.agent.proposal, learned.seeds) == (Above(2), (0,))
    with pytest.raises(BadParameter, match="a table is not saved: give FairQCM a network"):
        learned.save(tmp_path / "a.policy")
    assert not list(tmp_path.iterdir())


def test_it_goes_on_from_what_was_learned_and_leaves_that_as_it_is():
    problem = Problem(SHOP, SHOP.default_scheme(), Product((Full(), Clock(5))))
    how = {"discount": 1.0, "horizon_terminates": True, "shaping": True, "rate": Watkins(0.6)}
    agent = FairQCM(problem, Everything(), **how)
    some = agent.train(20, seed=7)
    before = some.score
    more = some.train(2_000)
    assert (some.steps, more.steps, some.seeds) == (20, 2_020, (7,))
    assert repr(more) == "<Learned by Tabular, 2,020 steps, seeds 7>"
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


@pytest.mark.system
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


def test_with_a_network_it_is_made_of_its_defaults_and_of_what_is_given():
    agent = FairQCM(PROBLEM, network=MLP((8,)), warm_up=50).agent
    assert isinstance(agent, DQN)
    assert (agent.proposal, agent.network, agent.encoder) == (Above(2), MLP((8,)), Relative())
    assert (agent.batch, agent.warm_up, agent.double) == (128, 50, True)
    assert FairQCM(PROBLEM, NoProposal(), network=MLP((8,)), encoder=Raw()).agent.encoder == Raw()


def test_a_network_begins_with_what_another_learned_and_is_saved(tmp_path):
    agent = FairQCM(PROBLEM, NoProposal(), network=MLP(())).agent
    fresh = start_learners(agent, seed_keys([4, 5]))
    known = Learned(agent, (4, 5), 30, fresh)
    begun = _started_from(agent, start_learners(agent, seed_keys([5, 6])), known, (5, 6))
    (theirs,), (ours,), (target,) = fresh.weights, begun.weights, begun.target
    # Its own seed's, or the first's.
    np.testing.assert_array_equal(ours.weight, np.asarray(theirs.weight)[[1, 0]])
    np.testing.assert_array_equal(target.weight, ours.weight)
    assert begun.epsilon.tolist() == pytest.approx([agent.exploration.floor] * 2)
    known.save(tmp_path / "two.policy")
    header, arrays = read_tensors(tmp_path / "two.policy", "policy")
    assert header["spec"] == {"seeds": [4, 5], "steps": 30}
    assert any(np.array_equal(array, theirs.weight) for array in arrays.values())


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
    for seed in ([], [1, 1], -1, [3, -1]):
        with pytest.raises(BadParameter, match="seed is"):
            agent.train(10, seed)
    with pytest.raises(BadParameter, match="steps is 0"):
        agent.train(0)


def test_checkpoints_are_called_and_can_end_it():
    agent, seen = FairQCM(PROBLEM, Above(1)), []
    learned = agent.train(25, seed=[2, 3], every=10, on_checkpoint=lambda now: seen.append(now))
    assert [now.steps for now in seen] == [10, 20, 25]
    assert seen[-1] is learned
    assert learned.train(50, every=20, on_checkpoint=lambda now: now.steps >= 45).steps == 45
    for name, wrong in (("steps", 0), ("every", True), ("every", 2.5)):
        with pytest.raises(BadParameter, match=f"{name} is {wrong}: it must be a whole number"):
            agent.train(**{"steps": 10, name: wrong})


def test_it_begins_with_what_another_learned():
    first = FairQCM(PROBLEM, Above(1)).train(2_000, seed=[4, 5])
    tables = np.asarray(first.learners.q)
    later = FairQCM(PROBLEM, Above(1)).train(1, seed=[5, 6], start=first)
    changed = np.asarray(later.learners.q) != tables[[1, 0]]  # its own seed's, or the first's
    assert changed.reshape(2, -1).sum(axis=1).max() <= 4  # by the step since, and what it imagined
    with pytest.raises(BadParameter, match="start was learned with another network"):
        FairQCM(PROBLEM, network=MLP((8,))).train(1, start=first)
    other = Problem(SHOP, SHOP.default_scheme(), Product((Full(), Clock(5))))
    with pytest.raises(BadParameter, match="start was learned with another network"):
        FairQCM(other, Above(1)).train(1, start=first)


@pytest.mark.system
def test_derived_it_has_the_settings_of_the_default_recipe_and_is_saved(tmp_path):
    agent = FairQCM.derived(PROBLEM, steps=200, batch=16)
    assert agent.agent == default_learner(PROBLEM, steps=200, batch=16)
    learned = agent.train(20, seed=[1, 2], every=7)
    whole = agent.train(20, seed=[1, 2])
    for a, b in zip(
        *(jax.tree.leaves(one.learners.replay) for one in (learned, whole)), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    further = agent.train(1, seed=2, start=learned)
    ours, theirs = (jax.tree.leaves(one.learners.weights) for one in (learned, further))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(a)[1], np.asarray(b)[0])  # not yet warmed up
    learned.save(tmp_path / "fair.policy")
    saved = load_policies(tmp_path / "fair.policy")
    augmented = agent.problem.initial(jax.random.key(3))
    policy = saved.policy(1)
    np.testing.assert_array_equal(
        policy.values(policy.start(), augmented), learned.action_values(augmented, seed=2)
    )
    with pytest.raises(BadParameter, match="a table is not saved"):
        FairQCM(PROBLEM).train(1).save(tmp_path / "table.policy")
