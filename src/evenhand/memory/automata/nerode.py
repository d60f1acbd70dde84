"""The Myhill-Nerode theorem up to a length: which histories a memory must distinguish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import as_float64
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.automaton_memory import TableMemory

if TYPE_CHECKING:
    from jaxtyping import Int

MAX_TRACES = 200_000  # histories that an examination asks the status about, at most


@dataclass(frozen=True)
class Evidence:
    """What every history up to a length says for and against a finite memory."""

    max_length: int
    distinct_values: tuple[int, ...]  # how many values histories up to length 0, 1, … take
    classes: tuple[int, ...]  # how many Myhill-Nerode classes they fall into, as far as is seen
    memory: TableMemory | None  # one that gives the right value for every history up to max_length

    @property
    def against(self) -> bool:
        """Whether no memory was found: classes still grow, or like histories part later on."""
        return self.memory is None


def examine(
    value_of: Callable[[tuple[Step, ...]], Any], events: Events, max_length: int
) -> Evidence:
    """The Myhill-Nerode theorem as far as strings up to a length go.

    Two histories are alike if every string of up to `tail` further events leads to equal values.
    If the histories of length `head` + 1 bring no class that shorter ones lacked, and like
    histories are continued alike, then the classes are the states of an automaton that gives
    every value seen.
    """
    size = len(events)
    if max_length < 1 or sum(size**k for k in range(max_length + 1)) > MAX_TRACES:
        raise BadParameter(
            f"max_length is {max_length}: with {size} events it must be at least 1 and give no "
            f"more than {MAX_TRACES} histories."
        )
    values, levels = _value_numbers(value_of, events, max_length)
    head = max_length // 2
    tail = max_length - 1 - head
    class_of, first = _classes(levels, size, head + 1, tail)
    counts = tuple(len(np.unique(np.concatenate(class_of[: k + 1]))) for k in range(head + 2))
    return Evidence(
        max_length,
        tuple(len(np.unique(np.concatenate(levels[: k + 1]))) for k in range(max_length + 1)),
        counts,
        _automaton(class_of, values[first], events) if counts[-1] == counts[-2] else None,
    )


def _value_numbers(
    value_of: Callable[[tuple[Step, ...]], Any], events: Events, max_length: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """All values, and for each length the number of the value of every string, in order.

    Strings of a length are counted in base |Σ|, so that those that go on from one are adjacent.
    """
    steps = events.require_steps()
    found = [
        [as_float64(value_of(string), "the status") for string in product(steps, repeat=length)]
        for length in range(max_length + 1)
    ]
    every = np.array([value for level in found for value in level]) + 0.0
    values, number = np.unique(every, axis=0, return_inverse=True)
    ends = np.cumsum([len(level) for level in found])
    return values, np.split(number.ravel(), ends[:-1])


def _classes(
    levels: list[np.ndarray], size: int, head: int, tail: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """The class of every string up to length `head`, and the value number of each class."""
    rows = np.concatenate(
        [
            np.hstack([levels[k + j].reshape(size**k, size**j) for j in range(tail + 1)])
            for k in range(head + 1)
        ]
    )
    classes, number = np.unique(rows, axis=0, return_inverse=True)
    ends = np.cumsum([size**k for k in range(head + 1)])
    return np.split(number.ravel(), ends[:-1]), classes[:, 0]


def _automaton(
    class_of: list[np.ndarray], values: np.ndarray, events: Events
) -> TableMemory | None:
    """The classes as a memory, or None if like histories are not continued alike."""
    here = np.concatenate(class_of[:-1])
    after = np.concatenate([level.reshape(-1, len(events)) for level in class_of[1:]])
    table: Int[np.ndarray, "class event"] = np.zeros((len(values), len(events)), dtype=np.int32)
    table[here] = after
    if not np.array_equal(table[here], after):
        return None
    return TableMemory(
        initial=int(class_of[0][0]),
        table=table,
        events=events,
        values=values,
        num_stakeholders=events.num_stakeholders,
    )
