"""Section 5.1: whether a status is value-regular, declared or examined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evenhand.errors import DoesNotClose
from evenhand.fairness.status import DeclaredRegularity, Status, TraceFunction
from evenhand.fairness.trace import Step, Trace
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.closure import table_memory
from evenhand.memory.automata.nerode import Evidence, examine


@dataclass(frozen=True)
class Regularity:
    """An answer with its reason; `regular` is None where it is not settled.

    What True and False mean is said at `DeclaredRegularity`. Evidence settles nothing, either
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

    Built-in statuses declare it (`Status.value_regular`). Any other, or a function of a trace (the
    empty one included), is examined on every string of `events` up to `max_length`.

    >>> from evenhand.fairness.status import Modulo, Returns
    >>> print(value_regular(Modulo(12)))
    value-regular: a count modulo 12 takes 12 values per stakeholder
    >>> value_regular(Returns()).regular, value_regular(Returns(), horizon=10).regular
    (False, True)
    """
    if horizon is not None:
        return Regularity(True, f"there are finitely many histories of at most {horizon} steps")
    if isinstance(status, TraceFunction):
        status = status.function
    declared = status.value_regular() if isinstance(status, Status) else DeclaredRegularity()
    if declared.regular is not None or events is None:
        return Regularity(*declared)
    if isinstance(status, Status):
        return _closed(status, events) or _examined(_fold(status, events), events, max_length)
    return _examined(_on_steps(status, events), events, max_length)


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
