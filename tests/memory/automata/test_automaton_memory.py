"""A memory as a table: what it is made of cannot be changed, and what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import BadParameter, UnequalLengths
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.automaton_memory import TableMemory, TableStatus

EVENTS = Events.of_rewards([[0], [1]])


def memory(table=((0, 1), (1, 0)), initial=0, values=None, **more):
    return TableMemory(
        initial=initial, table=table, events=EVENTS, values=values, num_stakeholders=1, **more
    )


def test_arrays_are_copied_and_frozen():
    table, values = np.array([[0, 1], [1, 0]]), np.array([[-3.0], [2.0]])
    made = memory(table, values=values)
    table[0, 0], values[0, 0] = 1, 5.0
    assert made.table.tolist() == [[0, 1], [1, 0]]
    assert made.values.tolist() == [[-3.0], [2.0]]
    for array in (made.table, made.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    assert TableStatus(made).magnitude(1.0, 1) == 3.0
    assert TableStatus(made).value_regular().regular is True


@pytest.mark.parametrize(
    "table", [[0, 1], np.zeros((0, 2), dtype=int), np.zeros((2, 0), dtype=int), [[0.0, 1.0]] * 2]
)
def test_a_table_is_of_whole_numbers_by_memory_and_event(table):
    with pytest.raises(UnequalLengths, match="expected whole"):
        memory(table)


def test_a_table_leads_to_memories_that_there_are():
    with pytest.raises(BadParameter, match="from memory state 0 event 1 leads to -1"):
        memory([[0, -1], [2, 0]])
    with pytest.raises(BadParameter, match="from memory state 1 event 0 leads to 2"):
        memory([[0, 1], [2, 3]])
    for initial in (-1, 2):
        with pytest.raises(BadParameter, match=f"initial memory state is {initial}"):
            memory(initial=initial)
    assert memory(initial=1).init(1) == 1


@pytest.mark.parametrize("values", [[0.0, 1.0], [[0.0]], np.zeros((2, 1, 1))])
def test_values_are_a_vector_for_each_memory(values):
    with pytest.raises(UnequalLengths, match="one status vector for each of the 2"):
        memory(values=values)
