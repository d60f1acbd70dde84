"""From a log, with its roster, entitlements and groups, to a history that can be judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.notes import Notes
from evenhand.auditing.reading import entitlement as entitling
from evenhand.auditing.reading.counting import count
from evenhand.auditing.reading.cutoff import cut_history, read_until
from evenhand.auditing.reading.events import Choice, Columns, LogEvents, read_events
from evenhand.auditing.reading.group_columns import read_groups
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.roster import Roster, apply_roster, read_roster
from evenhand.auditing.reading.suspicious_rows import note_aggregate, note_alike
from evenhand.auditing.sources.open_source import LogTable
from evenhand.errors import NotFinite

if TYPE_CHECKING:
    from jaxtyping import Float

LARGEST = 1e290  # that all amounts may add up to, so that sums of sums are still numbers


@dataclass(frozen=True)
class Wanted:
    """What of a log is to be judged, as the options say it."""

    columns: Columns
    choice: Choice = Choice()
    entitlement: Any = None  # a column of the log, or a table of its own
    roster: Any = None
    until: Any = None
    encoding: str = "utf-8"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A history with what is known of its stakeholders."""

    history: History
    roster: Roster | None
    group_of: dict[str, str]
    shares: Float[np.ndarray, " stakeholder"] | None  # what each is entitled to
    until: Any


def prepare(source: LogTable, wanted: Wanted, exact: bool, notes: Notes) -> Prepared:
    """Read, filter, count and check; what is odd but no error goes into the notes."""
    columns, choice = wanted.columns, wanted.choice
    in_log = wanted.entitlement is not None and entitling.is_column(wanted.entitlement, source)
    if in_log:
        columns = replace(columns, entitlement=wanted.entitlement)
    roster = None
    if wanted.roster is not None:
        roster = read_roster(
            wanted.roster, columns.stakeholder, columns.group, columns.time_format, wanted.encoding
        ).chosen(choice)
    names = () if roster is None else roster.names
    events = read_events(source, columns, choice, names)
    history = count(events, notes, exact, names)
    _refuse_too_large(history, source.label)
    until = read_until(wanted.until, history.plain_numbers)
    history = cut_history(history, until, notes)
    if roster is not None:
        history = apply_roster(history, roster, notes)
    else:
        notes.add(
            "No roster was given: whoever received nothing and is not in the log is not judged."
        )
    note_aggregate(history, notes)
    note_alike(history, notes)
    group_of = {}
    if columns.group is not None:
        group_of = read_groups(events, {} if roster is None else roster.groups)
    shares = _shares(events, wanted, history, in_log, notes)
    return Prepared(history, roster, group_of, shares, until)


def _refuse_too_large(history: History, label: str) -> None:
    most = max(float(history.amount.max()), -float(history.amount.min()))
    if most * len(history.amount) > LARGEST:
        raise NotFinite(
            f"the amounts of {label} are too large to add up (one is {most:g}): mend them, leave "
            "such rows out with --where, or count in larger units, such as millions."
        )


def _shares(
    events: LogEvents, wanted: Wanted, history: History, in_log: bool, notes: Notes
) -> Float[np.ndarray, " stakeholder"] | None:
    if wanted.entitlement is None:
        return None
    if in_log:
        given = entitling.of_column(events, notes)
    else:
        stakeholder = wanted.columns.stakeholder
        given = entitling.of_table(wanted.entitlement, stakeholder, wanted.encoding)
    return entitling.in_order(given, history.names)
