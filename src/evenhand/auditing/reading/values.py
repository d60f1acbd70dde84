"""Times and amounts as they stand in a log, read into moments and numbers.

A moment is a timestamp in UTC without a zone (dates begin at midnight), or a plain number. What
cannot be read becomes empty here, with its text kept beside it, so that it can be named later.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import narwhals as nw

from evenhand._util.moments import FIRST_MOMENT, LAST_MOMENT
from evenhand.auditing.sources.engines import Frame, engine_of, fetch
from evenhand.auditing.sources.engines.engine import BLANKS

TEXT = "evenhand: text of "
AS_NUMBER, AS_MOMENT = "evenhand: as number", "evenhand: as moment"


@dataclass(frozen=True)
class Typed:
    """A frame whose column has been read in place, and where its text is kept, if it was text."""

    frame: Frame
    text: str | None = None
    plain_numbers: bool = False  # for times: numbers, not dates


def read_times(frame: Frame, column: str, time_format: str | None) -> Typed:
    """The column as moments."""
    dtype, engine = frame.collect_schema()[column], engine_of(frame)
    if engine.typed and dtype in (nw.Date, nw.Datetime):
        return Typed(engine.in_utc(frame, column))
    if engine.typed and dtype.is_numeric() and time_format is None:
        number = nw.col(column).cast(nw.Float64)
        known = nw.when(~number.is_nan()).then(number).alias(column)  # NaN is not a moment
        return Typed(frame.with_columns(known), plain_numbers=True)
    kept = TEXT + column
    frame = frame.with_columns(nw.col(column).cast(nw.String).alias(kept))
    frame = engine.moments(frame, column, AS_MOMENT, time_format)
    if time_format is not None:
        return Typed(_instead(frame, column, AS_MOMENT), kept)
    frame = engine.numbers(frame, column, AS_NUMBER)
    # Filters apply first, so one bad row that they leave out must not decide what times are.
    numbers, moments = nw.col(AS_NUMBER).count(), nw.col(AS_MOMENT).count()
    found = fetch(frame.select(numbers.alias("numbers"), moments.alias("moments")))
    if found["numbers"][0] > found["moments"][0]:
        return Typed(_instead(frame.drop(AS_MOMENT), column, AS_NUMBER), kept, True)
    return Typed(_instead(frame.drop(AS_NUMBER), column, AS_MOMENT), kept)


def in_utc(frame: Frame, column: str) -> Frame:
    """The column as moments in UTC, if it holds times; otherwise as it is."""
    if frame.collect_schema()[column] not in (nw.Date, nw.Datetime):
        return frame
    return engine_of(frame).in_utc(frame, column)


def read_numbers(frame: Frame, column: str) -> Typed:
    """The column as float64. Text that means "not a number" becomes an empty place."""
    dtype, engine = frame.collect_schema()[column], engine_of(frame)
    if engine.typed and dtype.is_numeric():
        return Typed(frame.with_columns(nw.col(column).cast(nw.Float64)))
    if engine.typed and dtype == nw.Boolean:  # which not every database casts to a number
        no = nw.when(~nw.col(column)).then(nw.lit(0.0))
        number = nw.when(nw.col(column)).then(nw.lit(1.0)).otherwise(no)
        return Typed(frame.with_columns(number.alias(column)))
    kept, text = TEXT + column, nw.col(column).cast(nw.String)
    blank = text.str.strip_chars().str.to_lowercase().is_in(list(BLANKS))
    frame = frame.with_columns(nw.when(~blank).then(text).alias(kept))
    return Typed(_instead(engine.numbers(frame, column, AS_NUMBER), column, AS_NUMBER), kept)


def not_finite(number: nw.Expr) -> nw.Expr:
    """Whether a number is there and infinite or NaN, which every engine puts above all numbers."""
    return ~(number.abs() <= sys.float_info.max) & ~number.is_null()


def misplaced(frame: Frame, column: str, plain_numbers: bool) -> nw.Expr:
    """Whether a moment is there and nobody can place it: infinite, or outside the calendar."""
    moment = nw.col(column)
    if plain_numbers:
        return not_finite(moment)
    engine = engine_of(frame)
    return (moment < engine.moment(FIRST_MOMENT)) | (moment > engine.moment(LAST_MOMENT))


def _instead(frame: Frame, column: str, other: str) -> Frame:
    return frame.with_columns(nw.col(other).alias(column)).drop(other)
