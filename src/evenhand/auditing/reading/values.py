"""Times and amounts as they stand in a log, read into moments and numbers.

A moment is a timestamp in UTC without a zone (dates begin at midnight), or a plain number. What
cannot be read becomes empty here, with its text kept beside it, so that it can be named later.
Columns that are plain are read in the engine; only where one is not are its texts looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw

from evenhand._util.moments import FIRST_MOMENT, LAST_MOMENT
from evenhand.auditing.hidden_marks import HiddenMark
from evenhand.auditing.reading.number_texts import NumberColumn, read_number_texts
from evenhand.auditing.sources.engines import Frame, engine_of, fetch
from evenhand.auditing.sources.engines.engine import BLANKS
from evenhand.auditing.time_texts import BY_NAME, TimeColumn, read_as, read_time_texts
from evenhand.auditing.time_units import BY_UNIT, NUMBER, likely_unit, unit_note
from evenhand.errors import BadParameter, argument

TEXT = "evenhand: text of "
AS_NUMBER, AS_MOMENT = "evenhand: as number", "evenhand: as moment"
LEAST, MOST, MARK = "evenhand: least", "evenhand: most", "evenhand: mark"  # of a hidden number


@dataclass(frozen=True)
class Writing:
    """How times and numbers are written, as far as the user says it."""

    time_format: str | None = None
    time_unit: str | None = None
    calendar: bool = False  # whether the question needs dates, so that numbers are taken as such
    decimal: str | None = None
    missing: tuple[HiddenMark, ...] = ()
    at_end: bool = True  # whether a time that names a period is its last day, or its first
    beside: bool = False  # of a table beside the log: it may hold dates where the log has numbers


PLAINLY = Writing()


@dataclass(frozen=True)
class Typed:
    """A frame whose column has been read in place, and where its text is kept, if it was text."""

    frame: Frame
    text: str | None = None
    plain_numbers: bool = False  # for times: numbers, not dates
    notes: tuple[str, ...] = ()
    hidden: dict[str, HiddenMark] = field(default_factory=dict)  # texts that hide a number


def read_times(frame: Frame, column: str, writing: Writing = PLAINLY) -> Typed:
    """The column as moments."""
    dtype, engine, time_format = (
        frame.collect_schema()[column],
        engine_of(frame),
        writing.time_format,
    )
    if engine.typed and dtype in (nw.Date, nw.Datetime):
        _refuse_unit_of_dates(column, writing)
        return Typed(engine.in_utc(frame, column))
    if engine.typed and dtype.is_numeric() and time_format is None:
        number = nw.col(column).cast(nw.Float64)
        known = nw.when(~number.is_nan()).then(number).alias(column)  # NaN is not a moment
        return _counted(Typed(frame.with_columns(known), plain_numbers=True), column, writing)
    kept = TEXT + column
    frame = frame.with_columns(nw.col(column).cast(nw.String).alias(kept))
    if time_format in BY_NAME and engine.looks_up:
        found = read_as(BY_NAME[time_format], engine.texts(frame, column), writing.at_end)
        return _looked_up_times(engine.moments(frame, column, AS_MOMENT, None), column, found)
    frame = engine.moments(frame, column, AS_MOMENT, time_format)
    if time_format is not None:
        return Typed(_instead(frame, column, AS_MOMENT), kept)
    frame = engine.numbers(frame, column, AS_NUMBER)
    # Filters apply first, so one bad row that they leave out must not decide what times are.
    numbers, moments = nw.col(AS_NUMBER).count(), nw.col(AS_MOMENT).count()
    texts = nw.col(kept).count()
    counts = fetch(frame.select(numbers=numbers, moments=moments, texts=texts))
    most = max(counts["numbers"][0], counts["moments"][0])
    # A column that is written in two ways is refused, where its rows are named.
    if engine.looks_up and most == 0 < counts["texts"][0]:
        odd = read_time_texts(engine.texts(frame, column), column, writing.at_end)
        if odd is not None:
            _refuse_unit_of_dates(column, writing)
            return _looked_up_times(frame.drop(AS_NUMBER), column, odd)
    if counts["numbers"][0] > counts["moments"][0]:
        typed = Typed(_instead(frame.drop(AS_MOMENT), column, AS_NUMBER), kept, True)
        return _counted(typed, column, writing)
    if counts["moments"][0]:
        _refuse_unit_of_dates(column, writing)
    return Typed(_instead(frame.drop(AS_NUMBER), column, AS_MOMENT), kept)


def _refuse_unit_of_dates(column: str, writing: Writing) -> None:
    if writing.time_unit is not None and not writing.beside:
        raise BadParameter(
            f"{argument('time_unit')} says what times count that are numbers, and column "
            f"{column!r} holds dates: leave it out."
        )


def _looked_up_times(frame: Frame, column: str, found: TimeColumn) -> Typed:
    """The moments that the engine read, and those that are written in another way."""
    into = "evenhand: written"
    texts = list(found.values)
    if not texts:
        return Typed(_instead(frame, column, AS_MOMENT), TEXT + column)
    values: list[Any] = list(found.values.values())
    frame = engine_of(frame).looked_up(frame, column, texts, {into: values})
    either = nw.coalesce(nw.col(AS_MOMENT), nw.col(into)).alias(column)
    frame = frame.with_columns(either).drop(AS_MOMENT, into)
    return Typed(frame, TEXT + column, notes=(found.note(column),))


def _counted(typed: Typed, column: str, writing: Writing) -> Typed:
    """Numbers as the moments they count, where the user says so or the question needs dates."""
    engine = engine_of(typed.frame)
    if writing.time_unit == NUMBER:
        return typed
    if not engine.looks_up:
        if writing.time_unit is not None:
            raise BadParameter(
                f"{argument('time_unit')} is for files and for tables in memory: make dates of the "
                f"numbers of column {column!r} where they are, and leave it out."
            )
        return typed
    if writing.time_unit is not None:
        unit = BY_UNIT[writing.time_unit]
    elif not writing.calendar:
        return typed
    else:
        ends = typed.frame.select(least=nw.col(column).min(), most=nw.col(column).max())
        found = {name: float(value[0]) for name, value in fetch(ends).items()}
        likely = likely_unit(found["least"], found["most"])
        if likely is None:
            return typed
        unit = likely
    frame = engine.counted_from(
        typed.frame, column, lambda number: unit.sql(number, writing.at_end)
    )
    notes = () if writing.time_unit is not None else (unit_note(unit, column),)
    return replace(typed, frame=frame, plain_numbers=False, notes=notes)


def in_utc(frame: Frame, column: str) -> Frame:
    """The column as moments in UTC, if it holds times; otherwise as it is."""
    if frame.collect_schema()[column] not in (nw.Date, nw.Datetime):
        return frame
    return engine_of(frame).in_utc(frame, column)


def read_numbers(frame: Frame, column: str, writing: Writing = PLAINLY) -> Typed:
    """The column as float64. Text that means "not a number" becomes an empty place."""
    dtype, engine = frame.collect_schema()[column], engine_of(frame)
    if dtype == nw.Duration:
        raise BadParameter(
            f"column {column!r} holds durations, which may be counted in seconds, hours or days: "
            "make them numbers of one of these."
        )
    if engine.typed and dtype.is_numeric():
        frame = frame.with_columns(nw.col(column).cast(nw.Float64))
        if not (writing.missing and engine.looks_up):
            return Typed(frame)
    elif engine.typed and dtype == nw.Boolean:  # which not every database casts to a number
        no = nw.when(~nw.col(column)).then(nw.lit(0.0))
        number = nw.when(nw.col(column)).then(nw.lit(1.0)).otherwise(no)
        return Typed(frame.with_columns(number.alias(column)))
    kept, text = TEXT + column, nw.col(column).cast(nw.String)
    blank = text.str.strip_chars().str.to_lowercase().is_in(list(BLANKS))
    frame = frame.with_columns(nw.when(~blank).then(text).alias(kept))
    if engine.looks_up and (
        writing.missing or writing.decimal == "," or engine.odd_numbers(frame, column)
    ):
        texts = engine.texts(frame, column)
        found = read_number_texts(texts, column, writing.decimal, writing.missing)
        return _looked_up_numbers(frame, column, texts, found)
    return Typed(_instead(engine.numbers(frame, column, AS_NUMBER), column, AS_NUMBER), kept)


def _looked_up_numbers(frame: Frame, column: str, texts: list[str], found: NumberColumn) -> Typed:
    """The numbers that texts stand for; of marks, between which values they lie."""
    kept = TEXT + column
    meanings: dict[str, list[Any]] = {AS_NUMBER: [found.values.get(text) for text in texts]}
    if found.hidden:
        marks = [found.hidden.get(text) for text in texts]
        meanings |= _ends(marks, found.values.values())
    frame = engine_of(frame).looked_up(frame, column, texts, meanings)
    frame = _instead(frame, column, AS_NUMBER)
    if found.hidden:
        hidden, text = ~nw.col(LEAST).is_null(), nw.col(kept)
        frame = frame.with_columns(
            nw.when(hidden).then(text).alias(MARK), nw.when(~hidden).then(text).alias(kept)
        )
    note = found.note(column)
    return Typed(frame, kept, notes=() if note is None else (note,), hidden=found.hidden)


def hidden_among(frame: Frame, column: str, hidden: Mapping[str, HiddenMark]) -> Frame:
    """The frame with what its marks can hide by the numbers that are in it.

    What a mark does not say itself, the numbers of the column say; of rows that do not count, such
    as one of totals, they would say too much.
    """
    known = fetch(frame.select(nw.col(column)).unique())[column]
    ends = _ends(list(hidden.values()), [float(one) for one in known if one == one])
    return engine_of(frame).looked_up(frame.drop([LEAST, MOST]), MARK, list(hidden), ends)


def _ends(marks: Sequence[HiddenMark | None], known: Iterable[float]) -> dict[str, list[Any]]:
    """The lowest and the highest value that each mark can hide, by the numbers that are known."""
    values = list(known)
    whole = all(value == int(value) for value in values if abs(value) < sys.float_info.max)
    largest, smallest = max(values, default=0.0), min([0.0, *values])
    ends = [_ends_of(mark, whole, smallest, largest) for mark in marks]
    return {LEAST: [low for low, _ in ends], MOST: [high for _, high in ends]}


def _ends_of(
    mark: HiddenMark | None, whole: bool, smallest: float, largest: float
) -> tuple[float | None, float | None]:
    """The lowest and the highest value that a mark can hide; what nobody says, the column says."""
    if mark is None:
        return None, None
    low, high = mark.lowest, mark.most(whole)
    low = smallest if low is None else low
    return low, max(largest, low) if high is None else high


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
