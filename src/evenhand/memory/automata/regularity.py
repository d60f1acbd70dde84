"""Section 5.1: whether a status is value-regular, declared or examined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from evenhand.errors import DoesNotClose
from evenhand.fairness.status import (
    Capped,
    Decayed,
    EnvyOfBest,
    GroupTotals,
    Modulo,
    PairwiseEnvy,
    PerEntitlement,
    Returns,
    StateStatus,
    Status,
    TraceFunction,
    WaitingTime,
    Window,
)
from evenhand.fairness.status.derived import Derived
from evenhand.fairness.trace import Step, Trace
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.closure import table_memory
from evenhand.memory.automata.nerode import Evidence, examine
from evenhand.memory.automata.table_memory import TableStatus


@dataclass(frozen=True)
class Regularity:
    """An answer with its reason; `regular` is None where it is not settled.

    Declared True holds for every finite set of events whose amounts are whole numbers; declared
    False says that for some such set no finite memory will do. Evidence settles nothing, either
    way: it ends at a length, and what is longer may part or fall into place.
    """

    regular: bool | None
    reason: str
    evidence: Evidence | None = None

    def __str__(self) -> str:
        answers = {True: "value-regular", False: "not value-regular", None: "not settled"}
        return f"{answers[self.regular]}: {self.reason}"


def value_regular(
    status: Status | Callable[[Trace], Any],
    *,
    events: Events | None = None,
    horizon: int | None = None,
    max_length: int = 6,
) -> Regularity:
    """Definition "value-regular": does a finite memory suffice for this status?

    Built-in statuses declare it. Any other, or a function of a trace (the empty one included), is
    examined on every string of `events` up to `max_length`.

    >>> print(value_regular(Modulo(12)))
    value-regular: a count modulo 12 takes 12 values a stakeholder
    >>> value_regular(Returns()).regular, value_regular(Returns(), horizon=10).regular
    (False, True)
    """
    if horizon is not None:
        return Regularity(True, f"there are finitely many histories of at most {horizon} steps")
    if isinstance(status, TraceFunction):
        status = status.function
    declared = declare(status)
    if declared.regular is not None or events is None:
        return declared
    if isinstance(status, Status):
        return _closed(status, events) or _examined(_fold(status, events), events, max_length)
    return _examined(_on_steps(status, events), events, max_length)


@singledispatch
def declare(status: Any) -> Regularity:
    """What is known of a status without looking at events."""
    return Regularity(None, "it does not say; pass events= to examine it")


@declare.register
def _(status: Returns) -> Regularity:
    if status.discount == 1.0:
        return Regularity(False, "a sum grows without bound; with a horizon it is value-regular")
    return Regularity(
        False, "discounted returns take a new value at any length; with a horizon they are finite"
    )


@declare.register
def _(status: Decayed) -> Regularity:
    return Regularity(False, "what fades never quite goes, so that every length brings new values")


@declare.register
def _(status: WaitingTime) -> Regularity:
    return Regularity(False, "a wait grows without bound; with a horizon it is value-regular")


@declare.register
def _(status: Window) -> Regularity:
    return Regularity(True, f"the last {status.length} steps are one of finitely many strings")


@declare.register
def _(status: StateStatus) -> Regularity:
    return Regularity(True, "it is read off the state, of which the paper has finitely many")


@declare.register
def _(status: TableStatus) -> Regularity:
    return Regularity(True, f"it is an automaton of {status.memory.size} states")


@declare.register
def _(status: Derived) -> Regularity:
    # Of a status that is not value-regular a function still may be, as a remainder is.
    inner = declare(status.of)
    return _computed(inner) if inner.regular else declare(None)


@declare.register(GroupTotals)
@declare.register(PerEntitlement)
@declare.register(EnvyOfBest)
@declare.register(PairwiseEnvy)
def _(status: Derived) -> Regularity:
    return _computed(declare(status.of))  # what has no bound has none when summed or compared


def _computed(inner: Regularity) -> Regularity:
    return Regularity(inner.regular, f"it is computed from another: {inner.reason}")


@declare.register
def _(status: Modulo) -> Regularity:
    if status.counts:
        values = f"{status.modulus} values a stakeholder"
        return Regularity(True, f"a count modulo {status.modulus} takes {values}")
    return declare.dispatch(Derived)(status)


@declare.register
def _(status: Capped) -> Regularity:
    if status.counts:
        return Regularity(
            True, f"a count capped at {status.cap:g} is bounded where no amount is negative"
        )
    return declare.dispatch(Derived)(status)


def _closed(status: Status, events: Events) -> Regularity | None:
    try:
        memory = table_memory(status, events, events.num_stakeholders, max_states=10_000)
    except DoesNotClose:
        return None
    return Regularity(True, f"over these events it carries one of {memory.size} states")


def _fold(status: Status, events: Events) -> Callable[[tuple[Step, ...]], Any]:
    def value(steps: tuple[Step, ...]) -> Any:
        state = status.init(events.num_stakeholders)
        for step in steps:
            state = status.update(state, step)
        return status.value(state)

    return value


def _on_steps(
    function: Callable[[Trace], Any], events: Events
) -> Callable[[tuple[Step, ...]], Any]:
    size = events.num_stakeholders
    return lambda steps: function(Trace.from_steps(steps, num_stakeholders=size))


def _examined(
    value_of: Callable[[tuple[Step, ...]], Any], events: Events, max_length: int
) -> Regularity:
    evidence = examine(value_of, events, max_length)
    if evidence.memory is not None:
        return Regularity(
            None,
            f"no counterexample up to length {max_length}: a memory of {evidence.memory.size} "
            "states gives every value",
            evidence,
        )
    return Regularity(
        None,
        f"no finite memory gives every value up to length {max_length}, as far as is seen: "
        f"histories of up to 0, 1, … events take "
        f"{', '.join(map(str, evidence.distinct_values))} values and fall into "
        f"{', '.join(map(str, evidence.classes))} classes",
        evidence,
    )
