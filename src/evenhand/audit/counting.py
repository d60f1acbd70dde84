"""From events to a history: who received how much at each time point, worked out in the engine.

One pass over the log groups it by time and stakeholder; what comes back has a row for each pair
that occurs. A log too long for that is grouped by day, where the question is about calendar time.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from evenhand.audit import checks
from evenhand.audit.fetch import fetch
from evenhand.audit.history import History
from evenhand.audit.notes import Notes, several
from evenhand.audit.opening import hold
from evenhand.audit.reading import Events
from evenhand.errors import BadLog

EXACT_ROWS = 5_000_000  # a longer log is grouped by day where no question needs every time point
CHECKED_ROWS = 5_000_000  # a longer log is not searched for rows that are duplicates or unsorted


def count(events: Events, notes: Notes, exact: bool, names: tuple[str, ...] = ()) -> History:
    """The history of a log; `names` are those on a roster, if there is one."""
    rows = int(fetch(events.frame.select(rows=nw.len()))["rows"][0])
    if rows == 0:
        raise BadLog(
            f"{events.table.label} has no rows to judge: it holds a header only, or the filters "
            "leave nothing."
        )
    small = rows <= CHECKED_ROWS
    exact = exact or rows <= EXACT_ROWS or events.plain_numbers
    cells = _cells(events, exact)
    # Looking at every amount for NaN costs a tenth of the pass; a sum shows whether there is any.
    if len(fetch(cells.filter(nw.col("amount").is_nan()).select("rows").head(1))["rows"]):
        events = events.without_nan()
        cells = _cells(events, exact)
    checks.refuse_unreadable(events, cells)
    who = fetch(cells.select("who").unique().sort("who"))["who"]
    everyone = tuple(sorted({*map(str, who), *names}))
    if events.columns.cumulative:
        checks.refuse_two_readings(events, cells)
        cells = _differences(cells, exact, events.plain_numbers)
    index = cells.select("who").unique().with_row_index("code", order_by="who")
    coded = cells.join(index, on="who").drop("who").sort("at", "code")
    found = fetch(coded)
    places = {name: k for k, name in enumerate(everyone)}
    code = np.array([places[str(name)] for name in who], dtype=np.int64)[found["code"].astype(int)]
    checks.note_rows(events, found, rows, notes, search=small)
    return _history(events, found, code, everyone, exact, rows)


def _cells(events: Events, exact: bool) -> nw.LazyFrame[Any]:
    return hold(_readings(events) if events.columns.cumulative else _sums(events, exact))


def _sums(events: Events, exact: bool) -> nw.LazyFrame[Any]:
    frame = events.frame
    if not exact and not events.plain_numbers:
        frame = frame.with_columns(nw.col("at").dt.date())
    return frame.group_by("at", "who").agg(*_aggregates(events, nw.col("amount").sum()))


def _aggregates(events: Events, amount: nw.Expr) -> list[nw.Expr]:
    col = nw.col("amount")
    parts = [
        amount.alias("amount"),
        nw.len().alias("rows"),
        col.count().alias("events"),
        col.min().alias("least"),
    ]
    if events.text_amounts:
        unread = col.is_null() & ~nw.col("amount_text").is_null()
        parts.append(unread.cast(nw.Int64).sum().alias("unread"))
    if events.has("mark"):
        parts.append((nw.col("mark") & ~col.is_null()).any().alias("mark"))
    return parts


def _readings(events: Events) -> nw.LazyFrame[Any]:
    """Running totals: one reading for each stakeholder and time, before differences are taken."""
    return events.frame.group_by("at", "who").agg(*_aggregates(events, nw.col("amount").max()))


def _differences(cells: nw.LazyFrame[Any], exact: bool, plain_numbers: bool) -> nw.LazyFrame[Any]:
    """What was added since the reading before; the first reading is an increment itself."""
    read = cells.filter(nw.col("events") > 0)
    before = nw.col("amount").shift(1).over("who", order_by="at")
    read = read.with_columns(before=before)
    gained = nw.when(nw.col("before").is_null()).then(nw.col("amount"))
    read = read.with_columns(amount=gained.otherwise(nw.col("amount") - nw.col("before")))
    read = read.with_columns(least=nw.col("amount")).drop("before")
    both = nw.concat([read, cells.filter(nw.col("events") == 0).select(read.columns)])
    if exact or plain_numbers:
        return both
    names = both.collect_schema().names()
    parts = [nw.col(n).sum() for n in ("amount", "rows", "events", "unread") if n in names]
    parts += [nw.col("least").min()] + ([nw.col("mark").any()] if "mark" in names else [])
    return both.with_columns(nw.col("at").dt.date()).group_by("at", "who").agg(*parts)


def _history(
    events: Events,
    found: dict[str, np.ndarray],
    code: np.ndarray,
    names: tuple[str, ...],
    exact: bool,
    rows: int,
) -> History:
    counts = found["events"].astype(np.int64)
    kept = counts > 0
    at = found["at"][kept]
    if not len(at):
        raise BadLog(
            f"{events.table.label} has no events: none of its {several(rows, 'row')} has an amount."
        )
    new = np.concatenate(([True], at[1:] != at[:-1]))
    slot = np.cumsum(new) - 1
    slots = at[new]
    marks = None
    if "mark" in found:
        marks = np.bincount(slot, weights=found["mark"][kept] == 1) > 0
    return History(
        names=names,
        slots=slots if events.plain_numbers else slots.astype("datetime64[us]"),
        slot=slot,
        who=code[kept],
        amount=found["amount"][kept].astype(np.float64),
        marks=marks,
        exact=exact,
        rows=rows,
        events=int(counts.sum()),
    )
