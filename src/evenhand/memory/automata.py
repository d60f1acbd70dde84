"""Theorem 1: memories that are automata over what happens."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from evenhand._util.checks import first_repeated, require_whole
from evenhand._util.numbers import Array, as_float64, namespace
from evenhand.errors import BadParameter, DoesNotClose, UnequalLengths, UnknownEvent
from evenhand.fairness.status import DeclaredRegularity, Status
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Memory

if TYPE_CHECKING:
    from jaxtyping import Float, Int


# Section 5.1: Σ = A × S, what can happen in a step, under a finite number of labels.


@dataclass(frozen=True, eq=False, kw_only=True)
class Events:
    """A finite alphabet: its labels, and the function that labels a step.

    `label(step)` returns a label, or the index of one in `labels`. Under jit there are no
    strings: there it must return an index, computed in jax.numpy, and an index out of range
    cannot be noticed. On plain NumPy an unknown label or index is refused.

    `steps`, one for each label, are needed where a status is asked what it makes of an event:
    they stand for all steps with that label.

    >>> got = Events(labels=("gotA", "gotB"), label=lambda step: step.action)
    >>> int(got.index(Step(action="gotB", rewards=np.zeros(2))))
    1
    """

    labels: tuple[str, ...]
    label: Callable[[Step], Any]
    steps: tuple[Step, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if not self.labels:
            raise BadParameter("there are no labels: an alphabet has at least one.")
        for label in self.labels:
            if not isinstance(label, str) or not label:
                raise BadParameter(f"the label {label!r} is not a word: labels are strings.")
        twice = first_repeated(self.labels)
        if twice is not None:
            raise BadParameter(f"the label {twice!r} is given twice: name each event once.")
        if self.steps is not None:
            object.__setattr__(self, "steps", tuple(self.steps))
            self._require_steps_fit(self.steps)

    def _require_steps_fit(self, steps: tuple[Step, ...]) -> None:
        if len(steps) != len(self.labels):
            raise UnequalLengths(
                f"there are {len(steps)} steps for {len(self.labels)} labels: give one each."
            )
        for place, step in enumerate(steps):
            if (found := int(self.index(step))) != place:
                raise BadParameter(
                    f"the step given for {self.labels[place]!r} is labelled "
                    f"{self.labels[found]!r}: put the steps in the order of the labels."
                )

    @classmethod
    def of_pairs(cls, num_actions: int, num_states: int) -> Events:
        """Every pair (action, next state) of a finite problem, labelled "action,state".

        >>> Events.of_pairs(1, 3).labels
        ('0,0', '0,1', '0,2')
        """
        labels = tuple(f"{a},{s}" for a in range(num_actions) for s in range(num_states))
        return cls(labels=labels, label=lambda step: step.action * num_states + step.next_state)

    @classmethod
    def of_rewards(
        cls, rewards: Sequence[Sequence[float]], labels: Iterable[str] | None = None
    ) -> Events:
        """Steps distinguished by their rewards alone, which is all that a count looks at.

        Under jit rewards that are not among these count as the first of them.

        >>> Events.of_rewards([[1, 0], [0, 1], [0, 0]]).labels
        ('1,0', '0,1', '0,0')
        """
        table = as_float64(rewards, "rewards")
        if table.ndim != 2:
            raise UnequalLengths(
                f"rewards have shape {table.shape}: expected [event, stakeholder]."
            )
        names = labels or (",".join(f"{r:g}" for r in row) for row in table)
        return cls(
            labels=tuple(names),
            label=lambda step: _row_of(step.rewards, table),
            steps=tuple(Step(action=None, rewards=row) for row in table),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def num_stakeholders(self) -> int:
        return len(self.require_steps()[0].rewards)

    def require_steps(self) -> tuple[Step, ...]:
        if self.steps is None:
            raise BadParameter(
                "these events have labels but no steps: pass steps=, one for each label, or use "
                "Events.of_rewards, so that a status can be asked what it makes of them."
            )
        return self.steps

    def index(self, step: Step) -> Int[Array, ""]:
        """The index of a step's label."""
        label = self.label(step)
        if isinstance(label, str):
            return np.asarray(self.position(label))
        if array_api_compat.is_jax_array(label):  # perhaps traced: its value is not known
            return label
        return self._in_range(np.asarray(label))

    def position(self, label: str) -> int:
        """Where a label stands in `labels`."""
        if label not in self._position:
            near = difflib.get_close_matches(label, self.labels, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.labels)}."
            raise UnknownEvent(f"there is no event {label!r}: {hint}")
        return self._position[label]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def _in_range(self, index: Int[np.ndarray, "*batch"]) -> Int[np.ndarray, "*batch"]:
        if not np.issubdtype(index.dtype, np.integer):
            raise UnknownEvent(
                f"the labelling function returned {index!r}: it must return a label or the index "
                "of one."
            )
        if index.size and (index.min() < 0 or index.max() >= len(self)):
            raise UnknownEvent(
                f"the labelling function returned index {index}, but there are {len(self)} labels "
                f"(0 to {len(self) - 1})."
            )
        return index


def _row_of(
    rewards: Float[Array, " stakeholder"], table: Float[np.ndarray, "event stakeholder"]
) -> Int[Array, ""]:
    xp = namespace(rewards)
    same = xp.all(xp.asarray(table, dtype=rewards.dtype) == rewards, axis=-1)
    if xp is np and not same.any():
        raise UnknownEvent(f"a step has rewards {rewards}, which are not among the events.")
    return xp.argmax(same)


# What can be reached from a start by events, breadth first.

MAX_STATES = 100_000  # by default: about a second's work, and a table of a few megabytes


@dataclass(frozen=True, eq=False)
class Reached:
    """States in the order of discovery (0 is the start), and where each event leads.

    A state first reached at the horizon has no successors; there each event leads to itself.
    """

    states: tuple[Any, ...]
    table: Int[np.ndarray, "state event"]
    came_from: tuple[tuple[int, int], ...]  # the state and the event that first led to each

    def string_to(self, state: int) -> tuple[int, ...]:
        """A shortest string of events that leads to a state."""
        events = []
        while state != 0:
            state, event = self.came_from[state]
            events.append(event)
        return tuple(reversed(events))


def reach(
    start: Any,
    step: Callable[[Any, int], Any],
    num_events: int,
    *,
    what: str,
    key: Callable[[Any], Hashable],
    horizon: int | None = None,
    max_states: int = MAX_STATES,
) -> Reached:
    """Everything reached within `horizon` steps (or ever); states with equal keys are one."""
    states, came_from, depth = [start], [(-1, -1)], [0]
    number = {key(start): 0}
    rows = []
    for here, state in enumerate(states):  # grows as it is gone through
        if depth[here] == horizon:
            rows.append([here] * num_events)
            continue
        row = []
        for event in range(num_events):
            after = step(state, event)
            found = number.setdefault(key(after), len(states))
            if found == len(states):
                if found >= max_states:
                    raise _does_not_close(what, max_states, depth[here] + 1)
                states.append(after)
                came_from.append((here, event))
                depth.append(depth[here] + 1)
            row.append(found)
        rows.append(row)
    return Reached(tuple(states), np.array(rows, dtype=np.int32), tuple(came_from))


def _does_not_close(what: str, size: int, depth: int) -> DoesNotClose:
    return DoesNotClose(
        f"{what} does not close: it has more than {size} states, some of them reached only after "
        f"{depth} steps. Give a (shorter) horizon, cap the count or take it modulo a number, or "
        "raise max_states.",
        size=size,
    )


def state_key(state: Any) -> Hashable:
    """A key for what a fold carries: equal for equal arrays in equal tuples."""
    if isinstance(state, tuple | list):
        return tuple(state_key(part) for part in state)
    if isinstance(state, Mapping):
        return tuple((name, state_key(state[name])) for name in sorted(state))
    array = np.asarray(state)
    if array.dtype.kind not in "biuf":
        return state
    # One type of number, whatever an update turned them into; + 0.0 makes one zero of 0.0 and −0.0.
    return array.shape, (array.astype(np.float64) + 0.0).tobytes()


# Definition "memory augmentation" in the learner's form: an integer table.


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


# A finite memory from any status that carries finitely many states over finitely many events.


def table_memory(
    status: Status,
    events: Events,
    num_stakeholders: int,
    horizon: int | None = None,
    max_states: int = MAX_STATES,
) -> TableMemory:
    """Section 5.1: what a status carries from step to step, numbered, with μ as a table.

    With a horizon T it is everything reached within T steps, which is finite for any status: "in
    practice policies may not be run long enough for memory limitations to come into play".
    Without one, what is carried must close.

    >>> from evenhand.fairness.status import Modulo
    >>> table_memory(Modulo(12), Events.of_rewards([[0], [1]]), 1).size
    12
    """
    steps = events.require_steps()
    if horizon is not None:
        require_whole(horizon, "horizon", least=0)
    if events.num_stakeholders != num_stakeholders:
        raise BadParameter(
            f"the events have rewards for {events.num_stakeholders} stakeholders, but "
            f"num_stakeholders is {num_stakeholders}."
        )
    reached = reach(
        status.init(num_stakeholders),
        lambda state, event: status.update(state, steps[event]),
        len(events),
        what=f"the status ({status.describe()}, over {len(events)} events)",
        key=state_key,
        horizon=horizon,
        max_states=max_states,
    )
    return TableMemory(
        initial=0,
        table=reached.table,
        events=events,
        values=np.array([np.asarray(status.value(state)) for state in reached.states]),
        num_stakeholders=num_stakeholders,
        horizon=horizon,
    )
