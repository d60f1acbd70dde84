"""Regular expressions over events whose labels are words.

    (gotA | gotB)* gotA      some events of these two, then gotA
    . . gotA?                any two events, then perhaps gotA
    ()                       nothing has happened
    'a label' '0.5,1'+       labels with blanks or signs in them stand in quotes

Blanks separate labels. There are `|` (or), `*` (any number of times), `+` (at least once), `?`
(perhaps), `.` (any event), parentheses, and one after the other. Nothing else has a meaning, so
labels may hold any character but a quote.
"""

from __future__ import annotations

import re

from automata.base.exceptions import RegexException
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from evenhand.errors import BadExpression, UnknownEvent
from evenhand.memory.automata.alphabet import Events

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
