"""The appendix's proposals by hand, and that they imagine nothing that cannot be."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import Doughnuts, Parity, Problem, Rawls, Total, anytime
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import Capped, EnvyOfBest, Modulo, Returns, WaitingTime, Window
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP
from evenhand.learn.proposals import (
    Above,
    Around,
    Everything,
    NoProposal,
    Replayed,
    SomeAbove,
    SomeAround,
    Visited,
)
from evenhand.learn.proposals.imagined_memories import imagine_memories
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import GroupDifference, Min, OfStatus

SHOP = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)


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
    problem = Problem(SHOP, anytime(Rawls(), Total(), status), OfStatus(status))
    DQN(problem=problem, proposal=Above(2), encoder=Raw(), network=MLP((4,)))
    assert (Tabular(problem, Above(2)).imagined >= 0).any() or status == WaitingTime()


def test_a_memory_of_another_form_is_refused_with_one_that_takes_it():
    window = Window(2)
    problem = Problem(SHOP, anytime(Rawls(), Total(), window), OfStatus(window))
    for make in (
        lambda: DQN(problem=problem, proposal=Above(2), encoder=Raw(), network=MLP((4,))),
        lambda: Tabular(problem, Around(2)),
    ):
        with pytest.raises(BadParameter, match="has another form: use Replayed or Visited"):
            make()


def test_a_table_imagines_each_row_once_and_never_the_real_one():
    learner = Tabular(Problem(SHOP, anytime(Parity(), Total()), Min()), Above(2))
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
