"""Section 5.1: the smallest memory that still determines the reward.

Two memory states are alike if no string of events to come is rewarded differently after one than
after the other. Past rewards no longer matter, so that the reward belongs to the step:
`pay[memory, event]`. This is about determining the *reward*: to *act* well a smaller memory may do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.checks import require_whole
from evenhand._util.numbers import as_float64
from evenhand.errors import UnequalLengths
from evenhand.memory.automata import Events, TableMemory, require_table

if TYPE_CHECKING:
    from jaxtyping import Float, Int

TOLERANCE = 1e-9  # rewards closer than this, relative to their size, differ by rounding only


@dataclass(frozen=True, eq=False, kw_only=True)
class MinimalMemory:
    """The smallest automaton with the same rewards, and the map onto it.

    States are numbered as they are reached from m_init = 0, breadth first, so that equal automata
    have equal tables. Memory states that m_init does not reach are mapped to −1.
    """

    table: Int[np.ndarray, "state event"]
    pay: Float[np.ndarray, "state event"]
    state_of: Int[np.ndarray, " memory"]

    @property
    def size(self) -> int:
        """How many memory states are needed."""
        return len(self.table)

    def memory(self, events: Events, num_stakeholders: int) -> TableMemory:
        """The smallest automaton as a memory to learn with. It claims no status."""
        return TableMemory(
            initial=0, table=self.table, events=events, num_stakeholders=num_stakeholders
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MinimalMemories:
    """The smallest memory for each number k of steps to go, as index of each tuple.

    `state_of[k]` maps the memory states that T − k steps can lead to onto 0, …, sizes[k] − 1, and
    all others to −1. With k steps to go (k ≥ 1), `tables[k]` leads to the states for k − 1.
    """

    tables: tuple[Int[np.ndarray, "state event"], ...]
    pays: tuple[Float[np.ndarray, "state event"], ...]
    state_of: tuple[Int[np.ndarray, " memory"], ...]

    @property
    def horizon(self) -> int:
        return len(self.state_of) - 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """|M_k| for k = 0, …, T."""
        return tuple(int(states.max()) + 1 for states in self.state_of)


def minimal_memory(
    *,
    initial: int,
    table: Int[np.ndarray, "memory event"],
    pay: Float[np.ndarray, "memory event"] | Float[np.ndarray, " memory"],
    tolerance: float = TOLERANCE,
) -> MinimalMemory:
    """Merge memory states whose rewards no string of events distinguishes (Moore's refinement).

    `pay` is the reward on leaving by an event, or, if given for each memory state, on arriving.

    >>> waiting = minimal_memory(initial=0, table=[[1, 0], [2, 0], [1, 0]], pay=[0, -1, -1])
    >>> waiting.size, waiting.state_of
    (1, array([0, 0, 0]))
    """
    table, pay, paid = _validated(initial, table, pay, tolerance)
    alike = _numbered(paid)
    while True:
        finer = _numbered(np.column_stack((alike, alike[table])))
        if finer.max() == alike.max():
            break
        alike = finer
    reached = _breadth_first(table, initial)
    state_of = _in_order(alike, reached)
    first = _first_of_each(state_of)
    return MinimalMemory(table=state_of[table[first]], pay=pay[first], state_of=state_of)


def minimal_memories(
    *,
    initial: int,
    table: Int[np.ndarray, "memory event"],
    pay: Float[np.ndarray, "memory event"] | Float[np.ndarray, " memory"],
    horizon: int,
    tolerance: float = TOLERANCE,
) -> MinimalMemories:
    """The same for a horizon T: for each k, memory states that k further steps distinguish.

    It is done for each k, on the states that T − k steps lead to: without a clock "alike for the
    steps that remain" compares states with different numbers of steps left, and is not an
    equivalence.
    """
    table, pay, paid = _validated(initial, table, pay, tolerance)
    require_whole(horizon, "horizon", least=0)
    reached = _layers(table, initial, horizon)
    alike = np.zeros(len(table), dtype=np.int64)
    state_of, tables, pays = [_in_order(alike, reached[horizon])], [table[:0]], [pay[:0]]
    for to_go in range(1, horizon + 1):
        alike = _numbered(np.column_stack((paid, alike[table])))
        states = _in_order(alike, reached[horizon - to_go])
        first = _first_of_each(states)
        tables.append(state_of[-1][table[first]])
        pays.append(pay[first])
        state_of.append(states)
    return MinimalMemories(tables=tuple(tables), pays=tuple(pays), state_of=tuple(state_of))


def _validated(
    initial: int, table: np.ndarray, pay: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table, the reward of each step, and the same with equal rewards numbered equally."""
    table = require_table(table, initial)
    pay = as_float64(pay, "pay")
    if pay.shape == (len(table),):
        pay = pay[table]
    if pay.shape != table.shape:
        raise UnequalLengths(
            f"pay has shape {pay.shape}: expected {table.shape}, one for each memory state and "
            f"event, or ({len(table)},), one for each memory state arrived at."
        )
    return table, pay, _pay_numbers(pay, tolerance)


def _pay_numbers(pay: Float[np.ndarray, "memory event"], tolerance: float) -> np.ndarray:
    distinct, number = np.unique(pay, return_inverse=True)
    gaps = np.diff(distinct) > tolerance * np.maximum(1.0, np.abs(distinct[1:]))
    return np.concatenate(([0], np.cumsum(gaps)))[number].reshape(pay.shape)


def _numbered(rows: Int[np.ndarray, "memory key"]) -> Int[np.ndarray, " memory"]:
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _breadth_first(table: np.ndarray, initial: int) -> Int[np.ndarray, " reached"]:
    order = [initial]
    seen = {initial}
    for state in order:  # grows as it is gone through
        fresh = [s for s in dict.fromkeys(table[state].tolist()) if s not in seen]
        seen.update(fresh)
        order.extend(fresh)
    return np.array(order)


def _layers(table: np.ndarray, initial: int, horizon: int) -> list[np.ndarray]:
    """The memory states that exactly 0, 1, …, T steps can lead to."""
    layers = [np.array([initial])]
    for _ in range(horizon):
        layers.append(np.unique(table[layers[-1]]))
    return layers


def _in_order(alike: np.ndarray, reached: np.ndarray) -> Int[np.ndarray, " memory"]:
    """Classes numbered in the order in which `reached` comes upon them; −1 elsewhere."""
    _, first, number = np.unique(alike[reached], return_index=True, return_inverse=True)
    states = np.full(len(alike), -1)
    states[reached] = np.argsort(np.argsort(first))[number]
    return states


def _first_of_each(states: Int[np.ndarray, " memory"]) -> Int[np.ndarray, " state"]:
    """A memory state of each class."""
    numbers, first = np.unique(states, return_index=True)
    return first[numbers >= 0]
