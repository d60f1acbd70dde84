"""Minimal memory: the three named answers, and minimality by brute force."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import BadParameter, NotFinite, UnequalLengths
from evenhand.fairness.status import Capped, GroupTotals, Returns, Window
from evenhand.fairness.trace import Step
from evenhand.fairness.welfare import LogNash, Parity, Rawls, Utilitarian
from evenhand.memory.automata import Events, TableMemory, table_memory
from evenhand.memory.minimal_memory import MinimalMemory, minimal_memories, minimal_memory

GIVEN = Events.of_rewards([[1, 0], [0, 1], [0, 0]], labels=("A", "B", "none"))
HORIZON = 6


def within(memory: TableMemory, welfare, horizon: int):
    return minimal_memories(
        initial=memory.initial, table=memory.table, pay=welfare(memory.values), horizon=horizon
    )


# --- the named answers


def test_parity_on_two_groups_gives_the_difference():
    memory = table_memory(Returns(), GIVEN, 2, horizon=HORIZON)
    minimal = within(memory, Parity(), HORIZON)
    # With k ≥ 1 steps to go T − k loans were possible: differences −(T − k), …, T − k.
    assert minimal.sizes == (1, *(2 * (HORIZON - k) + 1 for k in range(1, HORIZON + 1)))
    for to_go in range(1, HORIZON + 1):
        reached = np.flatnonzero(minimal.state_of[to_go] >= 0)
        difference = memory.values[reached, 0] - memory.values[reached, 1]
        pairs = set(zip(difference, minimal.state_of[to_go][reached], strict=True))
        assert len(pairs) == len(set(difference)) == minimal.sizes[to_go]


def test_parity_of_groups_of_people_gives_the_difference_of_groups():
    events = Events.of_rewards([*np.eye(4), np.zeros(4)], labels=("a", "b", "c", "d", "none"))
    groups = {"AB": [0, 1], "CD": [2, 3]}
    memory = table_memory(GroupTotals(groups), events, 4, horizon=4)
    assert within(memory, Parity(), 4).sizes == (1, 7, 5, 3, 1)


def test_parity_without_a_horizon_gives_the_difference_too():
    # ⟨difference within ±3, a clock modulo 2⟩: a complete automaton with a part it does not need.
    possible = 3
    states = list(itertools.product(range(-possible, possible + 1), range(2)))
    table = [
        [states.index((np.clip(d + e, -possible, possible), (c + 1) % 2)) for e in (1, -1, 0)]
        for d, c in states
    ]
    minimal = minimal_memory(
        initial=states.index((0, 0)), table=table, pay=[-abs(d) for d, _ in states]
    )
    assert minimal.size == 2 * possible + 1
    assert all(
        minimal.state_of[i] == minimal.state_of[states.index((d, 0))]
        for i, (d, _) in enumerate(states)
    )


def test_log_nash_keeps_the_full_counts():
    memory = table_memory(Returns(), GIVEN, 2, horizon=HORIZON)
    minimal = within(memory, LogNash(), HORIZON)
    for to_go in range(1, HORIZON + 1):
        given_out = HORIZON - to_go  # at most so many to A and B together
        assert minimal.sizes[to_go] == (given_out + 1) * (given_out + 2) // 2
    assert minimal.sizes[0] == 1  # nothing more is paid


@pytest.mark.parametrize(
    ("welfare", "pay"),
    [
        # from …            A  B  none
        (Rawls(), [[0, 0, 0], [0, 1, 0], [1, 0, 0]]),
        (Utilitarian(), [[1, 1, 0], [1, 2, 1], [2, 1, 1]]),
    ],
)
def test_within_the_last_two_steps_is_the_automaton_drawn_by_hand(welfare, pay):
    """Only the last event matters for what the next one brings.

    Three states, in order of discovery: nobody (the start), A and B were given the last one. Event
    A leads to A, B to B, none to nobody, from everywhere. For Rawls both must have got one within
    the last two steps, so that only A-then-B and B-then-A are paid.
    """
    memory = table_memory(Capped(1, of=Window(2)), GIVEN, 2)
    assert memory.size == 9  # the window itself remembers two events
    minimal = minimal_memory(initial=memory.initial, table=memory.table, pay=welfare(memory.values))
    np.testing.assert_array_equal(minimal.table, [[1, 2, 0], [1, 2, 0], [1, 2, 0]])
    np.testing.assert_array_equal(minimal.pay, pay)
    last = np.array([memory.after(word) for word in (["A", "none"], ["B", "A"], ["A", "B"])])
    np.testing.assert_array_equal(minimal.state_of[last], [0, 1, 2])
    seen = minimal.memory(GIVEN, 2)
    state = seen.update(seen.init(2), Step(None, np.array([0.0, 1.0])))
    assert state == 2
    assert seen.implied_status(state) is None


# --- minimality by brute force


def automata(max_states=6):
    """Automata by seed: drawn evenly, where hypothesis would mostly try states that are alike."""

    def drawn(seed):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, max_states + 1))
        return {
            "initial": int(rng.integers(size)),
            "table": rng.integers(0, size, size=(size, 2)),
            "pay": rng.integers(0, 2, size=(size, 2) if rng.integers(2) else size),
        }

    return st.integers(0, 2**32 - 1).map(drawn)


def step_pay(automaton):
    pay, table = automaton["pay"], automaton["table"]
    return pay if pay.ndim == 2 else pay[table]


def paid(table, pay, state, string):
    total = []
    for event in string:
        total.append(pay[state][event])
        state = table[state][event]
    return total


def telling_string(table, pay, one, other):
    """A shortest string that is paid differently from two states, or None: a search over pairs."""
    queue, seen = deque([(one, other, ())]), {(one, other)}
    while queue:
        p, q, string = queue.popleft()
        for event in range(table.shape[1]):
            if pay[p][event] != pay[q][event]:
                return (*string, event)
            after = (table[p][event], table[q][event])
            if after not in seen:
                seen.add(after)
                queue.append((*after, (*string, event)))
    return None


@given(automata())
def test_states_are_merged_exactly_if_no_string_tells_them_apart(automaton):
    minimal = minimal_memory(**automaton)
    table, pay = automaton["table"], step_pay(automaton)
    reached = np.flatnonzero(minimal.state_of >= 0)
    for one, other in itertools.combinations(reached, 2):
        string = telling_string(table, pay, one, other)
        assert (minimal.state_of[one] == minimal.state_of[other]) == (string is None)
        if string is not None:
            assert paid(table, pay, one, string) != paid(table, pay, other, string)


@given(automata(), st.lists(st.integers(0, 1), max_size=12))
def test_the_smallest_automaton_pays_the_same(automaton, string):
    minimal = minimal_memory(**automaton)
    table, pay = automaton["table"], step_pay(automaton)
    assert paid(minimal.table, minimal.pay, 0, string) == paid(
        table, pay, automaton["initial"], string
    )
    assert minimal.state_of[automaton["initial"]] == 0
    # The map goes along with every event, and leaves out exactly what is not reached.
    reached = {automaton["initial"]}
    while (more := reached | {int(s) for m in reached for s in table[m]}) != reached:
        reached = more
    assert set(np.flatnonzero(minimal.state_of >= 0)) == reached
    for memory in reached:
        np.testing.assert_array_equal(
            minimal.table[minimal.state_of[memory]], minimal.state_of[table[memory]]
        )
    assert set(minimal.state_of[list(reached)]) == set(range(minimal.size))


def behaviour(table, pay, strings):
    return tuple(tuple(paid(table, pay, 0, string)) for string in strings)


def smaller_automata(size):
    for flat in itertools.product(range(size), repeat=2 * size):
        for pays in itertools.product((0, 1), repeat=2 * size):
            yield np.reshape(flat, (size, 2)), np.reshape(pays, (size, 2))


LONG = list(itertools.product(range(2), repeat=5))  # tells apart any two automata of 2 and 3 states
SMALLER = {
    size: {behaviour(table, pay, LONG) for table, pay in smaller_automata(size)} for size in (1, 2)
}


@given(automata(max_states=4))
def test_no_automaton_with_fewer_states_pays_the_same(automaton):
    minimal = minimal_memory(**automaton)
    if minimal.size in (2, 3):
        assert behaviour(minimal.table, minimal.pay, LONG) not in SMALLER[minimal.size - 1]
    if minimal.size in (1, 2):
        assert behaviour(minimal.table, minimal.pay, LONG) in SMALLER[minimal.size]


@given(automata(), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_how_memory_was_numbered(automaton, random):
    size = len(automaton["table"])
    order = np.array(random.sample(range(size), size))  # new number of each state
    back = np.argsort(order)
    renumbered = minimal_memory(
        initial=int(order[automaton["initial"]]),
        table=order[automaton["table"]][back],
        pay=automaton["pay"][back],
    )
    minimal = minimal_memory(**automaton)
    np.testing.assert_array_equal(minimal.table, renumbered.table)
    np.testing.assert_array_equal(minimal.pay, renumbered.pay)
    np.testing.assert_array_equal(minimal.state_of, renumbered.state_of[order])


@given(automata(), st.sampled_from((0, 1, 3, 4)))
def test_with_a_horizon_each_k_is_what_k_further_steps_tell_apart(automaton, horizon):
    minimal = minimal_memories(**automaton, horizon=horizon)
    table, pay = automaton["table"], step_pay(automaton)
    assert minimal.horizon == horizon
    for to_go in range(horizon + 1):
        reached = {automaton["initial"]}
        for _ in range(horizon - to_go):
            reached = {int(s) for m in reached for s in table[m]}
        futures = list(itertools.product(range(2), repeat=to_go))
        outlook = {m: tuple(tuple(paid(table, pay, m, f)) for f in futures) for m in reached}
        states = minimal.state_of[to_go]
        assert set(np.flatnonzero(states >= 0)) == reached
        assert len(set(outlook.values())) == minimal.sizes[to_go]
        assert len({(outlook[m], states[m]) for m in reached}) == minimal.sizes[to_go]
        for m in reached if to_go else ():
            np.testing.assert_array_equal(
                minimal.tables[to_go][states[m]], minimal.state_of[to_go - 1][table[m]]
            )
            np.testing.assert_array_equal(minimal.pays[to_go][states[m]], pay[m])


# --- by hand, and refusals


def test_pay_on_arrival_is_not_paid_again():
    # Two states that differ in what they paid on arrival, but lead to the same: one will do.
    minimal = minimal_memory(initial=0, table=[[0, 1], [0, 1]], pay=[0.0, 1.0])
    assert isinstance(minimal, MinimalMemory)
    assert minimal.size == 1
    np.testing.assert_array_equal(minimal.pay, [[0.0, 1.0]])


def test_what_is_alike_depends_on_the_steps_to_go():
    # States 1 and 2 are paid alike by the next event, and 1 or 0 by the one after it.
    table, pay = [[1, 2], [3, 3], [4, 4], [3, 3], [4, 4]], [[0, 0]] * 3 + [[1, 1], [0, 0]]
    two = minimal_memories(initial=0, table=table, pay=pay, horizon=2)
    assert two.sizes == (1, 1, 1)
    three = minimal_memories(initial=0, table=table, pay=pay, horizon=3)
    assert three.sizes == (1, 2, 2, 1)
    np.testing.assert_array_equal(three.state_of[2], [-1, 0, 1, -1, -1])
    np.testing.assert_array_equal(three.tables[3], [[0, 1]])
    np.testing.assert_array_equal(three.tables[2], [[0, 0], [1, 1]])
    np.testing.assert_array_equal(three.pays[1], [[1, 1], [0, 0]])
    np.testing.assert_array_equal(three.tables[1], [[0, 0], [0, 0]])


def test_rounding_does_not_tell_apart():
    table = [[1, 0], [0, 1]]
    assert minimal_memory(initial=0, table=table, pay=[[0.1 + 0.2, 0], [0.3, 0]]).size == 1
    assert minimal_memory(initial=0, table=table, pay=[[0.3001, 0], [0.3, 0]]).size == 2
    exact = minimal_memory(initial=0, table=table, pay=[[0.1 + 0.2, 0], [0.3, 0]], tolerance=0)
    assert exact.size == 2
    # In the unit of the pay where that is large, and of 1 where it is small.
    for one, other, size in ((1e-12, 2e-12, 1), (1e-3, 2e-3, 2), (1e9, 1e9 + 1e-3, 1)):
        assert minimal_memory(initial=0, table=table, pay=[[one, 0], [other, 0]]).size == size


def test_what_does_not_fit_is_refused():
    good = {"initial": 0, "table": [[0, 1], [1, 0]], "pay": [0, 1]}
    with pytest.raises(UnequalLengths, match=r"pay has shape \(3,\): expected \(2, 2\).*or \(2,\)"):
        minimal_memory(**good | {"pay": [0, 1, 2]})
    with pytest.raises(NotFinite, match="pay holds nan at index 1"):
        minimal_memory(**good | {"pay": [0, np.nan]})
    with pytest.raises(BadParameter, match="from memory state 0 event 1 leads to 5"):
        minimal_memory(**good | {"table": [[0, 5], [1, 0]]})
    with pytest.raises(BadParameter, match="initial memory state is 7"):
        minimal_memory(**good | {"initial": 7})
    with pytest.raises(BadParameter, match="horizon is -1: it must be a whole number from 0"):
        minimal_memories(**good, horizon=-1)
