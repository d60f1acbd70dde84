"""What may be wrong with a log: errors that name the rows, and rows that are probably not meant."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from evenhand._util.numbers import CALENDAR, moment_label
from evenhand._util.wording import format_number, join_names, pluralise
from evenhand.errors import BadLog, NotFinite, argument
from evenhand.log.cells import misplaced, not_finite
from evenhand.log.engines import engine_of, fetch
from evenhand.log.files import ROW, SAME
from evenhand.log.history import History
from evenhand.log.layout import Notes
from evenhand.log.options import bound_name
from evenhand.log.rows import LogEvents, alike

# What may be wrong with a log: an error that names the rows, or a note that counts them.

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


# What is probably not meant: a total beside its parts, a name spelt twice, rates added up.

CLOSE = 0.02  # how near the sum of the others counts as equal to it
# Real parts overlap and are reported apart, so a total that towers above the rest may be off by
# more: in the United States' vaccine counts the parts come to 105 % of the whole, and once 116 %.
LOOSE, TOWERS = 0.2, 3.0
FAR_APART = 20  # times
SMALL = 0.1
# Of amounts drawn at random half would fall; running totals fall where they are corrected.
LOOKED_AT, FEWEST_STEPS, MOST_FALLS, LEAST_RISES = 200_000, 8, 0.02, 0.5


def find_aggregate(history: History) -> str | None:
    """The stakeholder with what all others have together, in all and halfway through."""
    size = len(history.names)
    if size < 3:
        return None
    half = np.searchsorted(history.slot, len(history.slots) // 2)
    early = np.bincount(history.who[:half], weights=history.amount[:half], minlength=size)
    totals = history.totals()
    place = int(np.argmax(totals))
    second = np.delete(totals, place).max()
    close = LOOSE if totals[place] >= TOWERS * second else CLOSE
    # Chance makes one number the sum of the others; it seldom does so twice.
    if _is_sum(totals, place, close) and (not early.any() or _is_sum(early, place, close)):
        return history.names[place]
    return None


def _is_sum(amounts: np.ndarray, place: int, close: float) -> bool:
    others = amounts.sum() - amounts[place]
    return bool(amounts[place] > 0 and abs(amounts[place] - others) <= close * amounts[place])


def note_aggregate(history: History, notes: Notes) -> None:
    """Ask about a stakeholder that looks like the sum of the others."""
    name = find_aggregate(history)
    if name is not None:
        notes.ask(
            f"Is {name!r} the sum of the others? Its amounts come to what theirs come to taken "
            "together. If it is not a stakeholder of its own, leave it out: "
            f"{argument('exclude', [name])}."
        )


def note_alike(history: History, notes: Notes) -> None:
    """Point at names that differ only in capitals, spaces and accents."""
    pairs = [" and ".join(repr(name) for name in names) for names in alike(history.names)]
    if pairs:
        notes.ask(
            f"Are these the same? {join_names(pairs, 3)} differ only in capitals, spaces or "
            "accents, and are judged as different stakeholders. If they are one, merge them with "
            f"{argument('merge_names')}."
        )


def ask_about_empty_amounts(history: History, others: Collection[str], notes: Notes) -> None:
    """Ask about those of whom every amount is empty, which may mean unknown and not nothing.

    Args:
        history: All of the log.
        others: Those who need no amount: on a roster, among those who asked, or known to be hidden.
        notes: Where to ask.
    """
    rows = np.bincount(history.who, minlength=len(history.names))
    silent = [history.names[k] for k in np.flatnonzero(rows == 0)]
    silent = [name for name in silent if name not in others]
    if silent:
        one = len(silent) == 1
        notes.ask(
            f"Did {join_names(silent)} receive nothing, or is it not known? "
            f"{'Its amount is' if one else 'Their amounts are'} empty in every row, and "
            f"{'it is' if one else 'they are'} judged as having received nothing. If it is not "
            f"known, leave {'it' if one else 'them'} out with {argument('exclude')}."
        )


def note_only_left_out(
    uncut: History, judged: History, bounds: tuple[Any, Any], notes: Notes
) -> None:
    """Name those all of whose amounts lie outside the part of the log that is judged.

    Args:
        uncut: All of the log.
        judged: The part of it, with the same names.
        bounds: What it was cut by: `since` and `until` as they were given.
        notes: Where to note.
    """
    if len(judged.who) == len(uncut.who):
        return
    before, after = (np.bincount(one.who, minlength=len(one.names)) for one in (uncut, judged))
    gone = [uncut.names[k] for k in np.flatnonzero((before > 0) & (after == 0))]
    if gone:
        one, names = len(gone) == 1, ("since", "until")
        pairs = zip(bounds, names, strict=True)
        given = [bound_name(bound, name) for bound, name in pairs if bound is not None]
        notes.add(
            f"All that {join_names(gone)} received is in the part that was left out "
            f"({' or '.join(map(argument, given))}): {'it is' if one else 'they are'} judged as "
            f"having received nothing. Leave {'it' if one else 'them'} out with "
            f"{argument('exclude')}, or say with {argument('roster')} who is to be judged."
        )


def note_running_totals(history: History, column: str | None, notes: Notes) -> None:
    """Ask about amounts that hardly ever fall, since running totals are not to be added up."""
    if column is None or not looks_cumulative(history):
        return
    notes.ask(
        f"Is {column!r} a running total? Its values hardly ever fall from one time to the next, "
        "and they are added up here, which counts the same amount again and again if they are "
        f"totals. If they are, say so with {argument('cumulative')}."
    )


def looks_cumulative(history: History) -> bool:
    """Whether nearly every amount is at least the one before it of the same stakeholder."""
    who, amount = history.who[:LOOKED_AT], history.amount[:LOOKED_AT]
    order = np.argsort(who, kind="stable")
    same = np.diff(who[order]) == 0
    change = np.diff(amount[order])[same]
    if len(change) < FEWEST_STEPS or (amount < 0).any():
        return False
    return bool((change < 0).mean() <= MOST_FALLS and (change > 0).mean() >= LEAST_RISES)


RATE = re.compile(r"(?<![a-z])(rate|percent|percentage|pct|proportion|share)(?![a-z])|%")


def note_rates(history: History, column: str | None, notes: Notes) -> None:
    """Ask about amounts that look like rates, since rates at several times do not add up."""
    if column is None or not looks_like_rate(history, column):
        return
    times = np.bincount(history.who, minlength=len(history.names))
    if (times > 1).mean() <= 0.5:
        return
    notes.ask(
        f"Is {column!r} a rate? It looks like one, and its values are added up over time, which "
        f"means nothing for a rate. If it is one, give the counts it was made of: with "
        f"{argument('amount')} how many, and with {argument('out_of')} out of how many."
    )


def looks_like_rate(history: History, column: str) -> bool:
    """Whether amounts are called a rate, or are all from 0 to 1 with fractions among them."""
    if RATE.search(column.lower()):
        return True
    fractions = False
    for part in history.parts():
        amount = history.amount[part]
        if ((amount < 0) | (amount > 1)).any():
            return False
        fractions = fractions or bool(((amount > 0) & (amount < 1)).any())
    return fractions


def note_small(final: np.ndarray, offset: float, notes: Notes) -> None:
    """Where statuses are tiny beside what log Nash adds to them, its scores hardly differ.

    Args:
        final: The statuses at the end.
        offset: What is added to each before the logarithm is taken.
        notes: Where to ask.
    """
    largest = float(np.abs(final).max(initial=0.0))
    if 0.0 < largest < SMALL * offset:
        notes.ask(
            f"Are the units right? The largest status is {format_number(largest)}, and log Nash "
            f"adds {offset:g} to each before it takes the logarithm, so that scores hardly tell "
            "even from uneven and depend on the unit. Give entitlements in larger units (thousands "
            "of people, say) or amounts in smaller ones, or ask with "
            f"{argument('welfare', 'rawls')}."
        )


def note_sizes(final: np.ndarray, notes: Notes) -> None:
    """Where statuses lie far apart and no entitlement is known, size may be the reason."""
    positive = final[final > 0]
    if len(positive) > 1 and positive.max() > FAR_APART * positive.min():
        low, high = float(positive.min()), float(positive.max())
        times = "more than a billion" if low < 1e-9 * high else f"{high / low:,.0f}"
        notes.add(
            f"The largest status is {times} times the smallest. If "
            f"stakeholders differ in size or need, compare them with {argument('entitlement')}."
        )
