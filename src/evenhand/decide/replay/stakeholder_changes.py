"""What happens to the stakeholders of a log beside what they receive: joining, leaving, asking.

Logs have millions of rows, so these events are never made one by one: each is a row of columns that
says its class, when, to whom and how much.
"""

from __future__ import annotations

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.decide.rules.rule_state import RuleState
from evenhand.events import Ask, Entitle, Join, Leave, MemberEvent
from evenhand.log.log import Supply

# In the order in which they count at one moment. Whoever leaves is there until the end of it.
AT_ONE_MOMENT: tuple[type[MemberEvent], ...] = (Leave, Entitle, Join, Ask)


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
        # When and for how much somebody asked before they joined.
        self._early: dict[int, list[tuple[float, float]]] = {}
        self._entitled = _first_entitlements(supply).tolist()
        self._coming = _changes(supply)
        self._next = 0

    def until(self, moment: float) -> None:
        """Let everything happen that happens up to a moment."""
        coming, state = self._coming, self.state
        while self._next < len(coming) and coming[self._next][0] <= moment:
            at, kind, who, much = coming[self._next]
            state.time = max(at, state.time) if self.who else at
            self._happen(kind, who, much)
            self._next += 1
        state.time = moment

    def _happen(self, kind: type[MemberEvent], who: int, much: float) -> None:
        state, place = self.state, self.place[who]
        if kind is Join:
            self._join(who)
        elif kind is Leave:
            state.leave(place)
        elif kind is Entitle:
            self._entitled[who] = much
            if place >= 0:
                state.entitle(place, much)
        elif place >= 0:
            state.ask(place, much)
        else:  # who is not there yet can be served once they join
            self._early.setdefault(who, []).append((state.time, much))

    def _join(self, who: int) -> None:
        known = self.state.rule.number_of(self._names[who])
        place = self.state.add(self._entitled[who], who if known is None else known)
        self.place[who] = place
        self.who.append(who)
        for since, amount in self._early.pop(who, ()):
            self.state.ask(place, amount, since)


def _changes(supply: Supply) -> list[tuple[float, type[MemberEvent], int, float]]:
    """All that happens, in order: when, what, to whom, and how much."""
    size = len(supply.names)
    first, last = supply.bounds()
    # Those who are there from the start join together, and those who have left before, never.
    start = as_numbers(supply.moments[:1])[0]
    if "asked" in supply.beside:  # or who asked first would be forgotten until the first lot
        start = supply.beside["asked"].at.min(initial=start)
    first = np.where(last < start, np.inf, np.maximum(first, start))
    last = np.where(last < start, np.inf, last)
    gone = np.flatnonzero(np.isfinite(last))
    columns: dict[type[MemberEvent], tuple[np.ndarray, ...]] = {
        Join: (first, np.arange(size), np.zeros(size)),
        Leave: (np.nextafter(last[gone], np.inf), gone, np.zeros(len(gone))),
    }
    for name, kind in (("entitled", Entitle), ("asked", Ask)):
        if name in supply.beside:
            known = supply.beside[name]
            said = known.amount > 0.0 if kind is Ask else slice(None)
            columns[kind] = (known.at[said], known.who[said], known.amount[said])
    kinds = [kind for kind in AT_ONE_MOMENT if kind in columns]
    at, who, much = (
        np.concatenate(part) for part in zip(*(columns[kind] for kind in kinds), strict=True)
    )
    rank = np.repeat(np.arange(len(kinds)), [len(columns[kind][0]) for kind in kinds])
    order = np.lexsort((who, rank, at))
    return [
        (when, kinds[what], whom, amount)
        for when, what, whom, amount in zip(
            *(part[order].tolist() for part in (at, rank, who, much)), strict=True
        )
    ]


def _first_entitlements(supply: Supply) -> np.ndarray:
    """What each is entitled to when they join, if nothing else is said by then."""
    entitled = supply.entitled()
    if isinstance(entitled, np.ndarray):
        return entitled
    known, found = supply.beside["entitled"], np.ones(len(supply.names))
    found[known.who[::-1]] = known.amount[::-1]  # of several, the first
    return found
