"""Theorem 2: what a finite memory makes Markovian is value-regular, and the round trip."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import BadParameter, DoesNotClose, NotMarkovian, UnequalLengths
from evenhand.fairness.status import Capped, Modulo, Returns, Status, TraceFunction, Window
from evenhand.fairness.trace import Step
from evenhand.memory.augmented import (
    AugmentedStatus,
    augmented_memory,
    automata_of,
    require_markovian,
)
from evenhand.memory.automata import Events, TableMemory, TableStatus
from evenhand.memory.memory import Full, LastWinner, Memory, Nothing, OfStatus, Product
from evenhand.process import FiniteMDP

seeds = st.integers(0, 2**32 - 1)


def random_augmented(rng):
    states, memories, actions = rng.integers(1, 4, size=3)
    return AugmentedStatus(
        initial_state=int(rng.integers(states)),
        initial_memory=int(rng.integers(memories)),
        update=rng.integers(0, memories, size=(memories, actions, states)),
        status=rng.integers(0, 2, size=(states, memories, 2)),
    )


def random_mdp(rng, states=2, actions=2, stakeholders=1):
    return FiniteMDP(
        int(rng.integers(states)),
        rng.dirichlet(np.ones(states), size=(states, actions)),
        rng.integers(0, 2, size=(states, actions, states, stakeholders)),
    )


def replay(mdp: FiniteMDP, history, memory: Memory, status: Status):
    """⟨s, m⟩ and U at the end of a history, by the definitions."""
    state, remembered = mdp.initial_state, memory.init(mdp.num_stakeholders)
    carried = status.init(mdp.num_stakeholders)
    for action, next_state in history:
        step = Step(action, mdp.rewards[state, action, next_state], next_state)
        state, remembered = next_state, memory.update(remembered, step)
        carried = status.update(carried, step)
    return state, remembered, status.value(carried)


@given(seeds)
def test_each_automaton_accepts_the_strings_of_its_value(seed):
    rng = np.random.default_rng(seed)
    augmented = random_augmented(rng)
    _, actions, states = augmented.update.shape
    regular = automata_of(augmented.memory())
    assert len(np.unique(regular.values, axis=0)) == len(regular.values)
    for length in (0, 1, 2, 5, 9):
        string = [(int(rng.integers(actions)), int(rng.integers(states))) for _ in range(length)]
        s, m = augmented.initial_state, augmented.initial_memory
        for a, after in string:
            s, m = after, augmented.update[m, a, after]
        labels = [f"{a},{s}" for a, s in string]
        for value, dfa in zip(regular.values, regular.automata, strict=True):
            assert dfa.accepts_input(labels) == np.array_equal(value, augmented.status[s, m])


@given(seeds)
def test_an_automaton_begins_where_the_memory_does(seed):
    """Any state may be the initial one, not only the first."""
    rng = np.random.default_rng(seed)
    memory = TableMemory(
        initial=int(rng.integers(4)),
        table=rng.integers(0, 4, size=(4, 2)),
        events=Events(labels=("a", "b"), label=lambda step: step.action),
        values=rng.integers(0, 2, size=(4, 1)),
        num_stakeholders=1,
    )
    string = rng.choice(("a", "b"), size=rng.integers(0, 6)).tolist()
    state, by_step = memory.initial, memory.init(1)
    for label in string:
        state = memory.table[state, "ab".index(label)]
        by_step = memory.update(by_step, Step(label, np.zeros(1)))
    assert memory.after(string) == by_step == state
    np.testing.assert_array_equal(automata_of(memory).status_after(string), memory.values[state])


@given(seeds)
def test_the_round_trip_accepts_the_same_strings(seed):
    rng = np.random.default_rng(seed)
    once = automata_of(random_augmented(rng).memory())
    memory = once.memory()
    twice = automata_of(memory)
    np.testing.assert_array_equal(once.values, twice.values)
    for one, other in zip(once.automata, twice.automata, strict=True):
        assert one == other  # automata-lib: the languages are equal
    for _ in range(10):
        string = rng.choice(once.events.labels, size=rng.integers(0, 12)).tolist()
        expected = once.status_after(string)
        np.testing.assert_array_equal(twice.status_after(string), expected)
        np.testing.assert_array_equal(memory.values[memory.after(string)], expected)


def test_equality_of_automata_can_fail():
    table = {"initial": 0, "events": Events.of_pairs(1, 2), "num_stakeholders": 1}
    one = TableMemory(**table, table=[[0, 1], [1, 1]], values=[[0], [1]])
    other = TableMemory(**table, table=[[0, 1], [1, 0]], values=[[0], [1]])
    assert automata_of(one).automata[0] != automata_of(other).automata[0]


@given(seeds)
@settings(max_examples=30)
def test_built_in_statuses_of_random_problems(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, stakeholders=2)
    for status in (Window(2), Modulo(3), Capped(2)):
        table = augmented_memory(mdp, OfStatus(status), status)
        regular = automata_of(table)
        for _ in range(5):
            history = rng.integers(0, 2, size=(rng.integers(0, 8), 2)).tolist()
            *_, expected = replay(mdp, history, Nothing(), status)
            labels = [f"{a},{s}" for a, s in history]
            np.testing.assert_array_equal(table.values[table.after(labels)], expected)
            np.testing.assert_array_equal(regular.status_after(labels), expected)


def random_table_memory(rng, events, max_size, values=False):
    size = int(rng.integers(1, max_size + 1))
    return TableMemory(
        initial=0,
        table=rng.integers(0, size, size=(size, len(events))),
        events=events,
        values=rng.integers(0, 2, size=(size, 1)) if values else None,
        num_stakeholders=1,
    )


@given(seeds)
def test_not_markovian_exactly_where_two_histories_show_it(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, actions=1)
    events = Events.of_pairs(1, 2)
    memory = random_table_memory(rng, events, 3)
    status = TableStatus(random_table_memory(rng, events, 2, values=True))
    # There are at most 6 pairs ⟨m, q⟩, so that 5 events reach them all; one more, all ⟨s, m, q⟩.
    seen, clash = {}, None
    for history in (h for n in range(7) for h in itertools.product(((0, 0), (0, 1)), repeat=n)):
        state, remembered, value = replay(mdp, history, memory, status)
        if seen.setdefault((state, int(remembered)), value.tolist()) != value.tolist():
            clash = history
            break
    if clash is None:
        table = augmented_memory(mdp, memory, status)
        assert table.size == len(seen)
        return
    with pytest.raises(NotMarkovian) as caught:
        augmented_memory(mdp, memory, status)
    one, other = (replay(mdp, h, memory, status) for h in caught.value.histories)
    assert one[:2] == other[:2]
    assert not np.array_equal(one[2], other[2])
    assert max(map(len, caught.value.histories)) == len(clash)
    with pytest.raises(NotMarkovian):
        require_markovian(mdp, memory, status, max_length=len(clash))
    require_markovian(mdp, memory, status, max_length=len(clash) - 1)


def counting_mdp():
    """One state; action 0 gives nothing, action 1 gives one."""
    return FiniteMDP(0, np.ones((1, 2, 1)), np.array([[[[0.0]], [[1.0]]]]))


def test_the_refusal_shows_both_histories():
    with pytest.raises(
        NotMarkovian,
        match=r"the histories \[\] and \[\(1, 0\)\] of \(action, next state\) both end in state 0 "
        r"with memory \[\], but with statuses \[0\.0\] and \[1\.0\]\. The memory must",
    ) as caught:
        augmented_memory(counting_mdp(), Nothing(), Modulo(3))
    assert caught.value.histories == ((), ((1, 0),))


def test_the_product_with_what_lacks_is_enough():
    mdp = counting_mdp()
    memory = Product((LastWinner(), OfStatus(Modulo(3))))
    table = augmented_memory(mdp, memory, Modulo(3))
    assert table.size == 4  # nobody yet, then three remainders
    with pytest.raises(NotMarkovian):
        augmented_memory(mdp, LastWinner(), Modulo(3))


def test_a_function_of_the_trace_is_checked_up_to_a_length():
    mdp = counting_mdp()

    def thrice(trace):
        return [float(trace.rewards.sum() >= 3)]

    require_markovian(mdp, Nothing(), thrice, max_length=2)
    with pytest.raises(NotMarkovian) as caught:
        require_markovian(mdp, Nothing(), TraceFunction(thrice), max_length=3)
    assert caught.value.histories == ((), ((1, 0),) * 3)
    require_markovian(mdp, OfStatus(Capped(3)), thrice, max_length=6)
    require_markovian(mdp, Full(), thrice, max_length=6)
    with pytest.raises(NotMarkovian):
        require_markovian(mdp, OfStatus(Capped(2)), thrice, max_length=6)
    with pytest.raises(DoesNotClose, match=r"more than 50 states, some .* only after 5 steps"):
        require_markovian(mdp, Full(), thrice, max_length=6, max_states=50)


def test_a_count_does_not_close():
    with pytest.raises(DoesNotClose, match="the problem with its memory and its status does not"):
        augmented_memory(counting_mdp(), Full(), Returns(), max_states=100)


def test_augmented_statuses_are_validated():
    good = {
        "initial_state": 0,
        "initial_memory": 0,
        "update": np.zeros((2, 1, 3), dtype=int),
        "status": np.zeros((3, 2, 1)),
    }
    augmented = AugmentedStatus(**good)
    with pytest.raises(ValueError, match="read-only"):
        augmented.update[0] = 1
    with pytest.raises(UnequalLengths, match=r"expected whole numbers \[memory, action, next"):
        AugmentedStatus(**good | {"update": np.zeros((2, 1, 3))})
    with pytest.raises(UnequalLengths, match=r"status has shape \(2, 3, 1\): .* 3 states and 2"):
        AugmentedStatus(**good | {"status": np.zeros((2, 3, 1))})
    with pytest.raises(BadParameter, match="initial_state is 3: it must lie between 0 and 2"):
        AugmentedStatus(**good | {"initial_state": 3})
    with pytest.raises(BadParameter, match="initial_memory is -1"):
        AugmentedStatus(**good | {"initial_memory": -1})
    with pytest.raises(BadParameter, match=r"update\[0, 0, 0\] is 2: .* between 0 and 1"):
        AugmentedStatus(**good | {"update": np.full((2, 1, 3), 2)})
    with pytest.raises(BadParameter, match="no values: there is no status to extract"):
        automata_of(
            TableMemory(initial=0, table=[[0]], events=Events.of_pairs(1, 1), num_stakeholders=1)
        )
