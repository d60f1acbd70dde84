"""A status over states and memories as tables: what is reached, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import BadParameter, UnequalLengths
from evenhand.memory.augmented import AugmentedStatus


def tables(states, memories):
    """As many actions as memories, each of which sets the memory; every pair has its own status."""
    update = np.broadcast_to(np.arange(memories)[None, :, None], (memories, memories, states))
    status = np.arange(states * memories, dtype=float).reshape(states, memories, 1)
    return {"initial_state": 0, "initial_memory": 0, "update": update, "status": status}


@pytest.mark.parametrize(("states", "memories"), [(2, 3), (3, 2), (1, 2)])
def test_every_pair_that_is_reached_has_its_status(states, memories):
    memory = AugmentedStatus(**tables(states, memories)).memory()
    assert memory.size == states * memories
    for action in range(memories):
        for state in range(states):
            after = memory.after([f"{action},{state}"])
            assert memory.values[after].tolist() == [state * memories + action]


def test_arrays_are_copied_and_frozen():
    given = tables(2, 3)
    given["update"] = given["update"].copy()
    made = AugmentedStatus(**given)
    given["update"][0], given["status"][0] = 0, 9.0
    assert made.update[0, :, 0].tolist() == [0, 1, 2]
    assert made.status[0].ravel().tolist() == [0.0, 1.0, 2.0]
    for array in (made.update, made.status):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("update", np.zeros((3, 3), dtype=int), "expected whole numbers"),
        ("update", np.zeros((3, 0, 2), dtype=int), "expected whole numbers"),
        ("update", np.zeros((3, 3, 2)), "expected whole numbers"),
        ("status", np.zeros((2, 3)), "with 2 states and 3 memories"),
        ("status", np.zeros((3, 2, 1)), "with 2 states and 3 memories"),
        ("status", np.zeros((2, 3, 1, 1)), "with 2 states and 3 memories"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(part, value, message):
    with pytest.raises(UnequalLengths, match=message):
        AugmentedStatus(**tables(2, 3) | {part: value})


def test_numbers_of_what_there_is_not_are_refused():
    for name, size in (("initial_state", 2), ("initial_memory", 3)):
        for wrong in (-1, size):
            with pytest.raises(BadParameter, match=f"{name} is {wrong}: .* 0 and {size - 1}"):
                AugmentedStatus(**tables(2, 3) | {name: wrong})
        AugmentedStatus(**tables(2, 3) | {name: size - 1})
    for wrong in (-1, 3):
        update = tables(2, 3)["update"].copy()
        update[1, 2, 0] = wrong
        with pytest.raises(BadParameter, match=rf"update\[1, 2, 0\] is {wrong}"):
            AugmentedStatus(**tables(2, 3) | {"update": update})
