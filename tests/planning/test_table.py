"""Tests of planning.table."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import three_rooms as rooms
from evenhand import Decayed, Discounted, LogNash, Total, Window, anytime
from evenhand.envs import Doughnuts
from evenhand.envs.environment import Outcomes
from evenhand.errors import CannotPlan, TooLarge
from evenhand.fairness.trace import Override
from evenhand.planning.model import Model
from evenhand.planning.table import RESOLUTION, RowIndex, bytes_a_state, estimate_states, tabulate
from evenhand.problem.problem import Problem
from three_rooms import ThreeRooms

# Rows keep the number they were given first, however they come.

NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, 1e6, np.inf, np.log(2.0)])
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_a_row_is_found_under_the_number_it_was_given_first(blocks):
    index, known = RowIndex(2), {}
    for block in blocks:
        rows = np.array(block)
        before = index.find(rows)
        expected = [known.get(row, -1) for row in _keys(rows)]
        assert before.tolist() == expected
        numbers = index.number(rows)
        for row, number in zip(_keys(rows), numbers.tolist(), strict=True):
            assert known.setdefault(row, number) == number
        assert len(index) == len(known) == len(index.rows)
        assert sorted(known.values()) == list(range(len(known)))  # none left out, none twice
        assert _keys(index.rows[numbers]) == _keys(rows)
        assert index.find(rows).tolist() == numbers.tolist()


def _keys(rows):
    return [tuple(row) for row in rows.tolist()]


def test_new_rows_come_after_those_that_are_there():
    index = RowIndex(1)
    first = index.number(np.array([[3.0], [1.0], [3.0]]))
    assert first[0] == first[2] != first[1]
    assert set(first.tolist()) == {0, 1}
    later = index.number(np.array([[9.0], [1.0], [5.0]]))
    assert later[1] == first[1]
    assert {later[0], later[2]} == {2, 3}
    assert index.rows[later[0], 0] == 9.0


def test_rows_can_be_numbered_as_they_come():
    rows = np.array([[4.0, 1.0], [0.0, 2.0], [7.0, 7.0]])
    index = RowIndex(2)
    index.number_in_order(rows)
    assert index.find(rows[[2, 0, 1, 0]]).tolist() == [2, 0, 1, 0]
    assert index.find(np.array([[5.0, 5.0]])).tolist() == [-1]
    assert len(index) == 3


def test_numbers_that_differ_by_rounding_are_one():
    index = RowIndex(1)
    index.number(np.array([[1.0]]))
    assert index.find(np.array([[1.0 + RESOLUTION / 4], [1.0 + 2 * RESOLUTION]])).tolist() == [
        *(0, -1),
    ]


class Coarse(RowIndex):
    """All rows have one hash."""

    def hashes(self, rows):
        return np.zeros(len(rows), dtype=np.uint64)


def test_rows_this_close_are_one():
    index = Coarse(2)
    index.number(np.array([[1.0, np.inf]]))
    assert index.find(np.array([[1.0 - 3 * RESOLUTION, np.inf]])).tolist() == [0]
    for far in ([1.0 + 4.5 * RESOLUTION, np.inf], [1.0, 1e9], [-1.0, np.inf]):
        with pytest.raises(CannotPlan, match="same hash"):
            index.find(np.array([far]))
    assert 1e-12 < RESOLUTION < 1e-9  # above the rounding of sums of logarithms, below them


def test_nothing_is_found_where_nothing_is():
    assert RowIndex(2).find(np.zeros((3, 2))).tolist() == [-1, -1, -1]


def test_two_states_with_one_hash_are_noticed():
    index = Coarse(1)
    with pytest.raises(CannotPlan, match="same hash"):
        index.number(np.array([[1.0], [2.0]]))
    index.number(np.array([[1.0]]))
    with pytest.raises(CannotPlan, match="same hash"):
        index.find(np.array([[2.0]]))


# How large a table will be, what it costs, and that it holds just what can be reached.

NASH = anytime(LogNash(), Total())


def reached(steps):
    """The cells of three rooms after so many steps, and how each was come by."""
    here = {(0, (0.0, 0.0))}
    layers = [here]
    for _ in range(steps):
        here = {
            (after, rooms.plus(counts, rooms.received(room, coin, action)))
            for room, counts in here
            for coin, action in itertools.product(range(2), repeat=2)
            for _, after in rooms.moves(room, action)
        }
        layers.append(here)
    return layers


@pytest.mark.parametrize("beyond", [0, 2])
def test_a_table_holds_what_can_be_reached_in_that_order(beyond):
    progress = []
    model = Model(Problem(ThreeRooms(), NASH))
    table = tabulate(model, 3, progress=lambda *done: progress.append(done), beyond=beyond)
    world, scheme_state = table.model.from_rows(table.rows, 0)
    cells = [
        (int(room), tuple(map(float, counts)))
        for room, counts in zip(world.room, scheme_state.status.total, strict=True)
    ]
    layers = reached(3 + beyond)
    for steps, count in enumerate(table.within):
        assert set(cells[:count]) == set().union(*layers[: steps + 1])
    assert len(table.within) == 4 + beyond
    assert progress == [(k + 1, 3) for k in range(3 + beyond)]
    here = np.zeros(table.num_states, dtype=bool)
    here[0] = True
    for time, layer in enumerate(layers[:4]):
        assert {cells[k] for k in np.flatnonzero(here)} == layer
        if time < 3:
            here = table.after(here, time)
    np.testing.assert_array_equal(table.find(table.rows[::-1]), np.arange(table.num_states)[::-1])


def test_a_state_is_found_from_float32_numbers_and_no_other_is():
    problem = Problem(Doughnuts(2, 3, 0.5), anytime(LogNash(), Total(), Decayed(3.0)))
    table = tabulate(Model(problem), 3)
    rough = table.rows.astype(np.float32).astype(float)
    assert (rough != table.rows).any()
    np.testing.assert_array_equal(table.find(rough), np.arange(table.num_states))
    with pytest.raises(CannotPlan, match="cannot reach"):
        table.find(table.rows[-1:] + 0.01)


def scaled(table, factor):
    """The same states, with every number so many times as large."""
    index = RowIndex(table.rows.shape[1])
    index.number_in_order(table.rows * factor)
    return replace(table, rows=table.rows * factor, index=index)


def test_near_is_meant_relative_to_what_is_large_and_as_such_to_what_is_small():
    problem = Problem(Doughnuts(2, 3, 0.5), anytime(LogNash(), Total(), Decayed(3.0)))
    table = tabulate(Model(problem, canonical=False), 3)
    large = scaled(table, 1000.0)
    numbers = np.arange(1, table.num_states)
    assert large.find(large.rows[1:] * (1 + 2e-6)).tolist() == numbers.tolist()
    assert large.find(np.vstack((large.rows[1:2], large.rows[2:3] + 1e-4))).tolist() == [1, 2]
    small = scaled(table, 0.1)
    beside = np.eye(table.rows.shape[1])[-1:]
    assert small.find(small.rows + 8e-6 * beside).tolist() == [0, *numbers.tolist()]
    for far in (small.rows[1:2] + 2e-5 * beside, np.vstack((small.rows, small.rows[:1] + 1.0))):
        with pytest.raises(CannotPlan, match="cannot reach"):
            small.find(far)


def test_states_that_lead_to_no_new_ones_stay_so_until_the_horizon():
    scheme = anytime(LogNash(), Total(), Window(1))  # what was received in the last step
    table = tabulate(Model(Problem(Doughnuts(2, 6, 0.5), scheme), canonical=False), 6)
    assert table.within == [1, *[3] * 6]
    assert table.pay.shape[1] == table.num_states == 3


@dataclass(frozen=True)
class LastStep(ThreeRooms):
    """At the last step either the chances are others, or the rooms that are led to."""

    horizon: int = 2
    chances: bool = True

    def outcomes(self, world, noise, action):
        probability, worlds = super().outcomes(world, noise, action)
        last = world.time == self.horizon - 1
        if self.chances:
            return Outcomes(jnp.where(last, probability[::-1], probability), worlds)
        return Outcomes(probability, worlds._replace(room=jnp.where(last, 0, worlds.room)))


@dataclass(frozen=True)
class SecondStep(ThreeRooms):
    """The second step of three is paid nothing."""

    def override(self, state, action, world):
        applies, value = super().override(state, action, world)
        second = state.world.time == 1
        return Override(applies | second, jnp.where(second, 0.0, value))


def test_the_step_number_is_kept_where_more_than_the_last_pay_depends_on_it():
    for chances in (True, False):
        assert tabulate(Model(Problem(LastStep(chances=chances), NASH)), 2).model.keep_time
    assert tabulate(Model(Problem(SecondStep(), NASH)), 3).model.keep_time
    # The last step of the rooms has a pay of its own, and that is all.
    assert not tabulate(Model(Problem(ThreeRooms(), NASH)), 3).model.keep_time


def test_growth_is_read_off_the_last_half():
    # Pairs of counts with a sum of at most t: (t + 1)(t + 2) / 2, a power of 2 in the long run.
    within = [(t + 1) * (t + 2) // 2 for t in range(41)]
    assert estimate_states(within, 200) == pytest.approx(201 * 202 / 2, rel=0.05)
    cubes = [(t + 1) ** 3 for t in range(13)]
    assert estimate_states(cubes, 24) == pytest.approx(25.0**3)
    # What is known is not guessed: few steps, the end, no growth, no horizon.
    assert estimate_states(cubes[:6], 24) == 6**3
    assert estimate_states(cubes, 12) == estimate_states(cubes, 11) == 13**3
    assert estimate_states([1, 2, 4, 8, 16, 16, 16, 16], 100) == 16
    assert estimate_states(cubes, None) == 13**3


def test_the_bytes_of_a_state():
    model = Model(Problem(ThreeRooms(), NASH))
    columns = model.start.shape[1]  # room, step number, two counts, whether assessed
    # 4 effects of 2 outcomes (12 bytes each) and two pays, a row twice, its hash and its number.
    expected = 4 * (12 * 2 + 16) + 16 * columns + 16
    assert bytes_a_state(model, 30) == expected + 80
    assert bytes_a_state(model, None) == expected + 16


def test_what_has_no_room_is_refused_as_soon_as_that_is_known():
    problem = Problem(Doughnuts(3, 40, (0.2, 0.5, 0.8)), NASH)
    model = Model(problem)
    each = bytes_a_state(model, 40)
    steps = []
    with pytest.raises(TooLarge, match="about") as refused:
        tabulate(model, 40, memory_limit=300 * each, progress=lambda *done: steps.append(done))
    assert len(steps) < 12
    assert "GB" in str(refused.value)
    small = Model(Problem(Doughnuts(2, 8, (0.2, 0.8)), NASH))
    states = 9 * 10 // 2
    assert tabulate(small, 8, memory_limit=states * bytes_a_state(small, 8)).num_states == states
    with pytest.raises(TooLarge):
        tabulate(small, 8, memory_limit=(states - 1) * bytes_a_state(small, 8))


def test_states_without_end_are_refused_without_a_horizon(monkeypatch):
    monkeypatch.setattr("evenhand.planning.table.MAX_CLOSED", 50)
    model = Model(Problem(ThreeRooms(), anytime(LogNash(), Discounted(0.9))))
    with pytest.raises(TooLarge, match="no end of new states"):
        tabulate(model, None)
