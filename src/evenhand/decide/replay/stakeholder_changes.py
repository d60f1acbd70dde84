"""What happens to the stakeholders of a log beside what they receive: joining, leaving, asking."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.auditing.judging.supply import Supply
from evenhand.decide.rules.rule_state import RuleState

Change = tuple[float, int, int, float]  # when, what (a place in HAPPENINGS), to whom, how much


def _leave(members: Members, who: int, value: float) -> None:
    members.state.leave(members.place[who])


def _join(members: Members, who: int, value: float) -> None:
    members.add(who)


def _entitle(members: Members, who: int, value: float) -> None:
    members.entitled[who] = value
    if members.place[who] >= 0:
        members.state.entitle(members.place[who], value)


def _ask(members: Members, who: int, value: float) -> None:
    members.asked(who, value)


# In the order in which they count at one moment. Whoever leaves is there until the end of it.
HAPPENINGS: tuple[Callable[[Members, int, float], None], ...] = (_leave, _entitle, _join, _ask)
LEAVE, ENTITLE, JOIN, ASK = range(4)


class Members:
    """The stakeholders of a supply in the state of a rule, kept up to date moment by moment.

    Args:
        supply: What was given out, and who was there.
        state: The state of a rule in which nobody has joined yet.
    """

    def __init__(self, supply: Supply, state: RuleState) -> None:
        self.state, self._names = state, supply.names
        size = len(supply.names)
        self.place = [-1] * size  # by number of the stakeholder; in the order of joining
        self.who: list[int] = []  # and back
        # When and for how much somebody asked before it joined.
        self._early: dict[int, list[tuple[float, float]]] = {}
        self.entitled = _first_entitlements(supply).tolist()
        self._changes = _changes(supply)
        self._next = 0

    def until(self, moment: float) -> None:
        """Let everything happen that happens up to a moment."""
        changes, state = self._changes, self.state
        while self._next < len(changes) and changes[self._next][0] <= moment:
            at, what, who, value = changes[self._next]
            state.time = max(at, state.time) if self.who else at
            HAPPENINGS[what](self, who, value)
            self._next += 1
        state.time = moment

    def add(self, who: int) -> None:
        """Somebody joins."""
        known = self.state.rule.number_of(self._names[who])
        self.place[who] = self.state.add(self.entitled[who], who if known is None else known)
        self.who.append(who)
        for since, amount in self._early.pop(who, ()):
            self.state.ask(self.place[who], amount, since)

    def asked(self, who: int, amount: float) -> None:
        """Somebody asks; who is not there yet can be served once it joins."""
        if self.place[who] >= 0:
            self.state.ask(self.place[who], amount)
        else:
            self._early.setdefault(who, []).append((self.state.time, amount))


def _changes(supply: Supply) -> list[Change]:
    """All that happens, in order."""
    size = len(supply.names)
    first, last = supply.bounds()
    # Those who are there from the start join together, and those who have left before, never.
    start = as_numbers(supply.moments[:1])[0]
    if "asked" in supply.beside:  # or who asked first would be forgotten until the first lot
        start = supply.beside["asked"].at.min(initial=start)
    first = np.where(last < start, np.inf, np.maximum(first, start))
    last = np.where(last < start, np.inf, last)
    parts = [(first, JOIN, np.arange(size), np.zeros(size))]
    gone = np.flatnonzero(np.isfinite(last))
    parts.append((np.nextafter(last[gone], np.inf), LEAVE, gone, np.zeros(len(gone))))
    for name, what in (("entitled", ENTITLE), ("asked", ASK)):
        if name in supply.beside:
            known = supply.beside[name]
            parts.append((known.at, what, known.who, known.amount))
    at, kind, who, value = (
        np.concatenate(column)
        for column in zip(
            *((at, np.full(len(at), what), who, value) for at, what, who, value in parts),
            strict=True,
        )
    )
    order = np.lexsort((who, kind, at))
    columns = (at[order], kind[order], who[order], value[order])
    return [
        (when, what, whom, much)
        for when, what, whom, much in zip(*(column.tolist() for column in columns), strict=True)
        if what != ASK or much > 0.0
    ]


def _first_entitlements(supply: Supply) -> np.ndarray:
    """What each is entitled to when it joins, if nothing else is said by then."""
    entitled = supply.entitled()
    if isinstance(entitled, np.ndarray):
        return entitled
    known, found = supply.beside["entitled"], np.ones(len(supply.names))
    found[known.who[::-1]] = known.amount[::-1]  # of several, the first
    return found


def as_floats(moments: np.ndarray) -> list[float]:
    """Moments as the numbers that a rule counts in."""
    numbers: list[float] = as_numbers(moments).tolist()
    return numbers
