"""What may be wrong with a log: an error that names the rows, or a note that counts them."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw

from evenhand._util.moments import CALENDAR, moment_label
from evenhand._util.wording import join_names, pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.reading.events import LogEvents
from evenhand.auditing.reading.values import misplaced, not_finite
from evenhand.auditing.sources.engines import engine_of, fetch
from evenhand.auditing.sources.log_table import ROW, SAME
from evenhand.errors import BadLog, NotFinite, argument

Cells = nw.LazyFrame[Any]

# Ways to write a day and a time of day that are not both ISO 8601.
DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %B %Y", "%d %b %Y"),
    "%Y-%m-%d",
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# A time of day with something after it that could be meant for a zone, such as "10:00 EST".
UNKNOWN_ZONE = re.compile(r"\d:\d\d[0-9:.]*\s*([A-Za-z+-][A-Za-z0-9/_+:-]*)$")


class CellScan(NamedTuple):
    """A first look at who is in a log."""

    names: tuple[str, ...]  # in the engine's own order
    cells: int  # pairs of a time and a name that occur
    wrong: bool  # whether something cannot be read
    endless: bool  # whether some sum is not a finite number


def scan_cells(events: LogEvents, cells: Cells) -> CellScan:
    """The names, and whether anything is wrong with their cells, in one pass."""
    endless = not_finite(nw.col("amount"))
    wrong = (nw.col("at").is_null() & (nw.col("events") > 0)) | nw.col("who").is_null() | endless
    wrong = wrong | (misplaced(cells, "at", events.plain_numbers) & (nw.col("events") > 0))
    if events.text_amounts:
        wrong = wrong | (nw.col("unread") > 0)
    by_name = cells.with_columns(wrong=wrong, endless=endless).group_by("who")
    parts = nw.len().alias("cells"), nw.col("wrong").any(), nw.col("endless").any()
    found = fetch(by_name.agg(*parts).sort("who"))
    return CellScan(
        tuple(str(name) for name in found["who"]),
        int(found["cells"].sum()),
        bool((found["wrong"] == 1).any()),
        bool((found["endless"] == 1).any()),
    )


def refuse_unreadable(events: LogEvents) -> None:
    """What cannot be placed in time, has no name or is not a number, with the rows that are so."""
    _refuse_nameless(events)
    _refuse_no_numbers(events)
    _refuse_timeless(events)
    _refuse_misplaced(events)


def _refuse_nameless(events: LogEvents) -> None:
    nameless, column = nw.col("who").is_null(), events.options.stakeholder
    if _any(events, nameless):
        condition = argument("where", f'"{column}" is not null')
        raise BadLog(
            f"{events.table.label} has no name in column {column!r} at "
            f"{events.rows_where(nameless, 'at')}: fill it in, or leave such rows out with "
            f"{condition}."
        )


def _refuse_no_numbers(events: LogEvents) -> None:
    amount, column, label = nw.col("amount"), events.options.amount, events.table.label
    if events.text_amounts:
        unread = amount.is_null() & ~nw.col("amount_text").is_null()
        if _any(events, unread):
            raise BadLog(
                f"column {column!r} of {label} holds what is not a number at "
                f"{events.rows_where(unread, 'amount_text')}: fix it, leave such rows out with "
                f"{argument('where')}, or say with {argument('missing')} that it stands for a "
                "suppressed amount."
            )
    infinite = not_finite(amount)
    if _any(events, infinite):
        raise NotFinite(
            f"column {column!r} of {label} is infinite at {events.rows_where(infinite, 'amount')}: "
            f"fix it, or leave such rows out with {argument('where')}."
        )


def _refuse_timeless(events: LogEvents) -> None:
    timeless, options = nw.col("at").is_null() & ~nw.col("amount").is_null(), events.options
    if not _any(events, timeless):
        return
    place = events.rows_where(timeless, "at_text" if events.text_times else "who")
    how, given = "say how dates are written: ", options.time_format
    fix = f"{how}with {argument('time_format')}, such as %d/%m/%Y"
    if not engine_of(events.frame).knows_formats:
        fix = f"leave such rows out with {argument('where')}, or make a view in which it is a "
        fix += "timestamp"
    elif given is not None:
        fix = f"{how}with another {argument('time_format')} than {given}"
    elif formats := _formats_that_fit(events, timeless):
        fix = how + " or ".join(argument("time_format", found) for found in formats)
    elif (zone := _unknown_zone(events, timeless)) is not None:
        fix = (
            f"write the zone {zone!r}, which is not known, as an offset such as +02:00, as a place "
            "such as Europe/Paris, or as Z for UTC"
        )
    raise BadLog(
        f"column {options.time!r} of {events.table.label} holds what is not a date or time at "
        f"{place}: fix it, or {fix}."
    )


def _refuse_misplaced(events: LogEvents) -> None:
    lost = misplaced(events.frame, "at", events.plain_numbers) & ~nw.col("amount").is_null()
    if not _any(events, lost):
        return
    shown = events.frame.with_columns(shown=nw.col("at").cast(nw.String))
    show = "at_text" if events.text_times else "shown"
    kind = (
        "a time that is not a finite number"
        if events.plain_numbers
        else f"a time outside {CALENDAR}"
    )
    raise BadLog(
        f"column {events.options.time!r} of {events.table.label} holds {kind} at "
        f"{replace(events, frame=shown).rows_where(lost, show)}: fix it, or leave such rows out "
        f"with {argument('where')}."
    )


def _formats_that_fit(events: LogEvents, timeless: nw.Expr) -> list[str]:
    """The common ways to write a date that all of the texts we could not read follow."""
    texts, fitting = _unread_times(events, timeless), []
    if not texts:
        return []
    for found in (day + time for time in TIMES for day in DAYS):
        try:
            for text in texts:
                datetime.datetime.strptime(text, found)
        except ValueError:
            continue
        fitting.append(found)
    return fitting[:2]


def _unknown_zone(events: LogEvents, timeless: nw.Expr) -> str | None:
    """The zone of the first text we could not read, if it has one and that is why."""
    texts = _unread_times(events, timeless)
    found = UNKNOWN_ZONE.search(texts[0]) if texts else None
    return None if found is None else found.group(1)


def _unread_times(events: LogEvents, timeless: nw.Expr) -> list[str]:
    if not events.text_times:
        return []
    some = events.frame.filter(timeless)
    some = some.sort(ROW) if events.has(ROW) else some
    return [str(text).strip() for text in fetch(some.select("at_text").head(1000))["at_text"]]


def refuse_beside(events: LogEvents) -> None:
    """Chances or requests that are missing or below 0, and entitlements that are two at a time."""
    there, options = ~nw.col("amount").is_null(), events.options
    says = {"chances": (options.out_of, "out of how many"), "asked": (options.asked, "how much")}
    for name, (column, what) in says.items():
        if not events.has(name):
            continue
        number = nw.col(name)
        wrong = there & (number.is_null() | not_finite(number) | (number < 0))
        if _any(events, wrong):
            raise BadLog(
                f"column {column!r} of {events.table.label} must say {what}, and does not at "
                f"{events.rows_where(wrong, name)}: write a number of at least 0, or leave such "
                f"rows out with {argument('where')}."
            )
    if events.has("entitled"):
        entitled = nw.col("entitled")
        cells = events.frame.filter(there & ~entitled.is_null()).group_by("at", "who")
        two = cells.agg(low=entitled.min(), high=entitled.max())
        two = two.filter(nw.col("low") != nw.col("high")).sort("at", "who")
        found = fetch(two.head(1))
        if len(found["who"]):
            raise BadLog(
                f"the entitlement of {found['who'][0]!r} is {found['low'][0]:g} and "
                f"{found['high'][0]:g} at {moment_label(found['at'][0])}: one value at a time, so "
                f"fix it, or choose rows with {argument('where')}."
            )


def refuse_negative_stock(events: LogEvents) -> None:
    """A level is at least 0."""
    negative = nw.col("amount") < 0
    if _any(events, negative):
        raise BadLog(
            f"column {events.options.amount!r} of {events.table.label} holds a level below 0 at "
            f"{events.rows_where(negative, 'amount')}: {argument('stock')} needs levels of at "
            f"least 0, so fix it, or leave such rows out with {argument('where')}."
        )


def refuse_two_readings(events: LogEvents, cells: Cells) -> None:
    """A running total or a level has one value at a time; two different ones are two series."""
    stock = events.options.stock
    what, given = ("levels", "stock") if stock else ("running totals", "cumulative")
    given = argument(given)
    twice = (nw.col("amount") != nw.col("least")) & (nw.col("events") > 1)
    found = fetch(cells.filter(twice).select("who", "at", "amount", "least").sort("at", "who"))
    if len(found["who"]):
        raise BadLog(
            f"{found['who'][0]!r} has two {what} at {moment_label(found['at'][0])} "
            f"({found['least'][0]:,g} and {found['amount'][0]:,g}; "
            f"{pluralise(len(found['who']), 'such case')} in all): {given} needs "
            f"one series per stakeholder, so choose one with {argument('where')} or add them up "
            "first."
        )


def note_rows(
    events: LogEvents, empty: int, negative: int, rows: int, notes: Notes, search: bool
) -> None:
    """Empty and negative amounts and falling totals; with `search`, also what needs every row."""
    if empty:
        notes.add(
            f"{pluralise(empty, 'row has', 'rows have')} an empty amount and are not events."
            if empty > 1
            else "1 row has an empty amount and is not an event."
        )
    if negative and events.options.cumulative:
        notes.add(
            f"A running total falls {pluralise(negative, 'time')}: taken as "
            f"{'a correction' if negative == 1 else 'corrections'} and applied."
        )
    elif negative and not events.options.stock:
        notes.add(
            f"Negative amounts occur at {pluralise(negative, 'time point')} of a stakeholder: "
            "taken as corrections and applied."
        )
    if not search:
        notes.add(f"With {rows:,} rows, the log was not searched for duplicate or unsorted rows.")
        return
    _note_duplicates(events, notes)
    _note_order(events, notes)
    _note_zones(events, notes)


def _note_duplicates(events: LogEvents, notes: Notes) -> None:
    keys = [SAME] if events.has(SAME) else ["who", "at", "amount"]
    twice = events.frame.group_by(*keys).agg(copies=nw.len()).filter(nw.col("copies") > 1)
    copies = fetch(twice.select("copies"))["copies"]
    extra = int(copies.sum() - len(copies))
    if not extra:
        return
    if not events.has(SAME):  # in an engine of its own, only what is asked for is looked at
        notes.add(
            f"{pluralise(extra, 'row has', 'rows have')} the name, time and amount of another row: "
            "kept, since two equal events may both have happened."
        )
        return
    notes.add(exact_copies(extra))


def _note_order(events: LogEvents, notes: Notes) -> None:
    if not events.has(ROW):
        return
    placed = events.frame.select("at", ROW).filter(~nw.col("at").is_null())
    before = placed.with_columns(before=nw.col("at").shift(1).over(order_by=ROW))
    found = fetch(before.filter(nw.col("at") < nw.col("before")).select(rows=nw.len()))
    count = int(found["rows"][0])
    if count:
        notes.add(out_of_order(count))


def exact_copies(rows: int) -> str:
    """What is said of rows in which everything is as in another."""
    if rows == 1:
        return (
            "1 row is an exact copy of another row: kept, since two equal events may both have "
            "happened."
        )
    return (
        f"{rows:,} rows are exact copies of other rows: kept, since equal events may both have "
        "happened."
    )


def out_of_order(rows: int) -> str:
    """What is said of rows that are not where their time would put them."""
    return (
        f"{pluralise(rows, 'row is', 'rows are')} earlier than the row above: the log was put in "
        "order of time."
    )


def _note_zones(events: LogEvents, notes: Notes) -> None:
    if not events.text_times or events.plain_numbers:
        return
    zoned = engine_of(events.frame).zones(events.frame, "at_text", "zone")
    found = fetch(
        zoned.group_by("zone").agg(rows=nw.len()).sort("rows", "zone", descending=[True, False])
    )
    counts = {
        str(name or ""): int(rows) for name, rows in zip(found["zone"], found["rows"], strict=True)
    }
    if len(counts) > 1:
        parts = [f"{name or 'none'} in {pluralise(rows, 'row')}" for name, rows in counts.items()]
        notes.add(
            f"Times come in {len(counts)} zones ({join_names(parts)}): all were put into UTC, and "
            "a time without a zone was taken as UTC. Days are counted in UTC."
        )


def _any(events: LogEvents, wrong: nw.Expr) -> bool:
    return len(fetch(events.frame.filter(wrong).select("amount").head(1))["amount"]) > 0
