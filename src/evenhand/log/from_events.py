"""A log from events in memory, and back: who joined, was entitled, asked, was given and left."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from evenhand._util.checks import first_repeated
from evenhand._util.numbers import as_numbers, as_timestamps, parse_moment
from evenhand.errors import BadLog, BadParameter
from evenhand.events import Ask, Entitle, Event, Give, Join, Leave, MemberEvent, Undo
from evenhand.log.history import History, Lots, Roster, TimedAmounts
from evenhand.log.people import checked_roster, whole_days

Source = TypeVar("Source")


class Told(NamedTuple):
    """What events say, as the reading of a log has it."""

    history: History
    lots: Lots
    roster: Roster | None  # where anybody joins
    requests: History | None  # where they are judged
    entitled: Mapping[str, float] | None  # of each at first, where not all are entitled alike
    unordered: int  # gifts that are earlier than the one told before


def read_told(events: Sequence[Event], by_request: bool | None, label: str) -> Told:
    """The history, the roster and the requests that events tell.

    Args:
        events: What happened, in order.
        by_request: Whether requests are judged; None for whether anybody asks.
        label: What the events are called in messages.
    """
    people = [one for one in _without_undone(events) if isinstance(one, MemberEvent)]
    dates = any(isinstance(one.at, str) for one in people)
    told = [(_moment(one, dates), one) for one in people]
    asks = any(isinstance(one, Ask) for one in people) if by_request is None else by_request
    differ = len({one.entitlement for one in people if isinstance(one, Join | Entitle)}) > 1
    entitled = _at_first(people) if differ and not asks else None
    changed = {one.name for at, one in told if isinstance(one, Entitle) and at is not None}
    given = list(given_rows(((*one, None) for one in told), differ, changed))
    if not given:
        raise BadLog(f"{label} have no rows to judge: nothing is given.")
    roster = _roster(told, label)
    wanted = list(wanted_rows(told)) if asks else []
    on_roster = () if roster is None else roster.names
    named = {row.name for row in given} | {name for _, name, _ in wanted}
    everyone = tuple(sorted(named.union(on_roster)))
    kind = "datetime64[us]" if dates else np.float64
    at = np.array([row.at for row in given], dtype=kind)
    history, lots = _counted(given, everyone, at, entitled is not None)
    requests = None
    if asks:
        moments = np.array([at for at, _, _ in wanted], dtype=kind)
        requests, _ = _counted(wanted, everyone, moments, False)
    return Told(history, lots, roster, requests, entitled, int((at[1:] < at[:-1]).sum()))


def _without_undone(events: Sequence[Event]) -> Iterator[Event]:
    """What counts: neither what was undone, which must be something given, nor that it was."""
    undone = {one.number for one in events if isinstance(one, Undo)}
    for number in sorted(undone):
        if not (number <= len(events) and isinstance(events[number - 1], Give)):
            raise BadParameter(f"event {number} is undone, and is none that gives something.")
    for number, one in enumerate(events, 1):
        if number not in undone and not isinstance(one, Undo):
            yield one


def _moment(event: MemberEvent, dates: bool) -> Any:
    """When something happened: a timestamp or a number; None for before everything."""
    at = event.at
    if at is None and isinstance(event, Give | Ask | Leave):
        raise BadParameter(f"a {event.kind} event of {event.name!r} says no time: give it `at`.")
    if at is None or not (dates or isinstance(at, str)):
        return at
    if not isinstance(at, str):
        raise BadParameter(f"some events have dates as their times, and one has {at!r}: choose.")
    try:
        return np.datetime64(parse_moment(at), "us")
    except ValueError:
        raise BadParameter(
            f"an event has the time {at!r}: it must be a date such as 2021-03-31."
        ) from None


def _at_first(people: Sequence[MemberEvent]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in people:
        if isinstance(one, Join | Entitle):
            found.setdefault(one.name, one.entitlement)
    return found


def _roster(told: Sequence[tuple[Any, MemberEvent]], label: str) -> Roster | None:
    """Who was there from when until when; nothing is known of it where nobody joins."""
    first = {one.name: at for at, one in told if isinstance(one, Join)}
    last = {one.name: at for at, one in told if isinstance(one, Leave)}
    twice = first_repeated(one.name for _, one in told if isinstance(one, Join))
    strange = [name for name in last if name not in first]
    if twice is not None or strange:
        raise BadParameter(
            f"{label} let {twice!r} join twice: once is enough, and who leaves is gone for good."
            if twice is not None
            else f"{label} let {strange[0]!r} leave, who has not joined: let them join before."
        )
    if not first:
        return None
    known = {name: at for name, at in first.items() if at is not None}
    return checked_roster(Roster(tuple(first), known, whole_days(last)), label)


class GivenRow(NamedTuple, Generic[Source]):
    """A row of a log: when, who, how much, and what they were then entitled to."""

    at: Any
    name: str
    amount: float
    entitled: float
    source: Source  # whatever came with the event that it is said by


def given_rows(
    told: Iterable[tuple[Any, MemberEvent, Source]], differ: bool, changed: Container[str]
) -> Iterator[GivenRow[Source]]:
    """What was given, a row for each gift, with what each was entitled to at the time.

    What somebody is entitled to is said by a row with the amount 0 as well, where it is said with a
    time, even if they never receive anything. At one moment a log has one entitlement of each: what
    changes after a row of that moment holds from the next one on.

    Args:
        told: What happened in order: when, what, and anything that is to come with its rows.
        differ: Whether not all are entitled alike: only then is it said by rows of its own.
        changed: Whose entitlement changes with time.
    """
    now: dict[str, float] = {}
    news: list[str] = []  # whose entitlement is still to be said
    said: dict[str, tuple[Any, float]] = {}  # of each, the last moment of a row and what it said
    due: tuple[Any, Source] | None = None  # the moment of news that are of one of their own
    last: tuple[Any, Source] | None = None  # that of the last gift

    def tell(at: Any, source: Source) -> Iterator[GivenRow[Source]]:
        for name in dict.fromkeys(news):
            if name not in said or said[name][0] != at:
                said[name] = (at, now[name])
                yield GivenRow(at, name, 0.0, now[name], source)
        news[:] = [name for name in news if said[name][1] != now[name]]

    for at, one, source in told:
        if isinstance(one, Join | Entitle):
            if due is not None and due[0] != at:
                yield from tell(*due)
                due = None
            now[one.name] = one.entitlement
            if at is None or not differ:
                continue
            news.append(one.name)
            # One that never changes holds for the whole log, wherever it is said; one that does
            # counts from its own moment on. Before the first gift there is nothing to judge.
            # It is said when that moment is over, as it may be changed again until then.
            if last is not None and (one.name in changed or at == last[0]):
                due = (at, source)
        elif isinstance(one, Give):
            if due is not None and due[0] != at:
                yield from tell(*due)
            due, last = None, (at, source)
            if news:
                yield from tell(at, source)
            if one.name not in said or said[one.name][0] != at:
                said[one.name] = (at, now.get(one.name, np.nan))
            yield GivenRow(at, one.name, one.amount, said[one.name][1], source)
    if due is not None:
        yield from tell(*due)
    if last is not None:  # of those who joined since
        yield from tell(*last)


def wanted_rows(told: Iterable[tuple[Any, MemberEvent]]) -> Iterator[tuple[Any, str, float]]:
    """Who asked when for how much; what was given to somebody unasked counts as asked for then."""
    left: dict[str, float] = {}  # what each has asked for and not received
    for at, one in told:
        if isinstance(one, Ask):
            left[one.name] = left.get(one.name, 0.0) + one.amount
            yield at, one.name, one.amount
        elif isinstance(one, Give):
            rest = left.get(one.name, 0.0) - one.amount
            if rest < 0.0:
                yield at, one.name, -rest
            left[one.name] = max(0.0, rest)


def _counted(
    rows: Sequence[tuple[Any, ...]], names: tuple[str, ...], at: np.ndarray, entitled: bool
) -> tuple[History, Lots]:
    """Rows added up by time and stakeholder, and one by one."""
    place = {name: k for k, name in enumerate(names)}
    who = np.array([place[row[1]] for row in rows], dtype=np.int64)
    amount = np.array([row[2] for row in rows], dtype=np.float64)
    slots, slot = np.unique(at, return_inverse=True)
    cells, cell = np.unique(slot * len(names) + who, return_inverse=True)
    beside = {}
    if entitled:
        beside["entitled"] = np.full(len(cells), np.nan)
        np.fmax.at(beside["entitled"], cell, np.array([row[3] for row in rows]))
    history = History(
        names=names,
        slots=slots,
        slot=cells // len(names),
        who=cells % len(names),
        amount=np.bincount(cell, weights=amount, minlength=len(cells)),
        rows=len(at),
        events=len(at),
        beside=beside,
    )
    order = np.lexsort((amount, cell))
    new = np.diff(cell[order], prepend=-1) != 0
    new |= np.diff(amount[order], prepend=np.nan) != 0
    begins = np.flatnonzero(new)
    first = order[begins]
    copies = np.diff(begins, append=len(order))
    return history, Lots(slot[first], who[first], amount[first], copies)


def told_of(
    history: History,
    lots: Lots,
    roster: Roster | None,
    shares: np.ndarray | None,
    beside: Mapping[str, Any],
) -> list[Event]:
    """What happened in a log, in order: at one time people join first and leave last.

    Args:
        history: Its time points and stakeholders.
        lots: What each was given, one by one.
        roster: Who was there, and when.
        shares: What each is entitled to.
        beside: What is known over time; of entitlements as they change, and of requests.
    """
    names, dates = history.names, not history.plain_numbers
    if (lots.amount < 0).any():
        raise BadParameter(
            "the log has amounts below 0, which take something back, and no event does that: leave "
            "out what was taken back."
        )

    def moment(number: float) -> Any:
        return as_timestamps(number)[()] if dates else float(number)

    found: list[tuple[float, int, Event]] = []  # when, in what order at that time, what
    first, last = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    if roster is not None and roster.dated:
        first, last = roster.bounds(names, history.plain_numbers)
    over_time = beside.get("entitled")
    levels = _levels(over_time) if isinstance(over_time, TimedAmounts) else {}
    for k, name in enumerate(names):
        own = levels.get(k, [])
        begins = float(own[0][1] if own else 1.0 if shares is None else shares[k])
        at = None if np.isneginf(first[k]) else moment(first[k])
        if roster is not None:
            found.append((first[k], 0, Join(name, at, begins)))
        elif shares is not None:
            found.append((-np.inf, 0, Entitle(name, None, begins)))
        for number, much in own[1:]:
            found.append((number, 1, Entitle(name, moment(number), much)))
        if roster is not None and np.isfinite(last[k]):
            found.append((last[k], 4, Leave(name, moment(last[k]))))
    if isinstance(asked := beside.get("asked"), TimedAmounts):
        for number, k, much in zip(asked.at, asked.who, asked.amount, strict=True):
            if much > 0:
                found.append((number, 2, Ask(names[k], moment(number), much)))
    moments = as_numbers(history.slots)
    for slot, k, much, copies in zip(*vars(lots).values(), strict=True):
        if much > 0:
            gift = (moments[slot], 3, Give(names[k], moment(moments[slot]), much))
            found += itertools.repeat(gift, copies)
    return [event for *_, event in sorted(found, key=lambda one: one[:2])]


def _levels(entitled: TimedAmounts) -> dict[int, list[tuple[float, float]]]:
    """From when on each is entitled to how much, each change once."""
    found: dict[int, list[tuple[float, float]]] = {}
    for at, who, much in zip(entitled.at, entitled.who, entitled.amount, strict=True):
        own = found.setdefault(int(who), [])
        if not own or own[-1][1] != much:
            own.append((float(at), float(much)))
    return found
