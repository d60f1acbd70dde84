"""Theorem 2: whatever a finite memory makes Markovian is value-regular.

Strings are over all of A × S, as in the paper's definitions, whether or not P lets them happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from automata.fa.dfa import DFA

from evenhand._util.numbers import as_float64
from evenhand.errors import BadParameter, NotMarkovian, UnequalLengths
from evenhand.fairness.status import Status, TraceFunction
from evenhand.fairness.trace import Step, Trace
from evenhand.memory.automata import MAX_STATES, Events, Reached, TableMemory, reach, state_key
from evenhand.memory.languages import ValueRegular
from evenhand.memory.memory import Memory
from evenhand.process import FiniteMDP

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Node = tuple[int, Any, Any]  # a state s, a memory m, and what the status carries


@dataclass(frozen=True, eq=False, kw_only=True)
class AugmentedStatus:
    """Definition "memory-augmented": s_init, m_init, μ, and U'_M over S × M, as tables."""

    initial_state: int
    initial_memory: int
    update: Int[np.ndarray, "memory action next_state"]
    status: Float[np.ndarray, "state memory stakeholder"]

    def __post_init__(self) -> None:
        update, status = np.array(self.update), as_float64(self.status, "status") + 0.0
        if update.ndim != 3 or 0 in update.shape or not np.issubdtype(update.dtype, np.integer):
            raise UnequalLengths(
                f"update is an array of {update.dtype} of shape {update.shape}: expected whole "
                "numbers [memory, action, next_state]."
            )
        memories, _, states = update.shape
        if status.ndim != 3 or status.shape[:2] != (states, memories):
            raise UnequalLengths(
                f"status has shape {status.shape}: expected [state, memory, stakeholder] with "
                f"{states} states and {memories} memories."
            )
        _require_index("initial_state", self.initial_state, states)
        _require_index("initial_memory", self.initial_memory, memories)
        for place in np.argwhere((update < 0) | (update >= memories))[:1]:
            _require_index(f"update{place.tolist()}", int(update[tuple(place)]), memories)
        for name, array in (("update", update), ("status", status)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def memory(self) -> TableMemory:
        """The automaton of the proof: Q = S × M as far as it is reached, Σ = A × S."""
        _, actions, states = self.update.shape

        def step(pair: tuple[int, int], event: int) -> tuple[int, int]:
            action, next_state = divmod(event, states)
            return next_state, int(self.update[pair[1], action, next_state])

        reached = reach(
            (self.initial_state, self.initial_memory),
            step,
            actions * states,
            what="the augmented problem",
            key=lambda pair: pair,
            max_states=self.status.shape[0] * self.status.shape[1],
        )
        return TableMemory(
            initial=0,
            table=reached.table,
            events=Events.of_pairs(actions, states),
            values=np.array([self.status[pair] for pair in reached.states]),
            num_stakeholders=self.status.shape[2],
        )


def automata_of(memory: TableMemory) -> ValueRegular:
    """Theorem 2: one automaton for each status vector that a memory stands for."""
    if memory.values is None:
        raise BadParameter("this memory has no values: there is no status to extract.")
    values, value_of = np.unique(memory.values, axis=0, return_inverse=True)
    transitions = {
        state: dict(zip(memory.events.labels, row, strict=True))
        for state, row in enumerate(memory.table.tolist())
    }
    automata = [
        DFA(
            states=set(transitions),
            input_symbols=set(memory.events.labels),
            transitions=transitions,
            initial_state=memory.initial,
            final_states=set(np.flatnonzero(value_of.ravel() == value).tolist()),
        )
        for value in range(len(values))
    ]
    return ValueRegular(
        values=values, languages=automata, events=memory.events, max_states=memory.size
    )


def augmented_memory(
    mdp: FiniteMDP, memory: Memory, status: Status, max_states: int = MAX_STATES
) -> TableMemory:
    """Theorem 2: the pairs ⟨s, m⟩ of a finite problem with a memory, each with its one status.

    Refuses a memory that does not make the status Markovian, with two histories that show it.
    Exact: it follows what memory and status carry until nothing new is reached.
    """
    reached = _reach(mdp, memory, _Fold.of(status), None, max_states)
    pair_of, pairs, values = _pairs(mdp, reached, _Fold.of(status))
    table = np.zeros((len(pairs), reached.table.shape[1]), dtype=np.int32)
    table[pair_of] = pair_of[reached.table]  # nodes of one pair agree: μ does not see the status
    return TableMemory(
        initial=0,
        table=table,
        events=Events.of_pairs(mdp.num_actions, mdp.num_states),
        values=values,
        num_stakeholders=mdp.num_stakeholders,
    )


def require_markovian(
    mdp: FiniteMDP,
    memory: Memory,
    status: Status | Callable[[Trace], Any],
    max_length: int,
    max_states: int = MAX_STATES,
) -> None:
    """Definition "Markovian function": no two histories up to a length speak against it.

    The status may be any function of a trace. Raises `NotMarkovian` with two histories, strings
    of (action, next state), that end in the same state and memory but in different statuses.
    """
    fold = _Fold.of(status)
    _pairs(mdp, _reach(mdp, memory, fold, max_length, max_states), fold)


@dataclass(frozen=True)
class _Fold:
    """A status as a fold; a function of the trace carries the trace, so no two are taken as one."""

    init: Callable[[FiniteMDP], Any]
    update: Callable[[Any, Step], Any]
    value: Callable[[Any], Any]
    key: Callable[[Any], Any]

    @classmethod
    def of(cls, status: Status | Callable[[Trace], Any]) -> _Fold:
        if isinstance(status, TraceFunction):
            status = status.function
        if isinstance(status, Status):
            fold = status
            return cls(
                lambda mdp: fold.init(mdp.num_stakeholders), fold.update, fold.value, state_key
            )
        function = status

        def value(history: tuple[FiniteMDP, tuple[Step, ...]]) -> Any:
            mdp, steps = history
            return function(Trace.from_steps(steps, mdp.initial_state, mdp.num_stakeholders))

        return cls(
            lambda mdp: (mdp, ()),
            lambda history, step: (history[0], (*history[1], step)),
            value,
            lambda history: tuple((step.action, step.next_state) for step in history[1]),
        )


def _reach(
    mdp: FiniteMDP, memory: Memory, fold: _Fold, horizon: int | None, max_states: int
) -> Reached:
    def step(node: Node, event: int) -> Node:
        state, remembered, carried = node
        action, next_state = divmod(event, mdp.num_states)
        happened = Step(action, mdp.rewards[state, action, next_state], next_state)
        return next_state, memory.update(remembered, happened), fold.update(carried, happened)

    return reach(
        (mdp.initial_state, memory.init(mdp.num_stakeholders), fold.init(mdp)),
        step,
        mdp.num_actions * mdp.num_states,
        what="the problem with its memory and its status",
        key=lambda node: (node[0], state_key(node[1]), fold.key(node[2])),
        horizon=horizon,
        max_states=max_states,
    )


def _pairs(
    mdp: FiniteMDP, reached: Reached, fold: _Fold
) -> tuple[np.ndarray, list[int], np.ndarray]:
    """The pair ⟨s, m⟩ of each node, the first node of each pair, and the one status of each."""
    number: dict[Any, int] = {}
    pair_of: list[int] = []
    first: list[int] = []
    values: list[np.ndarray] = []
    for node, (state, remembered, carried) in enumerate(reached.states):
        value = as_float64(fold.value(carried), "the status") + 0.0
        pair = number.setdefault((state, state_key(remembered)), len(first))
        if pair == len(first):
            first.append(node)
            values.append(value)
        elif not np.array_equal(values[pair], value):
            raise _not_markovian(mdp, reached, (first[pair], node), (values[pair], value))
        pair_of.append(pair)
    return np.array(pair_of), first, np.array(values)


def _not_markovian(
    mdp: FiniteMDP, reached: Reached, nodes: tuple[int, int], values: Sequence[np.ndarray]
) -> NotMarkovian:
    one, other = (
        tuple(divmod(event, mdp.num_states) for event in reached.string_to(node)) for node in nodes
    )
    state, remembered, _ = reached.states[nodes[0]]
    return NotMarkovian(
        f"the status is not Markovian with this memory: the histories {list(one)} and "
        f"{list(other)} of (action, next state) both end in state {state} with memory "
        f"{remembered}, but with statuses {values[0].tolist()} and {values[1].tolist()}. The "
        "memory must distinguish them.",
        histories=(one, other),
    )


def _require_index(what: str, index: int, size: int) -> None:
    if not 0 <= index < size:
        raise BadParameter(f"{what} is {index}: it must lie between 0 and {size - 1}.")
