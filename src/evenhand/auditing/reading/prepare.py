"""From a log, with its roster, entitlements and groups, to a history that can be judged."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers, parse_moment
from evenhand._util.wording import pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.period_border import PeriodBorder, begins_beyond, beyond, bound_name
from evenhand.auditing.reading import entitlement as entitling
from evenhand.auditing.reading.checks import refuse_unreadable
from evenhand.auditing.reading.counting import count
from evenhand.auditing.reading.events import LogEvents, read_events
from evenhand.auditing.reading.hidden_amounts import (
    LEFT_OUT,
    HiddenAmounts,
    HiddenRows,
    hidden_rows,
    without_unknown,
)
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.lots import Lots, read_lots
from evenhand.auditing.reading.name_spellings import plain_name
from evenhand.auditing.reading.requests import (
    asked_over_time,
    of_those,
    open_from,
    read_requests,
)
from evenhand.auditing.reading.roster import Roster
from evenhand.auditing.reading.roster_table import apply_roster, as_groups, read_groups, roster_of
from evenhand.auditing.reading.suspicious_rows import (
    ask_about_empty_amounts,
    note_aggregate,
    note_alike,
    note_only_left_out,
    note_rates,
    note_running_totals,
)
from evenhand.auditing.reading.timed_amounts import Known, Reading, TimedAmounts, Unchanging
from evenhand.auditing.reading.waits import judged_waits, read_cases
from evenhand.auditing.sources.log_table import LogTable
from evenhand.errors import BadLog, BadParameter, NotFinite, argument
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import read_beside

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
    hidden: HiddenRows | None = None  # suppressed amounts


def prepare(
    table: LogTable,
    options: AuditOptions,
    exact: bool,
    notes: Notes,
    lots: bool | Callable[[History], bool] = False,
    suppressed: HiddenAmounts = LEFT_OUT,
) -> Prepared:
    """Read, filter, count and check; what is odd but not an error goes into the notes.

    Args:
        table: The log.
        options: What is asked.
        exact: Whether every time point is needed.
        notes: Where to note.
        lots: Whether rows are kept apart, as things that cannot be divided; or what says so once
            the history is known.
        suppressed: What a suppressed amount counts as.
    """
    roster = None if options.roster is None else roster_of(options)
    spelt = () if roster is None else roster.names  # also of those who are left out
    requests = read_requests(options, spelt, notes)
    asking = () if requests is None else requests.names
    events = suppressed.fill(read_events(table, options, spelt + asking))
    names = tuple(filter(options.chooses, spelt))
    roster = None if roster is None else replace(roster, names=names)
    for sentence in (*table.notes, *events.notes):
        notes.add(sentence)
    if options.waits:
        return _prepare_waits(events, roster, notes)
    if requests is not None:
        requests = of_those(requests, options.chooses)
    # Those who asked and received nothing are in no other log.
    everyone = names if requests is None else names + requests.names
    uncut = count(events, notes, exact, everyone)
    _refuse_too_large(uncut, table.label)
    until = _read_until(options.until, uncut.plain_numbers)
    hidden = None
    if suppressed == LEFT_OUT:
        # A running total or a level holds on from before.
        begins = None if options.holds_readings else options.since
        since = None if begins is None else _read_since(begins, uncut.plain_numbers)
        hidden = hidden_rows(events, since, until)
    whole = _cut(uncut, until, options.until, notes)
    history = _from(whole, options.since, notes)
    if roster is not None:
        history = apply_roster(history, roster, notes, levels=options.stock)
    else:
        notes.add(
            "No roster was given: those who received nothing and are not in the log are not judged."
        )
    if hidden is not None:
        roster = without_unknown(roster, history, hidden.unknown)
    note_aggregate(history, notes)
    note_alike(history, notes)
    if options.amount is not None and roster is None:
        asked_for = () if requests is None else requests.names
        ask_about_empty_amounts(uncut, {*asked_for, *(hidden.unknown if hidden else ())}, notes)
    if roster is None and not (options.stock or options.out_of or options.has_requests):
        note_only_left_out(uncut, history, (options.since, options.until), notes)
    if options.out_of is None and not options.holds_readings and not options.has_requests:
        note_rates(history, options.amount, notes)
        note_running_totals(history, options.amount, notes)
    group_of: dict[str, str] = {}
    if options.group is not None:
        group_of = read_groups(events, {} if roster is None else roster.groups)
    shares = _shares(events, whole)
    beside = _beside(events, whole, history, roster, shares)
    if options.has_requests:
        beside["asked"] = _asked(options, whole, history, roster, requests, until, notes)
    keeps = lots if isinstance(lots, bool) else lots(history)
    return Prepared(
        history,
        roster,
        group_of,
        groups=as_groups(group_of, history.names) if options.by_group else None,
        shares=shares,
        until=until,
        beside=beside,
        # A level holds from when it is given, also from before anybody is judged by it.
        amounts=whole.received().totals if options.stock else None,
        lots=read_lots(events, history, roster) if keeps else None,
        hidden=hidden,
    )


def _beside(
    events: LogEvents, whole: History, history: History, roster: Roster | None, shares: Any
) -> dict[str, Known]:
    """What else is known over time; an entitlement holds from before the first time judged."""
    if events.options.out_of is not None:
        return {"chances": history.ledger("chances")}
    if shares is None:
        return {}
    found: dict[str, Known] = {}
    if events.has("entitled"):
        found |= entitling.over_time(whole, history, roster, shares)
    own = read_beside(events.options.status())
    if not found and own is not None and own.part == "entitled":
        found["entitled"] = lambda: Unchanging(shares)
    return found


def _asked(
    options: AuditOptions,
    whole: History,
    history: History,
    roster: Roster | None,
    requests: History | None,
    until: Any,
    notes: Notes,
) -> TimedAmounts:
    """What each has asked for; from a moment on, what it then still wanted is asked for too."""
    # Only periods of the calendar go on after the last row of the log.
    goes_on = until is not None and options.by_calendar
    if options.since is None:
        return asked_over_time(history, requests, until, goes_on, notes)
    from_start = whole if roster is None else apply_roster(whole, roster, Notes())
    asked = asked_over_time(from_start, requests, until, goes_on, notes)
    since = _read_since(options.since, whole.plain_numbers)
    return open_from(asked, from_start.received(), float(as_numbers(np.asarray(since))), notes)


def _prepare_waits(events: LogEvents, roster: Roster | None, notes: Notes) -> Prepared:
    """Cases with two dates in place of amounts."""
    options = events.options
    refuse_unreadable(events)
    cases = read_cases(events, () if roster is None else roster.names)
    if options.since is not None:
        since = _read_since(options.since, cases.plain_numbers)
        begins = float(as_numbers(np.asarray(since)))
        cases = cases.begun_from(begins, bound_name(options.since, "since"), notes)
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
        given |= entitling.of_rows(events, [name for name in history.names if name not in given])
    else:
        given = entitling.of_table(
            options.entitlement, options.stakeholder, options.encoding, options.decimal
        )
    if options.merge_names:
        plain = {plain_name(name): value for name, value in given.items()}
        known = {name: plain.get(plain_name(name)) for name in history.names}
        given = {name: value for name, value in known.items() if value is not None}
    return entitling.in_order(given, history.names)


def _read_until(value: Any, plain_numbers: bool) -> Any:
    """The moment up to which the log is whole: of a day its last one, or a number."""
    if value is None:
        return None
    if isinstance(value, PeriodBorder):
        border = _read_since(value, plain_numbers)
        return np.nextafter(border, -np.inf) if plain_numbers else border - np.timedelta64(1, "us")
    found = read_moment(value, "until", plain_numbers)
    if not plain_numbers and found == found.astype("datetime64[D]"):
        found += np.timedelta64(1, "D") - np.timedelta64(1, "us")
    return found


def _read_since(value: Any, plain_numbers: bool) -> Any:
    """The moment from which the log is judged."""
    if isinstance(value, PeriodBorder):
        return read_moment(value.moment, "before", plain_numbers)
    return read_moment(value, "since", plain_numbers)


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
    moment, given = _read_since(since, history.plain_numbers), argument(bound_name(since, "since"))
    gone = int((history.slots < moment).sum())
    if gone == len(history.slots):
        raise BadLog(f"the log ends before {given}: nothing is left to judge.")
    if not gone:
        return history
    notes.add(_left_out(gone, f"before {given}"))
    return history.only_cells(lambda part: history.slot[part] >= gone)


def _cut(history: History, until: Any, given: Any, notes: Notes) -> History:
    """The history up to and including `until`; what comes after it is counted in a note."""
    if until is None or not (history.slots > until).any():
        return history
    left = int((history.slots <= until).sum())
    if not left:
        raise BadLog(f"the log begins {begins_beyond(given)}: nothing is left to judge.")
    notes.add(_left_out(len(history.slots) - left, beyond(given)))
    return history.before(left)


def _left_out(points: int, where: str) -> str:
    return f"{pluralise(points, 'time point')} {where} {'was' if points == 1 else 'were'} left out."
