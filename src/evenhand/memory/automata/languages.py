"""Theorem 1: a value-regular status is Markovian once a finite memory is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from automata.fa.dfa import DFA

from evenhand._util.numbers import as_float64
from evenhand.errors import BadParameter, NotAPartition, UnequalLengths
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.automaton_memory import TableMemory
from evenhand.memory.automata.expression import automaton_of
from evenhand.memory.automata.reach import MAX_STATES, Reached, reach

if TYPE_CHECKING:
    from jaxtyping import Float

Product = tuple[Any, ...]  # one state of each automaton; None where it can accept nothing more


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueRegular:
    """Definition "value-regular": finitely many status vectors, and for each a regular language.

    A language is a regular expression (see `evenhand.memory.automata.expression`) or a DFA of
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
