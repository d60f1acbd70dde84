"""All who should be served, and from when until when: those who got nothing are not in the log."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from evenhand._util.wording import join_names, pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.reading.events import Choice
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.values import read_times
from evenhand.auditing.sources.engines import fetch
from evenhand.auditing.sources.open_source import LogTable, open_table
from evenhand.errors import BadRoster

if TYPE_CHECKING:
    from jaxtyping import Bool

FROM, UNTIL = ("from", "start", "since"), ("until", "to", "end")


@dataclass(frozen=True, eq=False)
class Roster:
    """Names, and the moments between which each is there; infinite where none is given."""

    names: tuple[str, ...]
    first: Mapping[str, Any]
    last: Mapping[str, Any]
    groups: Mapping[str, str] = field(default_factory=dict)

    def chosen(self, choice: Choice) -> Roster:
        """Without those whom --only and --exclude leave out."""
        names = tuple(
            name
            for name in self.names
            if (not choice.only or name in choice.only) and name not in choice.exclude
        )
        return replace(self, names=names)

    @property
    def dated(self) -> bool:
        return bool(self.first or self.last)

    def bounds(self, names: tuple[str, ...], plain_numbers: bool) -> tuple[np.ndarray, np.ndarray]:
        """From and until of each name, as numbers that compare with `as_numbers(moments)`."""
        kind = np.float64 if plain_numbers else "datetime64[us]"

        def numbers(known: Mapping[str, Any], blank: float) -> np.ndarray:
            return np.array(
                [
                    float(as_numbers(np.asarray(known[name]).astype(kind)))
                    if name in known
                    else blank
                    for name in names
                ]
            )

        return numbers(self.first, -np.inf), numbers(self.last, np.inf)


def as_numbers(moments: np.ndarray) -> np.ndarray:
    """Moments as float64: microseconds since 1970 (exact until the year 2255), or as they are."""
    if moments.dtype.kind == "M":
        return moments.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return np.asarray(moments, dtype=np.float64)


def read_roster(
    source: Any, stakeholder: str, group: str | None, time_format: str | None, encoding: str
) -> Roster:
    """A roster from a file or a table: a column of names, and from and until if there are any.

    From Python it may also be a plain list of names.
    """
    if isinstance(source, Roster):
        return source
    if isinstance(source, list | tuple) and all(isinstance(name, str) for name in source):
        return _checked(Roster(tuple(source), {}, {}), "the roster")
    table = open_table(source, encoding)
    column = stakeholder if stakeholder in table.columns else table.columns[0]
    ends = [next((c for c in table.columns if c.lower() in words), None) for words in (FROM, UNTIL)]
    dates = [name for name in ends if name is not None]
    grouped = [group] if group is not None and group in table.columns else []
    loaded = table.load([column, *dates, *grouped], as_text=[column, *dates, *grouped])
    frame = loaded.frame.with_columns(nw.col(column).cast(nw.String))
    texts = {}
    for name in dates:
        typed = read_times(frame, name, time_format)
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
    return _checked(Roster(names, known[0], _whole_days(known[1]), groups), table.label)


def _whole_days(last: dict[str, Any]) -> dict[str, Any]:
    """Whoever is there until a day is there until that day ends."""
    day = np.timedelta64(datetime.timedelta(days=1)) - np.timedelta64(1, "us")
    return {
        who: moment + day
        if isinstance(moment, np.datetime64) and moment == moment.astype("datetime64[D]")
        else moment
        for who, moment in last.items()
    }


def _checked(roster: Roster, label: str) -> Roster:
    names = roster.names
    if not names:
        raise BadRoster(f"{label} names nobody: put a name in each row.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadRoster(f"{label} names {twice!r} twice: one row each.")
    for name in roster.first.keys() & roster.last.keys():
        if roster.first[name] > roster.last[name]:
            raise BadRoster(f"{label} lets {name!r} leave before coming: mend from and until.")
    return roster


def _refuse_unread(
    table: LogTable, name: str, values: np.ndarray, texts: np.ndarray | None
) -> None:
    if texts is None:
        return
    for row, (value, text) in enumerate(zip(values, texts, strict=True), 1):
        if text is not None and value != value:
            raise BadRoster(
                f"column {name!r} of {table.label} holds {text!r} at row {row}, which is no date: "
                "write it as 2021-03-31."
            )


def apply_roster(history: History, roster: Roster, notes: Notes) -> History:
    """Refuse events of people who are not on the roster; leave out those outside their stay."""
    strangers = sorted(set(history.names) - set(roster.names))
    if strangers:
        raise BadRoster(
            f"{pluralise(len(strangers), 'stakeholder is', 'stakeholders are')} in the log and not "
            f"on the roster ({join_names([repr(name) for name in strangers], 3)}): add them to it, "
            "or leave them out with --exclude."
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
        outside += int((~here).sum())
        lost += float(history.amount[part][~here].sum())
        return here

    left = history.only_cells(inside)
    if outside:
        notes.add(
            f"At {pluralise(outside, 'time')} a stakeholder received something before coming or "
            f"after leaving, by the roster's dates: {lost:,g} in all, not counted."
        )
    return left


def presence(
    roster: Roster | None, names: tuple[str, ...], moments: np.ndarray
) -> Bool[np.ndarray, "step stakeholder"] | None:
    """Who is there at each moment, or None where everyone always is."""
    if roster is None or not roster.dated:
        return None
    first, last = roster.bounds(names, moments.dtype.kind != "M")
    at = as_numbers(moments)[:, None]
    return (at >= first) & (at <= last)
