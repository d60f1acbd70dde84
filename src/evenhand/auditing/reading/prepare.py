"""From a log, with its roster, entitlements and groups, to a history that can be judged."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import parse_moment
from evenhand._util.wording import pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading import entitlement as entitling
from evenhand.auditing.reading.counting import count
from evenhand.auditing.reading.events import LogEvents, read_events
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.ledger import Ledger
from evenhand.auditing.reading.roster import Roster
from evenhand.auditing.reading.roster_table import apply_roster, as_groups, read_groups, roster_of
from evenhand.auditing.reading.suspicious_rows import note_aggregate, note_alike, note_rates
from evenhand.auditing.sources.open_source import LogTable
from evenhand.errors import BadLog, BadParameter, NotFinite, argument
from evenhand.fairness.groups import Groups

if TYPE_CHECKING:
    from jaxtyping import Float

LARGEST = 1e290  # that all amounts may add up to, so that sums of sums are still numbers


@dataclass(frozen=True, eq=False)
class Prepared:
    """A history with what is known of its stakeholders."""

    history: History
    roster: Roster | None
    group_of: dict[str, str]
    groups: Groups | None  # where groups are judged
    shares: Float[np.ndarray, " stakeholder"] | None  # what each is entitled to, at the end
    until: Any
    beside: Mapping[str, Ledger] = field(default_factory=dict)  # by part of the circumstances


def prepare(table: LogTable, options: AuditOptions, exact: bool, notes: Notes) -> Prepared:
    """Read, filter, count and check; what is odd but not an error goes into the notes."""
    roster = None if options.roster is None else roster_of(options)
    names = () if roster is None else roster.names
    events = read_events(table, options, names)
    history = count(events, notes, exact, names)
    _refuse_too_large(history, table.label)
    until = _read_until(options.until, history.plain_numbers)
    history = _cut(history, until, notes)
    if roster is not None:
        history = apply_roster(history, roster, notes)
    else:
        notes.add(
            "No roster was given: those who received nothing and are not in the log are not judged."
        )
    note_aggregate(history, notes)
    note_alike(history, notes)
    if options.out_of is None and not options.cumulative:
        note_rates(history, options.amount, notes)
    group_of: dict[str, str] = {}
    if options.group is not None:
        group_of = read_groups(events, {} if roster is None else roster.groups)
    groups = as_groups(group_of, history.names) if options.by_group else None
    shares, beside = _shares(events, history), {}
    if options.out_of is not None:
        beside["chances"] = history.ledger("chances")
    elif shares is not None and events.has("entitled"):
        beside |= entitling.over_time(history, roster)
    return Prepared(history, roster, group_of, groups, shares, until, beside)


def _refuse_too_large(history: History, label: str) -> None:
    most = max(float(history.amount.max()), -float(history.amount.min()))
    if most * len(history.amount) > LARGEST:
        raise NotFinite(
            f"the amounts of {label} are too large to add up (one is {most:g}): fix them, leave "
            f"such rows out with {argument('where')}, or count in larger units, such as millions."
        )


def _shares(events: LogEvents, history: History) -> Float[np.ndarray, " stakeholder"] | None:
    options = events.options
    if options.entitlement is None:
        return None
    if events.has("entitled"):
        given = entitling.of_column(history)
    else:
        given = entitling.of_table(options.entitlement, options.stakeholder, options.encoding)
    return entitling.in_order(given, history.names)


def _read_until(value: Any, plain_numbers: bool) -> Any:
    """The moment up to which the log is whole: of a day its last one, or a number."""
    if value is None:
        return None
    what = f"{argument('until')} is {value!r}"
    if plain_numbers:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise BadParameter(
                f"{what}, and the log's times are plain numbers: give a number."
            ) from None
    if isinstance(value, datetime.date | np.datetime64):
        value = str(value)
    try:
        found = np.datetime64(parse_moment(str(value)), "us")
    except ValueError:
        raise BadParameter(f"{what}: it must be a date such as 2021-03-31.") from None
    if found == found.astype("datetime64[D]"):
        found += np.timedelta64(1, "D") - np.timedelta64(1, "us")
    return found


def _cut(history: History, until: Any, notes: Notes) -> History:
    """The history up to and including `until`; what comes after is counted in a note."""
    if until is None or not (history.slots > until).any():
        return history
    left, given = int((history.slots <= until).sum()), argument("until")
    if not left:
        raise BadLog(f"the log begins after {given}: nothing is left to judge.")
    notes.add(f"{pluralise(len(history.slots) - left, 'time point')} after {given} were left out.")
    return history.before(left)
