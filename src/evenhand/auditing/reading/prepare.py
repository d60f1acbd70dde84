"""From a log, with its roster, entitlements and groups, to a history that can be judged."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import parse_moment
from evenhand._util.wording import pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading import entitlement as entitling
from evenhand.auditing.reading.checks import refuse_unreadable
from evenhand.auditing.reading.counting import count
from evenhand.auditing.reading.events import LogEvents, read_events
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.lots import Lots, read_lots
from evenhand.auditing.reading.requests import asked_over_time, read_requests
from evenhand.auditing.reading.roster import Roster
from evenhand.auditing.reading.roster_table import apply_roster, as_groups, read_groups, roster_of
from evenhand.auditing.reading.suspicious_rows import note_aggregate, note_alike, note_rates
from evenhand.auditing.reading.timed_amounts import Known, Reading
from evenhand.auditing.reading.waits import judged_waits, read_cases
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
    beside: Mapping[str, Known] = field(default_factory=dict)  # by circumstance
    amounts: Callable[[], Reading] | None = (
        None  # up to each moment, where they are not those of the history
    )
    lots: Lots | None = None  # where the rows of the log were kept apart


def prepare(
    table: LogTable,
    options: AuditOptions,
    exact: bool,
    notes: Notes,
    lots: bool | Callable[[History], bool] = False,
) -> Prepared:
    """Read, filter, count and check; what is odd but not an error goes into the notes.

    Args:
        table: The log.
        options: What is asked.
        exact: Whether every time point is needed.
        notes: Where to note.
        lots: Whether rows are kept apart, as things that cannot be divided; or what says so once
            the history is known.
    """
    roster = None if options.roster is None else roster_of(options)
    names = () if roster is None else roster.names
    events = read_events(table, options, names)
    if options.waits:
        return _prepare_waits(events, roster, notes)
    requests = read_requests(options)
    # Those who asked and received nothing are in no other log.
    history = count(events, notes, exact, names if requests is None else names + requests.names)
    _refuse_too_large(history, table.label)
    until = _read_until(options.until, history.plain_numbers)
    history = _cut(_from(history, options.since, notes), until, notes)
    if roster is not None:
        history = apply_roster(history, roster, notes)
    else:
        notes.add(
            "No roster was given: those who received nothing and are not in the log are not judged."
        )
    note_aggregate(history, notes)
    note_alike(history, notes)
    if options.out_of is None and not options.holds_readings and not options.has_requests:
        note_rates(history, options.amount, notes)
    group_of: dict[str, str] = {}
    if options.group is not None:
        group_of = read_groups(events, {} if roster is None else roster.groups)
    groups = as_groups(group_of, history.names) if options.by_group else None
    shares = _shares(events, history)
    beside: dict[str, Known] = {}
    if options.has_requests:
        beside["asked"] = asked_over_time(history, requests)
    if options.out_of is not None:
        beside["chances"] = history.ledger("chances")
    elif shares is not None and events.has("entitled"):
        beside |= entitling.over_time(history, roster)
    keeps = lots if isinstance(lots, bool) else lots(history)
    rows = read_lots(events, history, roster) if keeps else None
    return Prepared(history, roster, group_of, groups, shares, until, beside, lots=rows)


def _prepare_waits(events: LogEvents, roster: Roster | None, notes: Notes) -> Prepared:
    """Cases with two dates in place of amounts."""
    options = events.options
    refuse_unreadable(events)
    cases = read_cases(events, () if roster is None else roster.names)
    until = _read_until(options.until, cases.plain_numbers)
    ready = judged_waits(cases, options, until)
    if roster is not None and roster.dated:
        raise BadParameter(
            f"a roster with dates and waits ({argument('wait_from')}) cannot be judged together: "
            "leave the dates out of the roster."
        )
    history = ready.history if roster is None else apply_roster(ready.history, roster, notes)
    group_of: dict[str, str] = {}
    if options.group is not None:
        group_of = read_groups(events, {} if roster is None else roster.groups)
    groups = as_groups(group_of, history.names) if options.by_group else None
    return Prepared(history, roster, group_of, groups, None, until, ready.beside, ready.amounts)


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
    found = read_moment(value, "until", plain_numbers)
    if not plain_numbers and found == found.astype("datetime64[D]"):
        found += np.timedelta64(1, "D") - np.timedelta64(1, "us")
    return found


def read_moment(value: Any, name: str, plain_numbers: bool) -> Any:
    """A moment that an argument names, of the kind that the times of the log are."""
    what = f"{argument(name)} is {value!r}"
    if plain_numbers:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise BadParameter(f"{what}, and the log's times are plain numbers: give a number.")
        return number
    if isinstance(value, datetime.date | np.datetime64):
        value = str(value)
    try:
        return np.datetime64(parse_moment(str(value)), "us")
    except ValueError:
        raise BadParameter(f"{what}: it must be a date such as 2021-03-31.") from None


def _from(history: History, since: Any, notes: Notes) -> History:
    """The history from a moment on; what comes before is counted in a note."""
    if since is None:
        return history
    moment = read_moment(since, "since", history.plain_numbers)
    gone = int((history.slots < moment).sum())
    if gone == len(history.slots):
        raise BadLog(f"the log ends before {argument('since')}: nothing is left to judge.")
    if not gone:
        return history
    notes.add(f"{pluralise(gone, 'time point')} before {argument('since')} were left out.")
    return history.only_cells(lambda part: history.slot[part] >= gone)


def _cut(history: History, until: Any, notes: Notes) -> History:
    """The history up to and including `until`; what comes after is counted in a note."""
    if until is None or not (history.slots > until).any():
        return history
    left, given = int((history.slots <= until).sum()), argument("until")
    if not left:
        raise BadLog(f"the log begins after {given}: nothing is left to judge.")
    notes.add(f"{pluralise(len(history.slots) - left, 'time point')} after {given} were left out.")
    return history.before(left)
