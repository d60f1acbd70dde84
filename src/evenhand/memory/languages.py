"""Theorem 2: fairness as a language of histories; when it is regular, and its Nerode classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from automata.base.exceptions import RegexException
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from evenhand._util.numbers import as_float64
from evenhand.errors import (
    BadExpression,
    BadParameter,
    DoesNotClose,
    NotAPartition,
    UnequalLengths,
    UnknownEvent,
)
from evenhand.fairness.status import DeclaredRegularity, Status, TraceFunction
from evenhand.fairness.trace import Step, Trace
from evenhand.memory.automata import MAX_STATES, Events, Reached, TableMemory, reach, table_memory

if TYPE_CHECKING:
    from jaxtyping import Float, Int


# Regular expressions over events whose labels are words.
#
#     (gotA | gotB)* gotA      some events of these two, then gotA
#     . . gotA?                any two events, then perhaps gotA
#     ()                       nothing has happened
#     'a label' '0.5,1'+       labels with blanks or signs in them stand in quotes
#
# Blanks separate labels. There are `|` (or), `*` (any number of times), `+` (at least once), `?`
# (perhaps), `.` (any event), parentheses, and one after the other. Nothing else has a meaning, so
# labels may hold any character but a quote.

TOKEN = re.compile(r"\s*(?:(?P<sign>[()|*+?.])|'(?P<quoted>[^']*)'|(?P<word>[^\s()|*+?.']+))")
PRIVATE = 0xF0000  # the first of 65,534 code points that no text uses: one character a label


def automaton_of(expression: str, events: Events) -> DFA:
    """The automaton of an expression; its input symbols are the labels."""
    letters = {chr(PRIVATE + place): label for place, label in enumerate(events.labels)}
    text = "".join(_letters(expression, events))
    if not text:
        raise BadExpression("the expression is empty: write () where nothing has happened.")
    try:
        dfa = DFA.from_nfa(NFA.from_regex(text, input_symbols=set(letters)))
    except RegexException as error:
        reason = str(error).rstrip(".")
        for letter, label in letters.items():
            reason = reason.replace(letter, label)
        raise BadExpression(f"the expression {expression!r} cannot be read: {reason}.") from None
    return _renamed(dfa, letters)


def _letters(expression: str, events: Events) -> list[str]:
    """The expression with one letter for each label, and without blanks."""
    end = len(expression.rstrip())
    place, letters = 0, []
    while place < end:
        token = TOKEN.match(expression, place)
        if token is None:
            raise BadExpression(
                f"the expression {expression!r} has a quote that does not end, at character "
                f"{place}."
            )
        label = token["word"] or token["quoted"]
        try:
            letters.append(token["sign"] or chr(PRIVATE + events.position(label or "")))
        except UnknownEvent as error:
            raise BadExpression(f"the expression {expression!r}: {error}") from None
        place = token.end()
    return letters


def _renamed(dfa: DFA, names: dict[str, str]) -> DFA:
    return DFA(
        states=dfa.states,
        input_symbols=set(names.values()),
        transitions={
            state: {names[letter]: after for letter, after in row.items()}
            for state, row in dfa.transitions.items()
        },
        initial_state=dfa.initial_state,
        final_states=dfa.final_states,
        allow_partial=True,
    )


# Theorem 1: a value-regular status is Markovian once a finite memory is added.

Product = tuple[Any, ...]  # one state of each automaton; None where it can accept nothing more


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueRegular:
    """Definition "value-regular": finitely many status vectors, and for each a regular language.

    A language is a regular expression (see `evenhand.memory.languages`) or a DFA of
    automata-lib whose input symbols are the labels. Every string must belong to exactly one.

    >>> events = Events(labels=("gotA", "gotB"), label=lambda step: step.action)
    >>> last = ValueRegular(
    ...     values=[[0, 0], [1, 0], [0, 1]],
    ...     languages=["()", ".* gotA", ".* gotB"],
    ...     events=events,
    ... )
    >>> last.status_after(["gotA", "gotB"])
    array([0., 1.])
    """

    values: Float[np.ndarray, "value stakeholder"]
    languages: Sequence[str | DFA]
    events: Events
    max_states: int = MAX_STATES
    automata: tuple[DFA, ...] = field(init=False)
    _product: Reached = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "values", _distinct(as_float64(self.values, "values") + 0.0))
        set_field(self, "languages", tuple(self.languages))
        if len(self.languages) != len(self.values):
            raise UnequalLengths(
                f"there are {len(self.languages)} languages for {len(self.values)} values: give "
                "one each."
            )
        set_field(self, "automata", tuple(_as_dfa(one, self.events) for one in self.languages))
        set_field(self, "_product", self._reach_product())
        self._require_partition()

    def _reach_product(self) -> Reached:
        labels, automata = self.events.labels, self.automata

        def step(state: Product, event: int) -> Product:
            pairs = zip(automata, state, strict=True)
            return tuple(dfa.transitions.get(q, {}).get(labels[event]) for dfa, q in pairs)

        return reach(
            tuple(dfa.initial_state for dfa in automata),
            step,
            len(labels),
            what="the product of the automata",
            key=lambda state: state,
            max_states=self.max_states,
        )

    def _accepted_by(self, state: Product) -> tuple[int, ...]:
        pairs = enumerate(zip(self.automata, state, strict=True))
        return tuple(i for i, (dfa, q) in pairs if q in dfa.final_states)

    def _require_partition(self) -> None:
        for number, state in enumerate(self._product.states):  # the nearest first
            accepted_by = self._accepted_by(state)
            if len(accepted_by) != 1:
                witness = tuple(self.events.labels[e] for e in self._product.string_to(number))
                raise NotAPartition(
                    self._complaint(witness, accepted_by), witness=witness, accepted_by=accepted_by
                )

    def _complaint(self, witness: tuple[str, ...], accepted_by: tuple[int, ...]) -> str:
        string = f"the string {' '.join(witness)!r}" if witness else "the empty string"
        if not accepted_by:
            return (
                f"{string} is in none of the {len(self.values)} languages: every history needs a "
                "status, so widen one of them or add a value."
            )
        which = " and ".join(f"{i} (value {self.values[i].tolist()})" for i in accepted_by)
        return f"{string} is in languages {which}: a history has one status, so narrow all but one."

    def memory(self) -> TableMemory:
        """Theorem 1: M = Q^1 × … × Q^k, as far as it is reached, and U'_M read off acceptance."""
        value_of = [self._accepted_by(state)[0] for state in self._product.states]
        return TableMemory(
            initial=0,
            table=self._product.table,
            events=self.events,
            values=self.values[value_of],
            num_stakeholders=self.values.shape[1],
        )

    def status_after(self, labels: Sequence[str]) -> Float[np.ndarray, " stakeholder"]:
        """The status vector of a string: the value whose automaton accepts it."""
        for label in labels:
            self.events.position(label)  # automata-lib would merely reject an unknown label
        accepting = [dfa.accepts_input(labels) for dfa in self.automata]  # type: ignore[arg-type]
        return self.values[accepting.index(True)]


def _distinct(values: Float[np.ndarray, "value stakeholder"]) -> np.ndarray:
    if values.ndim != 2 or 0 in values.shape:
        raise UnequalLengths(
            f"values have shape {values.shape}: expected [value, stakeholder], with at least one "
            "of each."
        )
    _, first = np.unique(values, axis=0, return_index=True)
    twice = sorted(set(range(len(values))) - set(first.tolist()))
    if twice:
        raise BadParameter(
            f"the value {values[twice[0]].tolist()} is given twice: join its languages with |."
        )
    values.flags.writeable = False
    return values


def _as_dfa(language: str | DFA, events: Events) -> DFA:
    if isinstance(language, str):
        return automaton_of(language, events)
    if not isinstance(language, DFA):
        raise BadParameter(
            f"a language is a {type(language).__name__}: give a regular expression or a DFA of "
            "automata-lib (DFA.from_nfa makes one of an NFA)."
        )
    odd = sorted(set(language.input_symbols) ^ set(events.labels))
    if odd:
        raise BadParameter(
            f"an automaton and the events differ on {odd[0]!r}: its input symbols must be the "
            f"labels ({', '.join(events.labels)})."
        )
    return language


# The Myhill-Nerode theorem up to a length: which histories a memory must distinguish.

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


# Section 5.1: whether a status is value-regular, declared or examined.


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
