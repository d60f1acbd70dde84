"""Definition "memory augmentation" in the learner's form: an integer table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.numbers import Array, as_float64, namespace
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.status import DeclaredRegularity, Status
from evenhand.fairness.trace import Step
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.memory import Memory

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False, kw_only=True)
class TableMemory(Memory[Array]):
    """⟨M, m_init, μ⟩ with M = {0, …, size − 1} and μ(m, event) = table[m, event].

    `values`, where given, is the status vector of each memory state (the paper's U'_M). A memory
    with a `horizon` is right for so many steps, and stays where it is after them.
    """

    initial: int
    table: Int[np.ndarray, "memory event"]
    events: Events
    values: Float[np.ndarray, "memory status"] | None = None
    num_stakeholders: int
    horizon: int | None = None

    def __post_init__(self) -> None:
        table = require_table(self.table, self.initial)
        if table.shape[1] != len(self.events):
            raise UnequalLengths(
                f"the table has {table.shape[1]} columns for {len(self.events)} events: give one "
                "column each."
            )
        object.__setattr__(self, "table", table)
        if self.values is None:
            return
        values = as_float64(self.values, "values") + 0.0  # a copy of our own, to be frozen
        if values.ndim != 2 or len(values) != len(table):
            raise UnequalLengths(
                f"values have shape {values.shape}: expected one status vector for each of the "
                f"{len(table)} memory states."
            )
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @property
    def size(self) -> int:
        """|M|."""
        return len(self.table)

    def init(self, num_stakeholders: int) -> Int[np.ndarray, ""]:
        if num_stakeholders != self.num_stakeholders:
            raise BadParameter(
                f"this memory was made for {self.num_stakeholders} stakeholders, not for "
                f"{num_stakeholders}: make one for them."
            )
        return np.asarray(self.initial, dtype=np.int32)

    def update(self, memory: Int[Array, ""], step: Step) -> Int[Array, ""]:
        event = self.events.index(step)
        # The state may still be NumPy's (m_init) where the event is already JAX's, or traced.
        xp = namespace(memory if isinstance(event, np.ndarray | np.generic) else event)
        return xp.asarray(xp.asarray(self.table)[memory, event])

    def implied_status(self, memory: Int[Array, ""]) -> Float[Array, " status"] | None:
        if self.values is None:
            return None
        return namespace(memory).asarray(self.values)[memory]

    def after(self, labels: Iterable[str]) -> int:
        """The memory state after a string of events."""
        state = self.initial
        for label in labels:
            state = int(self.table[state, self.events.position(label)])
        return state

    def describe(self) -> str:
        return f"one of {self.size} states of an automaton over {len(self.events)} events"


@dataclass(frozen=True)
class TableStatus(Status[Array]):
    """Definition "value-regular": the status that a finite memory stands for, to score with."""

    memory: TableMemory

    def __post_init__(self) -> None:
        if self.memory.values is None:
            raise BadParameter("this memory has no values: it stands for no status.")

    def init(self, num_stakeholders: int) -> Int[np.ndarray, ""]:
        return self.memory.init(num_stakeholders)

    def update(self, state: Int[Array, ""], step: Step) -> Int[Array, ""]:
        return self.memory.update(state, step)

    def value(self, state: Int[Array, ""]) -> Float[Array, " status"]:
        return self.memory.implied_status(state)

    def describe(self) -> str:
        return f"what an automaton of {self.memory.size} states says of the history"

    def value_regular(self) -> DeclaredRegularity:
        why = f"it is an automaton of {self.memory.size} states"
        return DeclaredRegularity(True, why)

    def magnitude(self, reward_bound: float, time: int) -> float:
        return float(np.abs(np.asarray(self.memory.values)).max())


def require_table(table: Int[np.ndarray, "memory event"], initial: int) -> np.ndarray:
    """A complete transition table as int32 that cannot be written to, or an error."""
    array = np.array(table)
    if array.ndim != 2 or 0 in array.shape or not np.issubdtype(array.dtype, np.integer):
        raise UnequalLengths(
            f"the table is an array of {array.dtype} of shape {array.shape}: expected whole "
            "numbers [memory, event], with at least one of each."
        )
    wrong = np.argwhere((array < 0) | (array >= len(array)))
    if len(wrong):
        memory, event = wrong[0]
        raise BadParameter(
            f"from memory state {memory} event {event} leads to {array[memory, event]}: memory "
            f"states run from 0 to {len(array) - 1}."
        )
    if not 0 <= initial < len(array):
        raise BadParameter(
            f"the initial memory state is {initial}: they run from 0 to {len(array) - 1}."
        )
    array = array.astype(np.int32)
    array.flags.writeable = False
    return array
