"""Which memories are imagined: RULES.md, and never after the outcome."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import LogNash, Parity, Total, anytime
from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, MemoryDoesNotPay
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP
from evenhand.learn.proposals import (
    PROPOSALS,
    Above,
    Around,
    Everything,
    NoProposal,
    Past,
    Proposal,
    ProposalContext,
    ReachableNow,
    Visited,
)
from evenhand.learn.proposals import listed as listed_proposals
from evenhand.learn.schedules import Constant
from evenhand.learn.seeds import seed_keys, start_learners
from evenhand.learn.tabular.algorithm_1 import Algorithm1, train_all
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.learn.tabular.tabular_model import build_tabular_model, imagined_rows
from evenhand.memory.memory import Clock, Full, LastWinner, Min, Product, Reset
from evenhand.problem.problem import Problem

SHOP = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)
SCHEME = SHOP.nash_scheme()


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
    problem = Problem(SHOP, SCHEME)
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
    problem = Problem(SHOP, SCHEME, Product((Full(), Clock(5))))
    _, table = build_tabular_model(problem, Above(2), 4)
    _, scheme_state = table.model.from_rows(table.rows, 0)
    clock = scheme_state.status[1]
    for proposal in (Above(2), Everything()):
        others = imagined_rows(table, proposal)
        for row, imagined in enumerate(others):
            assert (clock[imagined[imagined >= 0]] == clock[row]).all()
        assert (others >= 0).any()


def test_what_can_be_reached_by_now():
    problem = Problem(SHOP, SCHEME)
    model, _ = build_tabular_model(problem, Everything(), 4)
    # With waste, every pair with a sum of at most t can be reached at time t.
    assert model.reachable.sum(axis=1).tolist() == [1, 3, 6, 10]


@pytest.mark.parametrize(
    ("memory", "scheme"),
    [(Min(), SCHEME), (Reset(), SCHEME), (LastWinner(), anytime(Parity(), Total()))],
)
def test_a_proposal_on_a_memory_that_does_not_determine_the_pay_is_refused(memory, scheme):
    with pytest.raises(MemoryDoesNotPay):
        Tabular(Problem(SHOP, scheme, memory), Above(2))
    Tabular(Problem(SHOP, scheme, memory))  # without imagining it is allowed
    Tabular(Problem(SHOP, anytime(Parity(), Total()), Min()), Above(2))


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
    learner = Tabular(Problem(SHOP, SCHEME), proposal, rate=Constant(0.5))
    runs = learner.train_steps(jax.vmap(learner.start)(jax.random.split(jax.random.key(0), 40)), 1)
    changed = np.flatnonzero(np.asarray(runs.updates).any(axis=(0, 2, 3)))
    return memories_of(learner.table, changed)


@pytest.mark.system
def test_a_proposal_of_ones_own_works_on_tables_and_networks():
    assert updated_from_one_step(OneMore()) == [(0, 0), (0, 1), (1, 0)]
    assert updated_from_one_step(AnyOneReached()) == [(0, 0)]  # nothing else is reached at once
    problem = Problem(SHOP, SCHEME)
    agent = DQN(problem=problem, proposal=OneMore(), encoder=Raw(), network=MLP((4,)), capacity=60)
    learners = agent.train_steps(start_learners(agent, seed_keys([0])), 3)
    assert learners.replay.stored.tolist() == [9]  # each step really, and with either one more
    features = np.asarray(learners.replay.items.features)[0, :3, :4]
    assert {tuple(row) for row in features[1:] - features[0]} == {(0, 1, 0, 0), (0, 0, 0, 1)}
    with pytest.raises(BadParameter, match="AnyOneReached needs a list of all memories"):
        DQN(problem=problem, proposal=AnyOneReached(), encoder=Raw(), network=MLP((4,)))
    nested = Problem(SHOP, SCHEME, Product((Full(), Full())))
    with pytest.raises(BadParameter, match="one number per stakeholder"):
        Above(2).near(nested.memory.init(2))


@dataclass
class Changing(Proposal):
    """A proposal that is not frozen, so that it has no hash."""

    def describe(self):
        return "something else each time"


def test_what_cannot_be_hashed_is_refused_when_the_agent_is_made():
    problem = Problem(SHOP, SCHEME)
    with pytest.raises(BadParameter, match=r"proposal \(Changing\) cannot be hashed"):
        Tabular(problem, Changing())
    with pytest.raises(BadParameter, match=r"proposal \(Changing\) cannot be hashed"):
        DQN(problem=problem, proposal=Changing(), encoder=Raw(), network=MLP((4,)))


def test_equal_agents_share_what_was_compiled():
    def trained(seed):
        agent = Tabular(Problem(SHOP, SHOP.nash_scheme()), OneMore(), discount=0.875)
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


def test_mistakes_are_named():
    for reach in (0, "2", "x", 1.5, float("nan")):
        with pytest.raises(BadParameter) as refused:
            Above(reach)
        assert str(refused.value) == f"reach is {reach!r}: it must be a whole number from 1."
    with pytest.raises(BadParameter, match="number is 0: it must be a whole number from 1"):
        Visited(0)
    with pytest.raises(BadParameter, match="discount"):
        Tabular(Problem(SHOP, SCHEME), discount=1.5)
    with pytest.raises(BadParameter, match="shaping needs"):
        Tabular(Problem(SHOP, SCHEME), discount=1.0, shaping=True)
    scheme = anytime(LogNash())
    with pytest.raises(BadParameter, match="sums of it"):
        Tabular(Problem(SHOP, scheme, augment_with_score=True), shaping=True)
    assert "more" in Above(2).describe()
    assert {p.describe() for p in (Around(), Everything(), ReachableNow(), Visited(), NoProposal())}
