"""Times and amounts as they stand in a log, read into moments and numbers.

A moment is a timestamp in UTC without a zone (dates begin at midnight), or a plain number. What
cannot be read becomes empty here, with its text kept beside it, so that it can be named later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from evenhand.audit.fetch import fetch_one
from evenhand.audit.opening import literal, quoted
from evenhand.errors import BadLog

# A time of day followed by a zone: "10:00Z", "10:00:00+02:00", "10:00 Europe/Paris".
ZONE = r"\d:\d\d[0-9:.,]*\s*(Z|z|[+-]\d\d(?::?\d\d)?|[A-Za-z]+/[A-Za-z_]+|UTC|GMT)$"
BLANKS = ("", "nan", "na", "n/a", "null", "none")  # no number, as many programs write it
TEXT = "evenhand: text of "


@dataclass(frozen=True)
class Typed:
    """A frame whose column has been read in place, and where its text is kept, if it was text."""

    frame: nw.LazyFrame[Any]
    text: str | None = None
    plain_numbers: bool = False  # for times: numbers, not dates


def read_times(frame: nw.LazyFrame[Any], column: str, time_format: str | None) -> Typed:
    """The column as moments."""
    dtype = frame.collect_schema()[column]
    col = nw.col(column)
    if dtype == nw.Date:
        return Typed(frame.with_columns(col.cast(nw.Datetime("us"))))
    if dtype == nw.Datetime:
        zone = getattr(dtype, "time_zone", None)
        if zone is None:
            return Typed(frame.with_columns(col.cast(nw.Datetime("us"))))
        return Typed(_to_utc(frame, column))
    if dtype.is_numeric() and time_format is None:
        number = col.cast(nw.Float64)
        known = nw.when(~number.is_nan()).then(number).alias(column)  # NaN is no moment
        return Typed(frame.with_columns(known), plain_numbers=True)
    if not frame.implementation.is_duckdb():
        raise BadLog(f"the times in {column!r} are text: make them timestamps in their engine.")
    return _times_of_text(frame, column, time_format)


def _to_utc(frame: nw.LazyFrame[Any], column: str) -> nw.LazyFrame[Any]:
    if frame.implementation.is_duckdb():
        return _replaced(frame, column, f"timezone('UTC', {quoted(column)})")
    utc = nw.col(column).dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return frame.with_columns(utc.cast(nw.Datetime("us")))


def _times_of_text(frame: nw.LazyFrame[Any], column: str, time_format: str | None) -> Typed:
    text = f"trim(CAST({quoted(column)} AS VARCHAR))"
    kept = TEXT + column
    if time_format is not None:
        moment = f"CAST(try_strptime({text}, {literal(time_format)}) AS TIMESTAMP)"
        return Typed(_replaced(frame, column, moment, kept), kept)
    # Filters apply first, so one bad row that they leave out must not decide what times are.
    more = f"count(TRY_CAST({text} AS DOUBLE)) > count(TRY_CAST({text} AS TIMESTAMP))"
    if fetch_one(frame.to_native().aggregate(f"{more} AS numbers"), "numbers"):
        return Typed(_replaced(frame, column, f"TRY_CAST({text} AS DOUBLE)", kept), kept, True)
    zoned = f"regexp_matches({text}, {literal(ZONE)})"
    moment = (
        f"CASE WHEN {zoned} THEN timezone('UTC', TRY_CAST({text} AS TIMESTAMPTZ)) "
        f"ELSE TRY_CAST({text} AS TIMESTAMP) END"
    )
    return Typed(_replaced(frame, column, moment, kept), kept)


def read_numbers(frame: nw.LazyFrame[Any], column: str) -> Typed:
    """The column as float64. Text that means "not a number" becomes an empty place."""
    dtype = frame.collect_schema()[column]
    value = nw.col(column).cast(nw.Float64)
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Typed(frame.with_columns(value))
    if not frame.implementation.is_duckdb():
        raise BadLog(f"the amounts in {column!r} are no numbers: make them so in their engine.")
    kept = TEXT + column
    text = f"trim(CAST({quoted(column)} AS VARCHAR))"
    blank = f"lower({text}) IN ({', '.join(map(literal, BLANKS))})"
    number = f"CASE WHEN NOT {blank} THEN TRY_CAST({text} AS DOUBLE) END"
    return Typed(
        _replaced(frame, column, number, kept, f"CASE WHEN NOT {blank} THEN {text} END"), kept
    )


def _replaced(
    frame: nw.LazyFrame[Any],
    column: str,
    expression: str,
    kept: str | None = None,
    text: str | None = None,
) -> nw.LazyFrame[Any]:
    """A column of a DuckDB frame worked out anew in its place, its text kept if asked."""
    relation = frame.to_native()
    parts = [
        f"{expression} AS {quoted(name)}" if name == column else quoted(name)
        for name in relation.columns
    ]
    if kept is not None:
        parts.append(f"{text or f'CAST({quoted(column)} AS VARCHAR)'} AS {quoted(kept)}")
    replaced: Any = nw.from_native(relation.project(", ".join(parts)))
    return replaced
