"""All who should be served: roster and groups, entitlements, requests, and what they are called."""

from __future__ import annotations

import datetime
import numbers
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from evenhand._util.checks import first_repeated
from evenhand._util.numbers import CALENDAR, as_numbers, moment_label
from evenhand._util.wording import as_names, format_number, join_names, pluralise, short_repr
from evenhand.errors import (
    BadCondition,
    BadLog,
    BadRoster,
    GroupsDoNotFit,
    ZeroEntitlement,
    argument,
)
from evenhand.fairness.groups import Groups
from evenhand.log.cells import PLAINLY, Typed, Writing, misplaced, read_numbers, read_times
from evenhand.log.counting import count_beside
from evenhand.log.engines import fetch
from evenhand.log.files import LogTable, open_table, opened
from evenhand.log.history import History, Roster, TimedAmounts, most_with, open_amount, presence
from evenhand.log.layout import Notes
from evenhand.log.options import AuditOptions
from evenhand.log.rows import (
    LogEvents,
    group_name,
    plain_name,
    read_events,
    require_column,
    writing_beside,
)

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


# All who should be served: the roster and groups, entitlements, and what they are called.

# The roster as a table says it, and how it fits the log; and the groups, which both may name.

FROM, UNTIL = ("from", "start", "since"), ("until", "to", "end")


def roster_of(options: AuditOptions) -> Roster:
    """The roster that is given, also with those who are not to be judged."""
    return read_roster(
        options.roster,
        options.stakeholder,
        next(iter(options.group_columns), None),
        writing_beside(options),
        options.encoding,
    )


def read_roster(
    source: Any,
    stakeholder: str,
    group: str | None = None,
    writing: Writing = PLAINLY,
    encoding: str = "utf-8",
) -> Roster:
    """A roster from a file or a table: a column of names, and from and until if there are any.

    From Python it may also be a plain list of names, of which numbers are as they are written.

    Args:
        source: The file, the table, or the names.
        stakeholder: The column of names, if it is called as in the log; otherwise it is the first.
        group: The column of groups, if there is one.
        writing: How times are written. From a period on is from its first day on.
        encoding: How a text file is written.
    """
    if isinstance(source, Roster):
        return source
    if _lists_names(source):
        return checked_roster(Roster(as_names(source)), "the roster")
    table = open_table(source, encoding)
    column = stakeholder if stakeholder in table.columns else table.columns[0]
    ends = [next((c for c in table.columns if c.lower() in words), None) for words in (FROM, UNTIL)]
    dates = [name for name in ends if name is not None]
    for name in (column, *dates):
        table.refuse_doubled(name, "roster")
    grouped = [group] if group is not None and group in table.columns else []
    loaded = table.load([column, *dates, *grouped], as_text=[column, *dates, *grouped])
    frame = loaded.frame.with_columns(nw.col(column).cast(nw.String))
    texts = {}
    for name in dates:
        typed = read_times(frame, name, replace(writing, at_end=name == ends[1]))
        _refuse_misplaced(table, name, typed)
        frame, texts[name] = typed.frame, typed.text
    found = fetch(frame)
    for name, text in texts.items():
        _refuse_unread(table, name, found[name], found[text] if text else None)
    known = [
        {
            str(who): moment
            for who, moment in zip(found[column], found[name], strict=True)
            if moment == moment and moment is not None
        }
        if name is not None
        else {}
        for name in ends
    ]
    groups = {
        str(who): str(part)
        for name in grouped
        for who, part in zip(found[column], found[name], strict=True)
        if part is not None
    }
    names = tuple(str(name) for name in found[column] if name is not None)
    return checked_roster(Roster(names, known[0], whole_days(known[1]), groups), table.label)


def _lists_names(source: Any) -> bool:
    """Whether a roster is the names themselves: texts and numbers, and not files or rows."""
    if isinstance(source, np.ndarray):
        return source.ndim == 1
    return isinstance(source, list | tuple) and all(
        isinstance(name, str | numbers.Number) for name in source
    )


def whole_days(last: dict[str, Any]) -> dict[str, Any]:
    """Those who are there until a day are there until that day ends."""
    day = np.timedelta64(datetime.timedelta(days=1)) - np.timedelta64(1, "us")
    return {
        who: moment + day
        if isinstance(moment, np.datetime64) and moment == moment.astype("datetime64[D]")
        else moment
        for who, moment in last.items()
    }


def checked_roster(roster: Roster, label: str) -> Roster:
    """A roster on which everybody is once, and leaves no earlier than they come."""
    names = roster.names
    if not names:
        raise BadRoster(f"{label} names nobody: put a name in each row.")
    twice = first_repeated(names)
    if twice is not None:
        raise BadRoster(f"{label} names {twice!r} twice: one row each.")
    for name in sorted(roster.first.keys() & roster.last.keys()):
        kinds = {np.asarray(part[name]).dtype.kind == "M" for part in (roster.first, roster.last)}
        if len(kinds) > 1:
            raise BadRoster(
                f"{label} gives {name!r} a date and a plain number for from and until: write both "
                "in one way."
            )
        if roster.first[name] > roster.last[name]:
            raise BadRoster(f"{label} lets {name!r} leave before coming: fix from and until.")
    return roster


def _refuse_unread(
    table: LogTable, name: str, values: np.ndarray, texts: np.ndarray | None
) -> None:
    if texts is None:
        return
    for row, (value, text) in enumerate(zip(values, texts, strict=True), 1):
        if text is not None and value != value:
            raise BadRoster(
                f"column {name!r} of {table.label} holds {text!r} at row {row}, which is not a "
                "date: write it as 2021-03-31."
            )


def _refuse_misplaced(table: LogTable, name: str, typed: Typed) -> None:
    lost = typed.frame.filter(misplaced(typed.frame, name, typed.plain_numbers))
    shown = nw.col(typed.text or name).cast(nw.String)
    found = fetch(lost.select(shown=shown).head(1))["shown"]
    if len(found):
        raise BadRoster(
            f"column {name!r} of {table.label} holds {found[0]!r}, which lies outside {CALENDAR}: "
            "write a date such as 2021-03-31, or leave it empty where there is no end."
        )


def apply_roster(history: History, roster: Roster, notes: Notes, levels: bool = False) -> History:
    """Refuse events of people who are not on the roster; leave out those outside their stay.

    Args:
        history: Who received what.
        roster: Who is there, and when.
        notes: Where to note what was left out.
        levels: Whether amounts are levels, which hold on whether anybody is there or not.
    """
    strangers = sorted(set(history.names) - set(roster.names))
    if strangers:
        raise BadRoster(
            f"{pluralise(len(strangers), 'stakeholder is', 'stakeholders are')} in the log and not "
            f"on the roster ({join_names([repr(name) for name in strangers], 3)}): add them to it, "
            f"or leave them out with {argument('exclude')}."
        )
    if not roster.dated:
        return history
    first, last = roster.bounds(history.names, history.plain_numbers)
    moments = as_numbers(history.slots)
    outside, lost = 0, 0.0

    def inside(part: slice) -> Bool[np.ndarray, " cell"]:
        nonlocal outside, lost
        at, who = moments[history.slot[part]], history.who[part]
        here = (at >= first[who]) & (at <= last[who])
        outside += int((~here & (history.amount[part] != 0)).sum())
        lost += float(history.amount[part][~here].sum())
        return here

    left = history.only_cells(inside)
    if not len(left.slots):
        raise BadLog(
            "every row of the log is of somebody who had not come yet or had left, by the roster's "
            "dates: nothing is left to judge, so fix from and until of the roster."
        )
    if outside and not levels:
        notes.add(
            f"At {pluralise(outside, 'time')} a stakeholder received something before coming or "
            f"after leaving, by the roster's dates: {lost:,g} in all, not counted."
        )
    return left


def read_groups(events: LogEvents, known: Mapping[str, str]) -> dict[str, str]:
    """The group of each stakeholder, of several columns joined; two groups at once are an error."""
    columns = range(len(events.options.group_columns))
    found = [_groups_of_column(events, group_name(place)) for place in columns]
    if len(found) == 1:
        return dict(known) | found[0]
    everyone = set[str]().union(*found)
    return {
        name: ", ".join(part[name] for part in found)
        for name in everyone
        if all(name in part for part in found)
    }


def _groups_of_column(events: LogEvents, name: str) -> dict[str, str]:
    column = nw.col(name)
    given = events.frame.filter(~column.is_null())
    found = fetch(given.group_by("who").agg(low=column.min(), high=column.max()).sort("who"))
    for who, low, high in zip(found["who"], found["low"], found["high"], strict=True):
        if low != high:
            raise GroupsDoNotFit(
                f"{str(who)!r} is in two groups ({str(low)!r} and {str(high)!r}): one group each, "
                f"so make the group part of the name or choose with {argument('where')}."
            )
    return dict(zip(map(str, found["who"]), map(str, found["low"]), strict=True))


def as_groups(group_of: Mapping[str, str], names: tuple[str, ...]) -> Groups:
    """The groups, in alphabetical order, as indices into the names."""
    missing = [name for name in names if name not in group_of]
    if missing:
        raise GroupsDoNotFit(
            f"no group is known for {join_names([repr(name) for name in missing], 3)}: fill in the "
            f"column, in the log or on the roster, or leave them out with {argument('exclude')}."
        )
    members: dict[str, list[int]] = {name: [] for name in sorted(set(group_of.values()))}
    for place, name in enumerate(names):
        members[group_of[name]].append(place)
    return Groups.of({name: part for name, part in members.items() if part})


# What each is entitled to: a column of the log, or a table of two columns (population, need).


def of_column(history: History) -> dict[str, float]:
    """The latest number of each stakeholder."""
    known = ~np.isnan(history.beside["entitled"])
    latest = dict(zip(history.who[known].tolist(), history.beside["entitled"][known], strict=True))
    return {history.names[who]: float(value) for who, value in latest.items()}


def highest(history: History) -> dict[str, float]:
    """The highest number of each stakeholder."""
    entitled = history.beside["entitled"]
    known = ~np.isnan(entitled)
    most = np.full(len(history.names), -np.inf)
    np.maximum.at(most, history.who[known], entitled[known])
    return {history.names[k]: float(most[k]) for k in np.flatnonzero(np.isfinite(most))}


def of_rows(events: LogEvents, names: Collection[str]) -> dict[str, float]:
    """The numbers of those who have no event, as all of their amounts are empty or suppressed."""
    if not names:
        return {}
    rows = events.frame.filter(nw.col("who").is_in(list(names)))
    found = fetch(rows.group_by("who").agg(entitled=nw.col("entitled").max()))
    known = zip(map(str, found["who"]), found["entitled"].tolist(), strict=True)
    return {name: value for name, value in known if value == value}


def over_time(
    whole: History, history: History, roster: Roster | None, shares: np.ndarray
) -> dict[str, TimedAmounts]:
    """The entitlements as they change, if any does; each counts as of each moment.

    Where somebody's never changes it holds for the whole log, and so does that of somebody who has
    no event (in `shares`). What is said of the whole log counts, also before the part of its
    history that is judged.
    """
    ledger = whole.ledger("entitled")
    known = ~np.isnan(ledger.amount)
    at, who, amount = ledger.at[known], ledger.who[known], ledger.amount[known]
    size = len(history.names)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, who, amount)
    np.maximum.at(high, who, amount)
    if not (low < high).any():
        return {}
    _refuse_zero(low, history.names)
    begins = np.full(size, np.inf)
    np.minimum.at(begins, who, at)
    _refuse_unknown(whole, history, roster, begins, changes=low < high)
    # Those that never change are known from before the first moment.
    silent = low > high  # no event says it
    always = np.flatnonzero((low == high) | silent)
    return {
        "entitled": TimedAmounts(
            np.concatenate((np.full(len(always), -np.inf), at)),
            np.concatenate((always, who)),
            np.concatenate((np.where(silent, shares, low)[always], amount)),
            size,
        )
    }


def _refuse_unknown(
    whole: History,
    history: History,
    roster: Roster | None,
    begins: np.ndarray,
    changes: np.ndarray,
) -> None:
    """Whoever is judged before the first value of an entitlement that changes has none yet."""
    here = presence(roster, history.names, history.slots)
    moments = as_numbers(history.slots)
    first = np.full(len(history.names), moments[0])
    if here is not None:
        first = np.where(here.any(axis=0), moments[here.argmax(axis=0)], np.inf)
    for place in np.flatnonzero(changes & (first < begins))[:1]:
        known = whole.slots[int(np.searchsorted(as_numbers(whole.slots), begins[place]))]
        raise BadRoster(
            f"the entitlement of {history.names[place]!r} changes over time and is not known "
            f"before {moment_label(known)}, but it is judged from "
            f"{moment_label(history.slots[int(np.searchsorted(moments, first[place]))])} on: give "
            f"it a value from the start, or a date from which it is there with "
            f"{argument('roster')}."
        )


def _refuse_zero(low: np.ndarray, names: tuple[str, ...]) -> None:
    for place in np.flatnonzero(low <= 0)[:1]:
        raise ZeroEntitlement(
            f"the entitlement of {names[place]!r} is {low[place]:g}: it must be positive; "
            f"leave out those who are entitled to nothing with {argument('exclude')}."
        )


def of_table(
    source: Any, stakeholder: str, encoding: str = "utf-8", decimal: str | None = None
) -> dict[str, float]:
    """From a table with a column of names and a column of numbers, or from a mapping.

    Args:
        source: The table, or where it is.
        stakeholder: The column of names, where it has that column; else it is the first.
        encoding: How text files are written.
        decimal: The sign before the fraction, if the user says it.
    """
    if isinstance(source, Mapping):
        return {str(name): _number(name, value) for name, value in source.items()}
    table = open_table(source, encoding)
    if len(table.columns) != 2:
        raise BadRoster(
            f"{table.label} has {len(table.columns)} columns: a table of entitlements has two, "
            "the name and the number."
        )
    name = stakeholder if stakeholder in table.columns else table.columns[0]
    table.refuse_doubled(name, "entitlement")
    number = next(column for column in table.columns if column != name)
    loaded = table.load([name, number], as_text=[name, number])
    typed = read_numbers(loaded.frame, number, Writing(decimal=decimal))
    found = fetch(typed.frame.with_columns(nw.col(name).cast(nw.String)))
    names = [str(who) for who in found[name]]
    twice = first_repeated(names)
    if twice is not None:
        raise BadRoster(f"{table.label} names {twice!r} twice: one row each.")
    return dict(zip(names, found[number].tolist(), strict=True))


def _number(name: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadRoster(
            f"the entitlement of {short_repr(str(name))} is {short_repr(value)}: it must be a "
            "number above 0."
        ) from None


def _if_written_otherwise(missing: list[str], entitlements: Mapping[str, float]) -> str:
    """What to do where a name is there, but in other capitals, spaces or accents."""
    known = {plain_name(name): name for name in entitlements}
    for name in missing:
        if plain_name(name) in known:
            return (
                f"; {name!r} may be {known[plain_name(name)]!r}, written otherwise: "
                f"{argument('merge_names')} takes such names as one"
            )
    return ""


def in_order(entitlements: Mapping[str, float], names: tuple[str, ...]) -> np.ndarray:
    """One positive number for each name, or an error that says whose is missing or zero."""
    missing = [name for name in names if not np.isfinite(entitlements.get(name, np.nan))]
    if missing:
        raise BadRoster(
            f"no entitlement is given for {join_names([repr(n) for n in missing], 12)}: add "
            f"{'it' if len(missing) == 1 else 'them'}, or leave "
            f"{'that stakeholder' if len(missing) == 1 else 'those stakeholders'} out with "
            f"{argument('exclude')}{_if_written_otherwise(missing, entitlements)}."
        )
    values = np.array([entitlements[name] for name in names])
    _refuse_zero(values, names)
    return values


# What stakeholders are to be called in place of the codes that the log has for them.


def read_display_names(source: Any, stakeholder: str, encoding: str = "utf-8") -> Mapping[str, str]:
    """The name to show for each code.

    Args:
        source: A table of two columns (the code and the name), its path, or a mapping; None if
            names are shown as they are in the log.
        stakeholder: The column of codes, if the table has one of this name; otherwise it is the
            first.
        encoding: How a text file is written.
    """
    if source is None:
        return {}
    if isinstance(source, Mapping):
        return {str(code): str(name) for code, name in source.items()}
    table = open_table(source, encoding)
    if len(table.columns) != 2:
        raise BadRoster(
            f"{table.label} has {len(table.columns)} columns: a table of names to show has two, "
            "the code and the name."
        )
    code = stakeholder if stakeholder in table.columns else table.columns[0]
    table.refuse_doubled(code, "display_names")
    name = next(column for column in table.columns if column != code)
    frame = table.load([code, name], as_text=[code, name]).frame
    found = fetch(frame.select(nw.col(code).cast(nw.String), nw.col(name).cast(nw.String)))
    pairs = [
        (str(one), str(other))
        for one, other in zip(found[code], found[name], strict=True)
        if one is not None and other is not None and other == other
    ]
    twice = first_repeated(one for one, _ in pairs)
    if twice is not None:
        raise BadRoster(f"{table.label} names {twice!r} twice: one row each.")
    return dict(pairs)


def fitted(shown: Mapping[str, str], codes: Sequence[str], notes: Notes) -> dict[str, str]:
    """The names to show for these codes, no two of which may be alike.

    Args:
        shown: The names that were given.
        codes: Those in the log.
        notes: Where it is noted who has no name.
    """
    if not shown:
        return {}
    unnamed = [code for code in codes if code not in shown]
    if len(unnamed) == len(codes):
        raise BadRoster(
            f"{argument('display_names')} has a name for none of the stakeholders "
            f"({join_names([repr(code) for code in codes], 3)}): its codes must be written as in "
            "the log."
        )
    names = {code: shown.get(code, code) for code in codes}
    for name, count in Counter(names.values()).items():
        if count > 1:
            same = [repr(code) for code in codes if names[code] == name]
            raise BadRoster(
                f"{join_names(same, 3)} would all be shown as {name!r}: give each its own name in "
                f"{argument('display_names')}."
            )
    if unnamed:
        notes.add(
            f"{pluralise(len(unnamed), 'stakeholder has', 'stakeholders have')} no name in "
            f"{argument('display_names')} and {'is' if len(unnamed) == 1 else 'are'} shown as in "
            f"the log: {join_names(unnamed)}."
        )
    return names


# Who asked for how much, and when; what is left of it.

# Who asked for how much, and when: in the rows of the log, or a log of requests of its own.


def read_requests(options: AuditOptions, on_roster: Sequence[str], notes: Notes) -> History | None:
    """A log of requests of its own, read as any log is; what it gives out is what was asked for.

    Everybody's are read; `of_those` leaves out those who are not judged.

    Args:
        options: What is asked.
        on_roster: Names whose spelling is right.
        notes: Where to note how the requests were read.
    """
    if options.requests is None:
        return None
    alone = AuditOptions(
        stakeholder=options.requests_stakeholder or options.stakeholder,
        time=options.requests_time or options.time,
        amount=options.asked,
        where=options.where,
        encoding=options.encoding,
        merge_names=options.merge_names,
    )
    with opened(
        options.requests, options.encoding, options.requests_table, options.engine
    ) as table:
        _require_columns(table, alone)
        events = _read(table, alone, on_roster, writing_beside(options))
        found = count_beside(events, "requests", "what was asked for", notes)
        for place in np.flatnonzero(found.amount < 0)[:1]:
            raise BadLog(
                f"{table.label} has a request below 0 ({found.amount[place]:g}, by "
                f"{found.names[found.who[place]]!r} at "
                f"{moment_label(found.slots[found.slot[place]])}): a request that was withdrawn "
                "is left out, so remove both rows."
            )
        return found


def _read(
    table: LogTable, alone: AuditOptions, on_roster: Sequence[str], writing: Writing
) -> LogEvents:
    """The events of the requests, of which the same condition must hold as of the log."""
    try:
        return read_events(table, alone, on_roster, writing)
    except BadCondition as error:
        raise BadCondition(
            f"{argument('where')} leaves rows of {argument('requests')} out too, and cannot be "
            f"asked of {table.label}: {error}"
        ) from None


def _require_columns(table: LogTable, alone: AuditOptions) -> None:
    """Refuse columns that the requests do not have, under the arguments that can name them."""
    named = {
        "requests_stakeholder": alone.stakeholder,
        "requests_time": alone.time,
        "asked": alone.amount,
    }
    for given, name in named.items():
        if name is not None:
            require_column(table, name, given)


def of_those(requests: History, chosen: Callable[[str], bool]) -> History:
    """The requests of those who are judged."""
    left = np.array([chosen(name) for name in requests.names])
    names = tuple(name for name in requests.names if chosen(name))
    place = np.cumsum(left) - 1
    kept = requests.only_cells(lambda part: left[requests.who[part]])
    return replace(kept, names=names, who=place[kept.who])


def _until_end(
    requests: History, history: History, until: Any, goes_on: bool, notes: Notes
) -> History:
    """The requests up to the end of what is judged; the later ones may be the worst of it."""
    if until is not None:
        at = requests.slots[requests.slot]
        requests = requests.only_cells(lambda part: at[part] <= until)
    later = requests.slots[requests.slot] > history.slots[-1]
    if later.any() and not goes_on:
        many = int(later.sum())
        notes.add(
            f"{pluralise(many, 'request')} came after the last row of the log "
            f"({format_number(float(requests.amount[later].sum()))} in all) and "
            f"{'is' if many == 1 else 'are'} not judged: give {argument('every')} and "
            f"{argument('until')} to judge periods up to a later date."
        )
    return requests


def asked_over_time(
    history: History, requests: History | None, until: Any, goes_on: bool, notes: Notes
) -> TimedAmounts:
    """What each of a history's stakeholders has asked for; refused where service came first.

    Args:
        history: Who received what.
        requests: Who asked for what, if that is not in the rows of the history.
        until: The moment up to which requests count, if one is given.
        goes_on: Whether the history is judged up to then, also after its last row.
        notes: Where to note requests that are not judged.
    """
    if requests is None:
        ledger = history.ledger("asked")
    else:
        if requests.plain_numbers != history.plain_numbers:
            kinds = ("dates", "plain numbers")
            raise BadLog(
                f"the times of the log are {kinds[history.plain_numbers]}, and those of "
                f"{argument('requests')} are {kinds[requests.plain_numbers]}: give times of one "
                "kind."
            )
        requests = _until_end(requests, history, until, goes_on, notes)
        place = {name: k for k, name in enumerate(history.names)}
        known = np.array([place.get(name, -1) for name in requests.names])[requests.who]
        ledger = TimedAmounts(
            as_numbers(requests.slots)[requests.slot][known >= 0],
            known[known >= 0],
            requests.amount[known >= 0],
            len(history.names),
        )
    _refuse_unasked(history, ledger)
    return ledger


def open_from(
    asked: TimedAmounts, received: TimedAmounts, since: float, notes: Notes
) -> TimedAmounts:
    """What is wanted from a moment on: what was still open then, and what was asked for later.

    What was received before then has met the oldest requests first; those that are open keep the
    time at which they were made, so that it is known who has waited for how long.
    """
    before, known = received.at < since, asked.at < since
    met = np.bincount(received.who[before], received.amount[before], asked.size)
    left = asked.amount.copy()
    left[known] = np.minimum(left[known], open_amount(_so_far(asked)[known], met[asked.who[known]]))
    still = known & (left > 0)
    if still.any():
        many = int(still.sum())
        notes.add(
            f"{pluralise(many, 'request')} made before {argument('since')} "
            f"{'was' if many == 1 else 'were'} still open then "
            f"({format_number(float(left[still].sum()))} in all) and "
            f"{'counts' if many == 1 else 'count'} from then on."
        )
    kept = ~known | still
    return TimedAmounts(asked.at[kept], asked.who[kept], left[kept], asked.size)


def _so_far(entries: TimedAmounts) -> Float[np.ndarray, " entry"]:
    """What the one whom each entry concerns has asked for, up to and with that entry."""
    order = np.argsort(entries.who, kind="stable")
    found = np.empty_like(entries.amount)
    # Each by itself: a sum over all, less that of the others, would not come out even.
    for own in np.split(order, np.flatnonzero(np.diff(entries.who[order])) + 1):
        found[own] = np.cumsum(entries.amount[own])
    return found


def _refuse_unasked(history: History, ledger: TimedAmounts) -> None:
    """Nobody can have received more than it had asked for by then."""
    asked, start = ledger.totals(), 0
    received = np.zeros(len(history.names))
    for rewards in history.rewards(np.arange(len(history.slots)), len(history.slots)):
        totals = received + np.cumsum(rewards, axis=0)
        known = asked.by(history.slots[start : start + len(rewards)])
        over = totals > most_with(known)
        for row, who in np.argwhere(over)[:1]:
            raise BadLog(
                f"by {moment_label(history.slots[start + row])} {history.names[who]!r} had "
                f"received {totals[row, who]:g} and asked for {known[row, who]:g}: a request comes "
                f"no later than its service, so fix its time or its amount, or leave "
                f"{argument('asked' if 'asked' in history.beside else 'requests')} out."
            )
        received, start = totals[-1], start + len(rewards)
