"""What is drawn at a step: how many, which, from what, and never by the outcome."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import Clock, Doughnuts, Full, Min, Problem, Product, Rawls, Total, anytime
from evenhand.errors import BadParameter
from evenhand.fairness.status import Window
from evenhand.fairness.trace import Step
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP
from evenhand.learn.proposals import ProposalContext, Replayed, SomeAbove, SomeAround, Visited
from evenhand.learn.proposals.drawn import _EveryOffset
from evenhand.learn.proposals.imagined_memories import PastStep, imagine_memories
from evenhand.learn.seeds import seed_keys, start_learners
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import OfStatus

SHOP = Doughnuts(num_stakeholders=3, horizon=6, presence=0.7)
SCHEME = SHOP.nash_scheme()
NO_PAST = None, jnp.zeros(0, dtype=bool)


def drawn(proposal, memory, real, seed=0, past=NO_PAST):
    real = jax.tree.map(jnp.asarray, real)
    found, exist = imagine_memories(proposal, memory, jax.random.key(seed), real, *past)
    return np.asarray(jax.vmap(memory.imaginable)(found)), np.asarray(exist)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), st.integers(1, 3), st.integers(0, 99))
def test_some_above_are_so_many_of_each_with_0_to_reach_more(counts, reach, seed):
    real = np.asarray(counts, dtype=np.float32)
    found, exist = drawn(SomeAbove(12, reach), Full(), real, seed)
    assert found.shape == (12, len(counts))
    offsets = found - real
    assert ((offsets >= 0) & (offsets <= reach)).all()
    assert exist.tolist() == (offsets > 0).any(axis=1).tolist()


def test_some_above_changes_leads_and_costs_no_more_for_many():
    found, _ = drawn(SomeAbove(200, 2), Full(), np.zeros(2, dtype=np.float32))
    assert {tuple(part) for part in found.tolist()} == {
        (float(a), float(b)) for a in range(3) for b in range(3)
    }
    assert drawn(SomeAbove(8), Full(), np.zeros(1000, dtype=np.float32))[0].shape == (8, 1000)


def test_some_around_are_leads_within_reach_without_the_real_one():
    found, exist = drawn(SomeAround(300, 5), Full(), np.array([0.0, 3.0], dtype=np.float32))
    assert {tuple(part) for part in found[exist].tolist()} == {
        (0.0, float(x)) for x in (0, 1, 2, 4, 5, 6, 7, 8)
    }
    assert (found[~exist] < 0).any(axis=1).all()


def steps_of(rewards):
    count = jnp.arange(len(rewards), dtype=jnp.int32)
    return Step(count, jnp.asarray(rewards, dtype=jnp.float32), count, None)


def test_replayed_is_the_memory_after_other_steps_in_any_unit():
    """By hand: 1 to 2 of the steps that gave 0.25 to A or 1.5 to B, on top of what there is."""
    amounts = np.array([[0.25, 0.0], [0.0, 1.5]])
    recalled = np.random.default_rng(0).integers(0, 2, size=2 * 100)
    past = PastStep(jnp.zeros((200, 2)), steps_of(amounts[recalled])), jnp.ones(200, dtype=bool)
    real = np.array([1.0, 4.0], dtype=np.float32)
    found, exist = drawn(Replayed(100, 2), Full(), real, past=past)
    more = {(0.25, 0.0), (0.0, 1.5), (0.5, 0.0), (0.25, 1.5), (0.0, 3.0)}
    assert {tuple(part) for part in (found - real).tolist()} == more
    assert exist.all()
    # The same steps, as leads: μ of that memory takes them in.
    found, _ = drawn(Replayed(100, 2), Min(), np.array([0.0, 3.0], dtype=np.float32), past=past)
    leads = {(0.0, 2.75), (0.0, 4.5), (0.0, 2.5), (0.0, 4.25), (0.0, 6.0)}
    assert {tuple(part) for part in found.tolist()} == leads


def test_nothing_is_recalled_before_there_is_a_past():
    for proposal in (Visited(4), Replayed(4, 2)):
        number = proposal.num_recalled
        past = PastStep(jnp.zeros((number, 3)), steps_of(np.zeros((number, 3))))
        none = past, jnp.zeros(number, dtype=bool)
        assert not drawn(proposal, Full(), np.ones(3, dtype=np.float32), past=none)[1].any()


def trained(proposal, memory=Full(), scheme=SCHEME, shop=SHOP, steps=40):
    agent = DQN(
        problem=Problem(shop, scheme, memory),
        proposal=proposal,
        encoder=Raw(),
        network=MLP((4,)),
        capacity=1_000,
        warm_up=2_000,  # it only stores
    )
    return agent, agent.train_steps(start_learners(agent, seed_keys([0])), steps)


def stored(learners):
    """Features, actions, rewards and next features of what is stored, real and imagined."""
    replay = jax.tree.map(lambda leaf: np.asarray(leaf)[0], learners.replay)
    return jax.tree.map(lambda leaf: leaf[: int(replay.stored)], replay.items)


@pytest.mark.parametrize(
    "proposal", [SomeAbove(5), SomeAround(5), Visited(5), Replayed(5)], ids=str
)
def test_imagined_experiences_are_what_the_world_would_have_done(proposal):
    """Recomputed in plain Python: what was served is added, and log-Nash of that is paid."""
    _, learners = trained(proposal)
    items = stored(learners)
    assert len(items.reward) > 2 * 40
    for features, action, reward, following in zip(
        items.features, items.action, items.reward, items.following, strict=True
    ):
        # Three numbers of who is there, then three counts, as Raw has them: two each.
        present, counts = features.reshape(3, 2).T
        after = counts + (np.arange(3) == action) * present
        np.testing.assert_allclose(following.reshape(3, 2)[:, 1], after)
        paid = np.log1p(after).sum() if present[action] else 0.0
        np.testing.assert_allclose(reward, paid, rtol=1e-5)


def test_what_is_visited_was_real():
    agent, learners = trained(Visited(6))
    items = stored(learners)
    memories = [tuple(row) for row in items.features.reshape(-1, 3, 2)[:, :, 1].tolist()]
    past = np.asarray(learners.past.items.memory)[0, : int(learners.past.stored[0])]
    assert int(learners.past.stored[0]) == 40
    assert set(memories) == {tuple(row) for row in past.tolist()}
    assert len(memories) > 40
    # With one step behind one there is something to recall, and with none there is not.
    for number, there in ((0, False), (1, True)):
        behind = jax.tree.map(lambda leaf: leaf[0], learners.past)._replace(stored=np.int32(number))
        assert agent._recall(jax.random.key(0), behind)[1].tolist() == [there] * 6


@pytest.mark.system
def test_what_is_drawn_does_not_depend_on_what_happens():
    """The same learner before two outcomes: it imagines the same memories."""
    for proposal in (SomeAbove(4), Visited(4), Replayed(4, 2)):
        agent, learners = trained(proposal)
        learner = jax.tree.map(lambda leaf: leaf[0], learners)
        before = learner.augmented
        proposed = []
        for action, gift in ((0, [1.0, 0.0, 0.0]), (2, [0.0, 0.0, 1.0]), (1, [0.0, 0.0, 0.0])):
            after, step, pay = agent.problem.step(jax.random.key(action), before, action)
            happened = _record(
                learner, before, step._replace(rewards=jnp.asarray(gift)), after, pay
            )
            proposed.append(agent.store(learner, happened).pending.features)
        assert (proposed[0] == proposed[1]).all()
        assert (proposed[0] == proposed[2]).all()


def _record(learner, before, step, after, pay):
    from evenhand.learn.deep.agent import DecisionRecord

    no = jnp.zeros((), dtype=bool)
    return DecisionRecord(before, (), learner.time, step, after, pay, no, no)


@pytest.mark.system
@pytest.mark.parametrize("proposal", [Visited(4), Replayed(4, 2)], ids=str)
def test_any_memory_can_be_imagined_from_the_past_and_clocks_stay(proposal):
    window = Window(2)
    scheme = anytime(Rawls(), Total(), window)
    _, learners = trained(proposal, OfStatus(window), scheme)
    assert int(learners.replay.stored[0]) > 60
    _, learners = trained(proposal, Product((Full(), Clock(7))))
    items = stored(learners)
    clocks = items.features[:, 6]
    # Each step is stored with its imagined ones right after it: one clock for all of them.
    starts = np.flatnonzero(np.diff(clocks, prepend=-1.0))
    assert len(starts) == 40
    assert (items.following[:, 6] == (clocks + 1) % 7).all()


def test_tables_draw_from_what_they_list():
    shop = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)
    learner = Tabular(Problem(shop, SCHEME), SomeAbove(3))
    runs = learner.train_steps(jax.vmap(learner.start)(jax.random.split(jax.random.key(0), 60)), 1)
    _, carried = learner.table.model.from_rows(learner.table.rows, 0)
    memories = np.asarray(carried.status)
    updated = np.asarray(runs.updates).any(axis=(2, 3))
    assert updated.sum(axis=1).max() == 4  # the real one and three others
    changed = {tuple(row) for row in memories[np.flatnonzero(updated.any(axis=0))].tolist()}
    assert changed == {(float(a), float(b)) for a in range(3) for b in range(3)}
    with pytest.raises(BadParameter, match="tables keep none: use Visited"):
        Tabular(Problem(shop, SCHEME), Replayed())


def test_of_what_is_listed_each_is_as_likely_and_counts_once():
    listed = jnp.array([4, -1, 0, 7])
    context = ProposalContext(jnp.asarray(2), listed, None, None, None)
    rows, exist = SomeAround(6).draw(context, jnp.array([0.1, 0.3, 0.6, 0.99, 0.0, 0.74]))
    assert rows.tolist() == [4, -1, 0, 7, 4, 0]
    assert exist.tolist() == [True, False, True, True, False, False]


def test_a_table_lists_every_offset_but_none():
    near, exist = _EveryOffset(2).near(jnp.array([1.0, 5.0]))
    expected = {(1.0 + a, 5.0 + b) for a in range(3) for b in range(3)} - {(1.0, 5.0)}
    assert {tuple(memory) for memory in near.tolist()} == expected
    assert exist.tolist() == [True] * 8
    assert _EveryOffset(1).near(jnp.zeros(3))[0].shape == (7, 3)
    with pytest.raises(BadParameter, match="one number per stakeholder or group"):
        _EveryOffset(2).near(jnp.zeros((2, 2)))


def test_mistakes_are_named():
    for make in (SomeAbove, SomeAround, Visited, Replayed):
        with pytest.raises(BadParameter, match="whole number from 1"):
            make(0)
    for make in (SomeAbove, SomeAround, Replayed):
        with pytest.raises(BadParameter, match="whole number from 1"):
            make(4, 0)
        assert make(4, 2).describe()
    problem = Problem(SHOP, anytime(Rawls(), Total(), Window(2)), OfStatus(Window(2)))
    for proposal in (SomeAbove(), SomeAround()):
        name = type(proposal).__name__
        with pytest.raises(BadParameter, match=f"{name} imagines .* use Replayed or Visited"):
            DQN(problem=problem, proposal=proposal, encoder=Raw(), network=MLP((4,)))
