"""Tests of learn.imagined_memories."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import (
    Clock,
    Doughnuts,
    Full,
    LogNash,
    Min,
    Parity,
    Problem,
    Product,
    Rawls,
    Total,
    anytime,
)
from evenhand.errors import BadParameter, MemoryDoesNotPay
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import Capped, EnvyOfBest, Modulo, Returns, WaitingTime, Window
from evenhand.fairness.trace import Step
from evenhand.learn import imagined_memories as listed_proposals
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP
from evenhand.learn.imagined_memories import (
    PROPOSALS,
    Above,
    Around,
    Everything,
    NoProposal,
    Past,
    PastStep,
    Proposal,
    ProposalContext,
    ReachableNow,
    Replayed,
    SomeAbove,
    SomeAround,
    Visited,
    _EveryOffset,
    imagine_memories,
)
from evenhand.learn.schedules import Constant, seed_keys, start_learners
from evenhand.learn.tabular.algorithm_1 import Algorithm1, train_all
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.learn.tabular.tabular_model import build_tabular_model, imagined_rows
from evenhand.memory.memory import GroupDifference, LastWinner, OfStatus, Reset

# What is drawn at a step: how many, which, from what, and never by the outcome.

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


# The appendix's proposals by hand, and that they imagine nothing that cannot be.

SHOP_NEARBY = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)


def test_above_2_is_each_component_one_or_two_more_in_all_combinations():
    memories, exist = Above(2).near(jnp.array([3.0, 0.0]))
    assert sorted(map(tuple, memories.tolist())) == [(4, 1), (4, 2), (5, 1), (5, 2)]
    assert exist.all()
    assert len(Above(2).near(jnp.zeros(5))[0]) == 32  # the appendix's number
    assert len(Above(2).near(jnp.zeros(3))[0]) == 8


def test_around_5_is_the_difference_within_5_without_itself_and_without_those_below_0():
    memories, exist = Around(5).near(jnp.array([0.0, 3.0]))
    kept = sorted(tuple(m) for m, e in zip(memories.tolist(), exist, strict=True) if e)
    assert kept == [(0, x) for x in (0, 1, 2, 4, 5, 6, 7, 8)]
    memories, exist = Around(5).near(jnp.array([9.0, 0.0]))
    assert exist.sum() == 10
    assert memories[:, 1].tolist() == [0] * 10
    memories, exist = Around(5).near(jnp.array([0.0, 0.0]))
    assert [tuple(m) for m, e in zip(memories.tolist(), exist, strict=True) if e] == [
        *((x, 0) for x in (1, 2, 3, 4, 5))
    ]


def test_how_far_a_table_must_reach_for_what_is_imagined():
    """The steps to the furthest imagined memory, one stakeholder at a time, and one past it."""
    assert Above(2).steps_ahead(3) == SomeAbove(4, 2).steps_ahead(3) == 2 * 3 + 1
    assert Around(5).steps_ahead(2) == SomeAround(4, 5).steps_ahead(2) == 5 + 1
    assert Visited(3).steps_ahead(2) == Everything().steps_ahead(2) == 0


def test_what_proposals_need_at_each_step():
    needs = {
        Above(2): (0, 0),
        Around(5): (0, 0),
        SomeAbove(4): (4, 0),
        SomeAround(4): (4, 0),
        Visited(3): (3, 3),
        Replayed(4, 3): (4, 12),  # steps of the past, one after the other, for each
        Everything(): (0, 0),
    }
    for proposal, (dice, recalled) in needs.items():
        assert proposal.imagines
        assert (proposal.num_dice, proposal.num_recalled) == (dice, recalled)
    assert not NoProposal().imagines
    nothing, exist = NoProposal().near((jnp.zeros(3), jnp.zeros(())))
    assert ([part.shape for part in nothing], exist.shape) == ([(0, 3), (0,)], (0,))


def imagined(proposal, memory, real):
    """The imagined memories that exist, as sorted tuples of what may be imagined otherwise."""
    real = jax.tree.map(jnp.asarray, real)
    none = jnp.zeros(0, dtype=bool)
    found, exist = imagine_memories(proposal, memory, jax.random.key(0), real, None, none)
    parts = np.asarray(jax.vmap(memory.imaginable)(found))
    return sorted(tuple(part) for part, there in zip(parts.tolist(), exist, strict=True) if there)


def test_leads_are_imagined_over_the_one_with_least():
    # Above ⟨3, 0⟩ are ⟨4, 1⟩, ⟨4, 2⟩, ⟨5, 1⟩ and ⟨5, 2⟩: leads of 3, 2, 4, 3; 3 is real.
    assert imagined(Above(2), Min(), np.array([3.0, 0.0])) == [(2, 0), (4, 0)]
    assert imagined(Above(1), Min(), np.array([3.0, 0.0])) == []
    two = GroupDifference(Groups.of({"A": [0], "B": [1]}))
    assert imagined(Above(2), two, np.array([0.0, 3.0])) == [(0, 2), (0, 4)]


def test_nobody_waits_less_than_no_time_and_caps_hold():
    waits = OfStatus(WaitingTime())
    assert imagined(Above(2), waits, np.array([-3.0, 0.0])) == [(-2, 0), (-2, 0), (-1, 0), (-1, 0)]
    assert imagined(Above(2), waits, np.array([0.0, 0.0])) == []
    capped = OfStatus(Capped(2))
    assert set(imagined(Above(2), capped, capped.init(2))) == {(1, 1), (1, 2), (2, 1), (2, 2)}
    full = capped.init(2)._replace(total=np.array([2.0, 1.0]))
    assert set(imagined(Above(2), capped, full)) == {(2, 2)}
    assert set(imagined(Above(2), OfStatus(Modulo(2)), full)) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_what_a_status_carries_besides_totals_is_not_imagined():
    discounted = OfStatus(Returns(0.5))
    real = discounted.init(2)._replace(weight=np.asarray(0.25))
    assert imagined(Above(1), discounted, real) == [(1, 1)]
    found, _ = imagine_memories(
        Above(1),
        discounted,
        jax.random.key(0),
        jax.tree.map(jnp.asarray, real),
        None,
        jnp.zeros(0, dtype=bool),
    )
    assert found.weight.tolist() == [0.25]


@pytest.mark.parametrize("status", [EnvyOfBest(), WaitingTime(), Capped(3)], ids=str)
def test_tables_and_networks_imagine_what_statuses_of_totals_carry(status):
    problem = Problem(SHOP_NEARBY, anytime(Rawls(), Total(), status), OfStatus(status))
    DQN(problem=problem, proposal=Above(2), encoder=Raw(), network=MLP((4,)))
    assert (Tabular(problem, Above(2)).imagined >= 0).any() or status == WaitingTime()


def test_a_memory_of_another_form_is_refused_with_one_that_takes_it():
    window = Window(2)
    problem = Problem(SHOP_NEARBY, anytime(Rawls(), Total(), window), OfStatus(window))
    for make in (
        lambda: DQN(problem=problem, proposal=Above(2), encoder=Raw(), network=MLP((4,))),
        lambda: Tabular(problem, Around(2)),
    ):
        with pytest.raises(BadParameter, match="has another form: use Replayed or Visited"):
            make()


def test_a_table_imagines_each_row_once_and_never_the_real_one():
    learner = Tabular(Problem(SHOP_NEARBY, anytime(Parity(), Total()), Min()), Above(2))
    rows = learner.imagined
    assert (rows >= 0).any()
    for row, others in enumerate(rows):
        others = others[others >= 0]
        assert row not in others
        assert len(set(others.tolist())) == len(others)


def test_at_most_4096_memories_are_imagined_at_a_step():
    assert len(Above(2).near(jnp.zeros(12))[0]) == len(Around(2048).near(jnp.zeros(2))[0]) == 4096
    for proposal, size in ((Above(2), 13), (Around(2049), 2)):
        with pytest.raises(BadParameter, match="at most 4,096 are imagined"):
            proposal.near(jnp.zeros(size))


@pytest.mark.parametrize(
    ("proposal", "number"),
    [
        (Above(2), "2 to the power of 30.*SomeAbove"),
        (Around(10**9), "2,000,000,000 memories.*SomeAround"),
    ],
)
def test_more_than_can_be_imagined_is_refused_before_it_is_listed(proposal, number):
    with pytest.raises(BadParameter, match=f"imagines {number}"):
        proposal.near(jnp.zeros(30))


# Which memories are imagined: RULES.md, and never after the outcome.

SHOP_PROPOSAL = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)
SCHEME_PROPOSAL = SHOP_PROPOSAL.nash_scheme()


def test_a_proposal_is_not_given_the_outcome():
    given = {
        "near": ["memory"],
        "imagine": ["key", "past"],
        "rows": ["memories"],
        "draw": ["context", "dice"],
    }
    for kind in (Proposal, *PROPOSALS.classes.values()):
        for name, parameters in given.items():
            assert list(inspect.signature(getattr(kind, name)).parameters) == ["self", *parameters]
    # All of it from before the action is taken, as is the state that `propose` makes it from.
    assert ProposalContext._fields == ("row", "listed", "alike", "reachable", "visits")
    assert Past._fields == ("memory", "visited", "steps", "exist", "update")
    assert list(inspect.signature(Algorithm1.propose).parameters) == [
        *("self", "tables", "learner", "dice")
    ]


def memories_of(table, rows):
    _, scheme_state = table.model.from_rows(table.rows[rows], 0)
    return sorted(map(tuple, np.asarray(scheme_state.status).tolist()))


def test_imagined_rows_are_those_of_the_table_with_the_proposed_memory():
    problem = Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL)
    _, table = build_tabular_model(problem, Above(2), 4)
    above = imagined_rows(table, Above(2))
    start = above[0][above[0] >= 0]
    assert memories_of(table, start) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    # Imagined from any memory within the horizon, even where itself it is beyond it.
    within = above[: table.within[4]]
    assert (within >= 0).all()
    _, table = build_tabular_model(problem, Everything(), 4)
    everything = imagined_rows(table, Everything())
    # 15 pairs of counts have a sum of at most 4; what follows the 5 with a sum of 4 is unknown.
    assert everything.shape == (15, 14)
    for row, others in enumerate(everything):
        others = others[others >= 0]
        assert row not in others
        assert len(set(others.tolist())) == (9 if row < 10 else 10)
    assert imagined_rows(table, NoProposal()).shape == (15, 0)


def test_proposals_never_move_a_clock():
    problem = Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL, Product((Full(), Clock(5))))
    _, table = build_tabular_model(problem, Above(2), 4)
    _, scheme_state = table.model.from_rows(table.rows, 0)
    clock = scheme_state.status[1]
    for proposal in (Above(2), Everything()):
        others = imagined_rows(table, proposal)
        for row, imagined in enumerate(others):
            assert (clock[imagined[imagined >= 0]] == clock[row]).all()
        assert (others >= 0).any()


def test_what_can_be_reached_by_now():
    problem = Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL)
    model, _ = build_tabular_model(problem, Everything(), 4)
    # With waste, every pair with a sum of at most t can be reached at time t.
    assert model.reachable.sum(axis=1).tolist() == [1, 3, 6, 10]


@pytest.mark.parametrize(
    ("memory", "scheme"),
    [
        (Min(), SCHEME_PROPOSAL),
        (Reset(), SCHEME_PROPOSAL),
        (LastWinner(), anytime(Parity(), Total())),
    ],
)
def test_a_proposal_on_a_memory_that_does_not_determine_the_pay_is_refused(memory, scheme):
    with pytest.raises(MemoryDoesNotPay):
        Tabular(Problem(SHOP_PROPOSAL, scheme, memory), Above(2))
    Tabular(Problem(SHOP_PROPOSAL, scheme, memory))  # without imagining it is allowed
    Tabular(Problem(SHOP_PROPOSAL, anytime(Parity(), Total()), Min()), Above(2))


@dataclass(frozen=True)
class OneMore(Proposal):
    """A proposal as a user writes it: from the memory alone."""

    def near(self, memory):
        return memory + jnp.eye(memory.shape[0]), jnp.ones(memory.shape[0], dtype=bool)

    def steps_ahead(self, num_stakeholders):
        return 2

    def describe(self):
        return "one stakeholder to have had one more"


@dataclass(frozen=True)
class AnyOneReached(Proposal):
    """Another, for tables: one row of those that can be reached by now, drawn at every step."""

    @property
    def num_dice(self):
        return 1

    def rows(self, memories):
        return np.zeros((memories.num_rows, 0), dtype=np.int32)

    def draw(self, context, dice):
        there = jnp.cumsum(context.alike & context.reachable)
        row = jnp.searchsorted(there, dice * there[-1], side="right").astype(jnp.int32)
        return row, row != context.row

    def describe(self):
        return "one memory that can be reached by now"


def updated_from_one_step(proposal):
    """The memories whose values a first step from (0, 0) changes, with an outcome that pays."""
    learner = Tabular(Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL), proposal, rate=Constant(0.5))
    runs = learner.train_steps(jax.vmap(learner.start)(jax.random.split(jax.random.key(0), 40)), 1)
    changed = np.flatnonzero(np.asarray(runs.updates).any(axis=(0, 2, 3)))
    return memories_of(learner.table, changed)


@pytest.mark.system
def test_a_proposal_of_ones_own_works_on_tables_and_networks():
    assert updated_from_one_step(OneMore()) == [(0, 0), (0, 1), (1, 0)]
    assert updated_from_one_step(AnyOneReached()) == [(0, 0)]  # nothing else is reached at once
    problem = Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL)
    agent = DQN(problem=problem, proposal=OneMore(), encoder=Raw(), network=MLP((4,)), capacity=60)
    learners = agent.train_steps(start_learners(agent, seed_keys([0])), 3)
    assert learners.replay.stored.tolist() == [9]  # each step really, and with either one more
    features = np.asarray(learners.replay.items.features)[0, :3, :4]
    assert {tuple(row) for row in features[1:] - features[0]} == {(0, 1, 0, 0), (0, 0, 0, 1)}
    with pytest.raises(BadParameter, match="AnyOneReached needs a list of all memories"):
        DQN(problem=problem, proposal=AnyOneReached(), encoder=Raw(), network=MLP((4,)))
    nested = Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL, Product((Full(), Full())))
    with pytest.raises(BadParameter, match="one number per stakeholder"):
        Above(2).near(nested.memory.init(2))


@dataclass
class Changing(Proposal):
    """A proposal that is not frozen, so that it has no hash."""

    def describe(self):
        return "something else each time"


def test_what_cannot_be_hashed_is_refused_when_the_agent_is_made():
    problem = Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL)
    with pytest.raises(BadParameter, match=r"proposal \(Changing\) cannot be hashed"):
        Tabular(problem, Changing())
    with pytest.raises(BadParameter, match=r"proposal \(Changing\) cannot be hashed"):
        DQN(problem=problem, proposal=Changing(), encoder=Raw(), network=MLP((4,)))


def test_equal_agents_share_what_was_compiled():
    def trained(seed):
        agent = Tabular(
            Problem(SHOP_PROPOSAL, SHOP_PROPOSAL.nash_scheme()), OneMore(), discount=0.875
        )
        learners = jax.vmap(agent.start)(jax.random.split(jax.random.key(seed), 2))
        return agent, agent.train_steps(learners, 7)

    first, _ = trained(0)
    compiled = train_all._cache_size()
    second, _ = trained(1)
    assert (first == second, hash(first) == hash(second)) == (True, True)
    assert train_all._cache_size() == compiled


def test_rows_below_0_do_not_exist_and_row_0_does():
    listed, reachable = jnp.array([2, -1, 0, 1]), jnp.array([True, False, True])
    context = ProposalContext(jnp.asarray(1), listed, None, reachable, None)
    for proposal, exist in (
        (Everything(), [True, False, True, True]),
        (ReachableNow(), [True, False, True, False]),
    ):
        found = proposal.draw(context, jnp.zeros(0))
        assert [part.tolist() for part in found] == [listed.tolist(), exist]


def test_all_others_are_those_of_the_same_group(monkeypatch):
    rows = SimpleNamespace(groups=np.array([0, 1, 0, 0]), num_rows=4)
    others = [[2, 3], [-1, -1], [0, 3], [0, 2]]
    assert Everything().rows(rows).tolist() == ReachableNow().rows(rows).tolist() == others
    monkeypatch.setattr(listed_proposals, "MAX_IMAGINED", 12)  # three in a group, four rows
    assert Everything().rows(rows).tolist() == others
    monkeypatch.setattr(listed_proposals, "MAX_IMAGINED", 11)
    with pytest.raises(BadParameter, match="every one of 4 states would imagine up to 3 others"):
        Everything().rows(rows)
    for proposal in (NoProposal(), Visited()):
        assert proposal.rows(rows).shape == (4, 0)


def test_mistakes_are_named_in_proposal():
    for reach in (0, "2", "x", 1.5, float("nan")):
        with pytest.raises(BadParameter) as refused:
            Above(reach)
        assert str(refused.value) == f"reach is {reach!r}: it must be a whole number from 1."
    with pytest.raises(BadParameter, match="number is 0: it must be a whole number from 1"):
        Visited(0)
    with pytest.raises(BadParameter, match="discount"):
        Tabular(Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL), discount=1.5)
    with pytest.raises(BadParameter, match="shaping needs"):
        Tabular(Problem(SHOP_PROPOSAL, SCHEME_PROPOSAL), discount=1.0, shaping=True)
    scheme = anytime(LogNash())
    with pytest.raises(BadParameter, match="sums of it"):
        Tabular(Problem(SHOP_PROPOSAL, scheme, augment_with_score=True), shaping=True)
    assert "more" in Above(2).describe()
    assert {p.describe() for p in (Around(), Everything(), ReachableNow(), Visited(), NoProposal())}
