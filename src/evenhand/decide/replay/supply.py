"""The supply of a log given out anew by a rule, with those who come and go."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.numbers import as_numbers, moment_label
from evenhand._util.wording import format_number, pluralise
from evenhand.decide.rules.rule import Foreseen, Rule, TieBreak
from evenhand.decide.rules.state import RuleState
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.events import Ask, Entitle, Join, Leave, MemberEvent
from evenhand.log.history import MET, Lots, open_amount
from evenhand.log.layout import Notes
from evenhand.log.log import Supply

if TYPE_CHECKING:
    from jaxtyping import Float, Int


# What happens to the stakeholders of a log beside what they receive: joining, leaving, asking.
#
# Logs have millions of rows, so these events are never made one by one: each is a row of columns
# that says its class, when, to whom and how much.

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


# Whether anybody can take what is given out at each time, whatever a rule does.


def require_takers(coming: Supply) -> None:
    """Refuse a supply to come at a time when nobody is there who asked for anything.

    What a log gave out had a taker: a receipt outside somebody's stay or beyond its requests is
    left out or refused when the log is read.

    Args:
        coming: What will be given out, who is there, and the requests.
    """
    amounts, able = coming.amounts(), possible_takers(coming)
    for slot in np.flatnonzero((amounts > 0) & (able == 0))[:1]:
        asked = " who has asked for anything" if "asked" in coming.beside else ""
        raise BadLog(
            f"at {moment_label(coming.moments[slot])} {format_number(amounts[slot])} is to come "
            f"({argument('next')}) and nobody can take it: by the roster nobody is there then"
            f"{asked}. Fix the dates of the roster or of the supply."
        )


def possible_takers(supply: Supply) -> Int[np.ndarray, " time"]:
    """How many are there at each time point and, where requests are known, had asked by then."""
    size = len(supply.names)
    first, last = supply.bounds()
    if "asked" in supply.beside:
        asked, began = supply.beside["asked"], np.full(size, np.inf)
        wants = asked.amount > 0
        np.minimum.at(began, asked.who[wants], asked.at[wants])
        first = np.maximum(first, began)
    ever, moments = first <= last, as_numbers(supply.moments)
    come = np.searchsorted(np.sort(first[ever]), moments, side="right")
    return come - np.searchsorted(np.sort(last[ever]), moments, side="left")


# A supply decided by a rule: what was given out, at the same times, to whoever is next.

MOST_AHEAD = 20_000_000  # pairs of a lot and a stakeholder that a rule looks at ahead


@dataclass(frozen=True, eq=False)
class Decisions:
    """Who got what at each time point, in order of time, and what nobody could take."""

    slot: Int[np.ndarray, " decision"]
    who: Int[np.ndarray, " decision"]
    amount: Float[np.ndarray, " decision"]
    left_over: Float[np.ndarray, " time"]
    words: str | None = None  # what the rule could keep, where it looks ahead

    def cells(self, size: int) -> Decisions:
        """With what each got at each time point added up."""
        key, place = np.unique(self.slot * size + self.who, return_inverse=True)
        amount = np.bincount(place, weights=self.amount, minlength=len(key))
        return Decisions(key // size, key % size, amount, self.left_over, self.words)


def state_for(rule: Rule, supply: Supply, ties: TieBreak | None = None) -> RuleState:
    """The state of a rule before a supply, in which nobody has joined yet."""
    by_request = "asked" in supply.beside
    if rule.needs_requests and not by_request:
        raise BadParameter(
            f"{rule.describe()} needs requests: say with {argument('asked')} or "
            f"{argument('requests')} who asked for how much, or choose another rule."
        )
    rule.require_supply(len(supply.names), np.repeat(supply.lots.amount, supply.lots.copies))
    return rule.fitted(supply.moments.dtype.kind != "M").new_state(ties, by_request)


def decide_supply(supply: Supply, rule: Rule, ties: TieBreak | None = None) -> Decisions:
    """Every lot of a supply given to whoever is next by a rule.

    At one time point the largest lot is given first. A rule that divides shares what there is at a
    time point in all, in whole units where the lots are whole. A lot that nobody wants whole is
    split: whoever is next takes what it wants, and so on; what nobody wants is left over.

    Args:
        supply: What was given out when, and who was there.
        rule: Who is next.
        ties: How ties are broken; by the order of joining by default.
    """
    state = state_for(rule, supply, ties)
    members = Members(supply, state)
    taken = Taken(members)
    whole = bool((supply.lots.amount == np.rint(supply.lots.amount)).all())
    left_over = np.zeros(len(supply.moments))
    moments = as_numbers(supply.moments).tolist()
    ahead = None if state.by_request else foreseen(rule, supply)
    known = iter(() if ahead is None or ahead.served is None else ahead.served)
    for slot, amounts in _lots_by_slot(supply):
        members.until(moments[slot])
        if rule.divides:
            left_over[slot] = divide(state, sum(amounts), whole, taken)
        else:
            ones = itertools.islice(known, len(amounts))
            planned = [members.place[who] if who >= 0 else -1 for who in ones]
            left_over[slot] = give_lots(state, amounts, taken, planned)
        taken.end(slot)
    return replace(taken.decisions(left_over), words=ahead and ahead.words)


def foreseen(rule: Rule, supply: Supply) -> Foreseen | None:
    """What a rule makes of knowing who will be there at each lot to come; None: nothing."""
    turns = int(supply.lots.copies[supply.lots.amount > 0].sum())
    if not rule.counts_turns or turns * len(supply.names) > MOST_AHEAD:
        return None
    slots = [slot for slot, amounts in _lots_by_slot(supply) for _ in amounts]
    return rule.foresee(supply.present()[slots])


class Taken:
    """What was given, in compact arrays."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self.place, self.amount = array("q"), array("d")
        self._slots: list[tuple[int, int]] = []  # a time point, and how many decisions there were

    def end(self, slot: int) -> None:
        self._slots.append((slot, len(self.place)))

    def decisions(self, left_over: np.ndarray) -> Decisions:
        ends = np.array([end for _, end in self._slots], dtype=np.int64)
        slots = np.array([slot for slot, _ in self._slots], dtype=np.int64)
        who = np.array(self._members.who, dtype=np.int64)
        place = np.frombuffer(self.place, dtype=np.int64) if len(self.place) else ends[:0]
        return Decisions(
            np.repeat(slots, np.diff(ends, prepend=0)),
            who[place],
            np.array(self.amount, dtype=float),
            left_over,
        )


def lots_in_order(
    supply: Supply,
) -> tuple[Int[np.ndarray, " lot"], Float[np.ndarray, " lot"]]:
    """The time point and the amount of each lot, in the order in which they are given out."""
    lots = supply.lots
    order = np.lexsort((-lots.amount, lots.slot))
    kept = order[lots.amount[order] > 0]
    copies = lots.copies[kept]
    return np.repeat(lots.slot[kept], copies), np.repeat(lots.amount[kept], copies)


def _lots_by_slot(supply: Supply) -> Iterator[tuple[int, list[float]]]:
    """The lots of each time point that has any, the largest first."""
    slot, amount = lots_in_order(supply)
    starts = np.flatnonzero(np.diff(slot, prepend=-1)).tolist()
    for start, stop in itertools.pairwise([*starts, len(slot)]):
        yield int(slot[start]), amount[start:stop].tolist()


def give_lots(
    state: RuleState, amounts: list[float], taken: Taken, planned: Sequence[int] = ()
) -> float:
    """Lots to whoever is next, or to whom it is planned; what is left over."""
    first, give = state.first, state.give
    note_place, note_amount = taken.place.append, taken.amount.append
    left = 0.0
    for turn, amount in enumerate(amounts):
        place = planned[turn] if planned else first(amount)
        if place is None or place < 0:
            left += _split(state, amount, taken)
            continue
        give(place, amount)
        note_place(place)
        note_amount(amount)
    return left


def _split(state: RuleState, amount: float, taken: Taken) -> float:
    """A lot that nobody can take whole, in parts; what is left over."""
    while amount > 0.0 and (place := state.first(0.0)) is not None:
        part = min(amount, state.room(place))
        state.give(place, part)
        taken.place.append(place)
        taken.amount.append(part)
        amount -= part
    return amount


def divide(state: RuleState, amount: float, whole: bool, taken: Taken) -> float:
    """An amount shared among all; what is left over."""
    shares = state.shares(amount)
    if whole:
        index, memory, entitled = state.rule.index, state.memory, state.entitlement
        shares = in_whole_units(shares, [index(memory[k], entitled[k]) for k, _ in shares])
    state.give_all(shares)
    for place, part in shares:
        taken.place.append(place)
        taken.amount.append(part)
    left = amount - sum(part for _, part in shares)
    return left if left > 1e-9 * amount else 0.0


def in_whole_units(shares: list[tuple[int, float]], levels: list[float]) -> list[tuple[int, float]]:
    """Shares in whole units, of the same sum: those with the largest remainder get one more.

    Of equal remainders, those at the lowest level: else the first would always be rounded up.

    >>> in_whole_units([(0, 1.5), (1, 0.5), (2, 1.0)], [3.0, 2.0, 0.0])
    [(0, 1.0), (1, 1.0), (2, 1.0)]
    """
    parts = np.array([part for _, part in shares])
    down = np.floor(parts + 1e-9)
    short = round(float(parts.sum() - down.sum()))
    order = np.lexsort((levels, np.round(down - parts, 9)))
    down[order[:short]] += 1.0
    return [(place, part) for (place, _), part in zip(shares, down.tolist(), strict=True) if part]


# Corrections of a log, which take back what somebody got, set off against what was given out.


def set_off(supply: Supply, notes: Notes) -> Supply:
    """The supply without corrections: what they take back was not there to be given.

    It is taken from the largest lots of the same time point; if these are not enough, of the time
    points before it, the latest first.

    Args:
        supply: A supply in which lots may be below 0.
        notes: Where to note that there were corrections.
    """
    lots = supply.lots
    back = np.flatnonzero(lots.amount < 0)
    if not len(back):
        return supply
    slot, who, amount = (
        np.repeat(part, lots.copies) for part in (lots.slot, lots.who, lots.amount)
    )
    for place in back:
        _take(slot, amount, lots.slot[place], -lots.amount[place] * lots.copies[place], supply)
    kept = amount > 0
    settled = Lots(slot[kept], who[kept], amount[kept], np.ones(int(kept.sum()), dtype=np.int64))
    taken = -float((lots.amount * lots.copies)[back].sum())
    notes.add(
        f"{pluralise(len(back), 'correction')} ({format_number(taken)} in total) "
        f"{'was' if len(back) == 1 else 'were'} deducted from the largest lots of the same time, "
        "or of the time before: what was taken back was not there to be given."
    )
    return replace(supply, lots=settled)


def _take(slot: np.ndarray, amount: np.ndarray, at: int, much: float, supply: Supply) -> None:
    """Take so much from lots of a time point and, where that is not enough, of earlier ones."""
    rounding = MET * much
    able = np.flatnonzero((slot <= at) & (amount > 0))
    for place in able[np.lexsort((-amount[able], -slot[able]))]:
        part = min(much, amount[place])
        amount[place] = open_amount(amount[place], part)  # no lot of next to nothing is left
        much -= part
        if much <= rounding:
            return
    raise BadLog(
        f"by {moment_label(supply.moments[at])} the log takes more back than it had given out: "
        "check the sign of its amounts."
    )
