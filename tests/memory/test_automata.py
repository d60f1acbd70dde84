"""Tests of memory.automata."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import BadParameter, DoesNotClose, UnequalLengths, UnknownEvent
from evenhand.fairness.status import Returns
from evenhand.fairness.trace import Step
from evenhand.memory.automata import (
    Events,
    TableMemory,
    TableStatus,
    reach,
    state_key,
    table_memory,
)
from evenhand.memory.languages import value_regular

# Labels and the steps that have them: what is taken, and what is refused.


def by_action(*labels, **more):
    return Events(labels=labels, label=lambda step: step.action, **more)


def at(action):
    return Step(action, np.zeros(1))


def test_lists_are_kept_as_tuples():
    labels, steps = ["a", "b"], [at("a"), at("b")]
    events = Events(labels=labels, label=lambda step: step.action, steps=steps)
    labels.append("c")
    assert events.labels == ("a", "b")
    assert events.steps == tuple(steps)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("a", ""), "the label '' is not a word"),
        (("a", 1), "the label 1 is not a word"),
        (("b", "a", "a"), "the label 'a' is given twice"),
    ],
)
def test_labels_are_words_each_given_once(labels, message):
    with pytest.raises(BadParameter, match=message):
        by_action(*labels)


def test_many_steps_are_labelled_at_once():
    events = by_action("a", "b", "c")
    for indices in ([0, 2, 1], [0, 0], [2], []):
        found = events.index(at(np.array(indices, dtype=int)))
        assert found.tolist() == indices
    for indices in ([-1, 1], [0, 3], [3, 4], [-2, -1]):
        with pytest.raises(UnknownEvent, match="returned index"):
            events.index(at(np.array(indices)))


def test_a_name_that_is_like_no_other_is_answered_with_all_of_them():
    with pytest.raises(UnknownEvent, match="there is no event 'x': there are first, second"):
        by_action("first", "second").position("x")


def test_rewards_are_told_apart_by_all_their_numbers():
    events = Events.of_rewards([[1, 0], [1, 2], [0, 2]], labels=("x", "y", "z"))
    assert events.labels == ("x", "y", "z")
    assert [int(events.index(step)) for step in events.require_steps()] == [0, 1, 2]
    assert events.num_stakeholders == 2


# A memory as a table: what it is made of cannot be changed, and what does not fit is refused.

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


# What a status carries, as far as a horizon goes.


def test_within_a_horizon_a_count_goes_so_far():
    for horizon in (0, 1, 3):
        memory = table_memory(Returns(), EVENTS, 1, horizon=horizon)
        assert (memory.size, memory.horizon) == (horizon + 1, horizon)
        assert memory.values.ravel().tolist() == list(range(horizon + 1))
    with pytest.raises(BadParameter, match="horizon is -1"):
        table_memory(Returns(), EVENTS, 1, horizon=-1)
    with pytest.raises(BadParameter, match="for 1 stakeholders, but num_stakeholders is 2"):
        table_memory(Returns(), EVENTS, 2, horizon=1)


def test_a_function_is_examined_on_six_events_unless_told_otherwise():
    total = lambda trace: [trace.rewards.sum()]  # noqa: E731
    found = value_regular(total, events=EVENTS)
    assert found.evidence.max_length == 6
    assert found.evidence.distinct_values == (1, 2, 3, 4, 5, 6, 7)


# What is reached from a start: in the order of discovery, by shortest strings, up to a limit.


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
