"""How large a table will be, what it costs, and that it holds just what can be reached."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import three_rooms as rooms
from evenhand import Decayed, Discounted, LogNash, Total, anytime
from evenhand.envs import Doughnuts
from evenhand.errors import CannotPlan, TooLarge
from evenhand.planning.model import Model
from evenhand.planning.state_table import bytes_a_state, estimate_states, tabulate
from evenhand.problem.problem import Problem
from three_rooms import ThreeRooms

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
    monkeypatch.setattr("evenhand.planning.state_table.MAX_CLOSED", 50)
    model = Model(Problem(ThreeRooms(), anytime(LogNash(), Discounted(0.9))))
    with pytest.raises(TooLarge, match="no end of new states"):
        tabulate(model, None)
