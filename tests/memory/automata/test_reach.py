"""What is reached from a start: in the order of discovery, by shortest strings, up to a limit."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import DoesNotClose
from evenhand.memory.automata.reach import reach, state_key


def on_a_ring(size: int, **limits):
    """Event 0 goes one on, event 1 two."""
    return reach(
        0, lambda s, event: (s + 1 + event) % size, 2, what="a ring", key=lambda s: s, **limits
    )


def test_by_hand():
    reached = on_a_ring(5)
    assert reached.states == (0, 1, 2, 3, 4)
    assert reached.table.tolist() == [[1, 2], [2, 3], [3, 4], [4, 0], [0, 1]]
    assert [reached.string_to(state) for state in range(5)] == [(), (0,), (1,), (0, 1), (1, 1)]


def test_what_is_first_reached_at_the_horizon_leads_to_itself():
    reached = on_a_ring(50, horizon=2)
    assert reached.states == (0, 1, 2, 3, 4)
    assert reached.table.tolist() == [[1, 2], [2, 3], [3, 4], [3, 3], [4, 4]]
    assert on_a_ring(50, horizon=0).table.tolist() == [[0, 0]]


def test_the_limit_is_how_many_states_there_may_be():
    assert len(on_a_ring(5, max_states=5).states) == 5
    with pytest.raises(DoesNotClose, match=r"more than 4 states.* after 2 steps") as caught:
        on_a_ring(5, max_states=4)
    assert caught.value.size == 4


def test_equal_arrays_have_equal_keys_whatever_holds_them():
    assert state_key(np.array([1, 0])) == state_key(np.array([1.0, -0.0]))
    assert state_key((np.array(1), [2])) == state_key((1.0, (np.array(2.0),)))
    assert state_key({"b": 1, "a": 2}) == state_key({"a": 2.0, "b": 1.0})
    assert state_key(np.zeros(2)) != state_key(np.zeros((2, 1)))
    assert state_key(np.array([1, 0])) != state_key(np.array([0, 1]))
    assert state_key({"a": 1, "b": 2}) != state_key({"a": 2, "b": 1})
    assert state_key("word") == "word"
