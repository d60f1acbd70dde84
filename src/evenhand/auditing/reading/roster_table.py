"""The roster as a table says it, and how it fits the log; and the groups, which both may name."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from evenhand._util.checks import first_repeated
from evenhand._util.moments import CALENDAR, as_numbers
from evenhand._util.wording import as_names, join_names, pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.events import LogEvents, group_name, writing_beside
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.roster import Roster
from evenhand.auditing.reading.values import PLAINLY, Typed, Writing, misplaced, read_times
from evenhand.auditing.sources.engines import fetch
from evenhand.auditing.sources.log_table import LogTable
from evenhand.auditing.sources.open_source import open_table
from evenhand.errors import BadLog, BadRoster, GroupsDoNotFit, argument
from evenhand.fairness.groups import Groups

if TYPE_CHECKING:
    from jaxtyping import Bool

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
