"""Tests of learn.tabular.tabular_model."""

from __future__ import annotations

import numpy as np
import pytest

import three_rooms as rooms
from evenhand.envs import Doughnuts
from evenhand.fairness.scheme import anytime
from evenhand.fairness.status import Capped
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import LogNash, Parity
from evenhand.learn.imagined_memories import Around, Everything, NoProposal
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.learn.tabular.tabular_model import (
    TabularModel,
    _each_once,
    build_tabular_model,
    number_rows,
)
from evenhand.memory.memory import Full, Min, OfStatus
from evenhand.problem.problem import Problem
from three_rooms import Goals, Happened, ThreeRooms

# Which rows are imagined from a row, and which rows are alike, by hand.


def test_each_row_is_named_once_and_the_real_one_not_at_all():
    found = np.array([[1, 1, 0], [2, -1, 2], [0, 1, -1], [2, 3, 2]])
    once = [[1, -1, -1], [2, -1, -1], [0, 1, -1], [2, -1, -1]]
    assert _each_once(found).tolist() == once


def test_equal_rows_have_one_number_whatever_they_are_made_of():
    flags, pairs = np.array([True, False, True, True]), np.array([[1, 2], [1, 2], [1, 2], [1, 3]])
    assert number_rows((flags, pairs)).tolist() == [1, 0, 1, 2]
    # What differs by rounding alone is equal: nine digits count.
    assert number_rows(np.array([[0.0], [4e-10], [2e-9]])).tolist() == [0, 0, 1]


def test_a_memory_that_does_not_exist_is_no_row():
    shop = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)
    learner = Tabular(Problem(shop, anytime(Parity(), Total()), Min()), Around(2))
    leads = [
        tuple(map(int, one))
        for one in learner.table.model.from_rows(learner.table.rows, 0)[1].status
    ]
    for row, others in enumerate(learner.imagined[: learner.table.within[4]]):
        first = int(np.argmax(leads[row]))
        for offset, other in zip((-2, -1, 1, 2), others, strict=True):
            lead = leads[row][first] + offset
            if lead < 0:
                assert other == -1
            elif other >= 0:
                assert leads[other] == tuple(lead if i == first else 0 for i in range(2))
    assert (learner.imagined[0] >= 0).tolist() == [False, False, True, True]


# The arrays of a tabular problem: of its first rows, and of an episode of two steps.


def test_the_first_rows_alone():
    whole = TabularModel(
        following=np.array([[[1, 3, 0, 2]]]),
        chance=np.array([[[0.1, 0.2, 0.3, 0.4]]]),
        pay=np.array([[[[1.0, 2.0, 3.0, 4.0]]]]),
        kept=np.array([[[[5.0, 6.0, 7.0, 8.0]]]]),
        seen=np.array([3, 2, 1, 0]),
        **dict.fromkeys(("effects", "noise", "starts", "reachable", "group")),
    )
    two = whole.first(2)
    assert two.following.tolist() == [[[1, 1]]]  # what leads out of them leads to the last
    assert two.chance.tolist() == [[[0.1, 0.2]]]
    assert two.pay.tolist() == [[[[1.0, 2.0]]]]
    assert two.kept.tolist() == [[[[5.0, 6.0]]]]
    assert two.seen.tolist() == [3, 2]
    assert (whole.num_seen, two.num_seen) == (4, 4)


def test_of_two_steps_the_second_is_the_last():
    """Its own rule pays where it leads to the first room, and that step counts as overridden."""
    problem = Problem(ThreeRooms(horizon=2), anytime(LogNash(), Total()), Full())
    model, table = build_tabular_model(problem, NoProposal(), 2)
    assert table.num_states > table.pay.shape[1]  # those that only the end reaches pay nothing
    for part in (model.following, model.chance, model.pay, model.kept, model.seen, model.group):
        assert part.shape[-1] == table.num_states
    world, carried = table.model.from_rows(table.rows, 0)
    for row in range(table.pay.shape[1]):
        room, counts = int(world.room[row]), tuple(map(float, carried.memory[row]))
        for coin in range(2):
            # The second action leads to one room alone.
            effect, after = model.effects[coin, 1], (room + 2) % 3
            for last in range(2):
                step = Happened(last, room, coin, counts, 1, after, 0)
                pay, kept = model.pay[last, effect, 0, row], model.kept[last, effect, 0, row]
                assert pay == pytest.approx(Goals(horizon=2).pay(step), rel=1e-6)
                assert kept == (rooms.override(room, coin, after, bool(last)) is None)


def test_without_overrides_every_step_is_kept():
    shop = Doughnuts(2, 3, 0.8, wasted=None)
    model, _ = build_tabular_model(
        Problem(shop, anytime(LogNash(), Total()), Full()), NoProposal(), 3
    )
    assert model.kept.shape == model.pay.shape
    rows = model.kept.any(axis=(0, 1, 2))
    assert (model.kept[..., rows] == 1.0).all()
    assert rows[0]


def test_a_learner_sees_its_memory_and_not_what_the_scheme_knows():
    shop = Doughnuts(2, 3, 0.8)
    problem = Problem(shop, shop.nash_scheme(), Min())
    model, table = build_tabular_model(problem, NoProposal(), 3)
    memories = table.model.from_rows(table.rows, 0)[1].memory
    alike = {}
    for number, memory in zip(model.seen.tolist(), memories.tolist(), strict=True):
        assert alike.setdefault(number, memory) == memory
    assert len(alike) == len({tuple(memory) for memory in memories.tolist()}) < len(memories)


def test_without_a_horizon_everything_may_be_reached_at_any_time():
    shop = Doughnuts(2, 3, 0.8)
    problem = Problem(shop, anytime(LogNash(), Total(), Capped(2)), OfStatus(Capped(2)))
    model, table = build_tabular_model(problem, Everything(), None)
    assert model.reachable.shape == (1, table.num_states)
    assert model.reachable.all()
    np.testing.assert_array_equal(model.pay[0], model.pay[1])
