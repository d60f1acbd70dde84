"""Cells of a log, read into numbers and moments: as people write them, and marks."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import narwhals as nw

from evenhand._util.numbers import FIRST_MOMENT, LAST_MOMENT
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.log.engines import BLANKS, Frame, engine_of, fetch
from evenhand.log.layout import HiddenMark, mark_of
from evenhand.log.times import (
    BY_NAME,
    BY_UNIT,
    NUMBER,
    TimeColumn,
    likely_unit,
    read_as,
    read_time_texts,
    unit_note,
)

# Numbers as people write them: 1,234.5 and 1.234,5 and 1 234, € 12, 45 %, (12), and marks.
#
# Which of two ways a column is written in is decided by all of its texts: where only one reading is
# possible it is taken, and where two are the user is asked.

POINT, COMMA = ".", ","
_SPACES = " \u00a0\u2007\u2009\u202f"
_CURRENCY = (
    r"[$€£¥₹₽₩₺₪₴₦฿₫₱]|US\$|A\$|C\$|R\$|EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|"
    r"BRL|ZAR|Fr\.|kr|zł|Kč|Ft"
)


@cache  # compiled by the first who needs it: most columns hold plain numbers
def _dressed() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<open>\()?(?P<sign>[+\-−])?\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[+\-−])?\s*"
        rf"(?P<digits>(?=[^0-9]?[0-9])[0-9.,][0-9.,'’{_SPACES}]*(?:[eE][+-]?[0-9]{{1,3}})?)"
        rf"\s*(?P<after>{_CURRENCY}|%)?(?P<close>\))?",
        re.I,
    )


@dataclass(frozen=True)
class WrittenNumber:
    """A number without what it is dressed in: its sign, its digits, and its unit."""

    negative: bool
    digits: str
    unit: str  # "", "%", or a currency

    @classmethod
    def of(cls, text: str) -> WrittenNumber | None:
        found = _dressed().fullmatch(text.strip())
        if found is None or bool(found["open"]) != bool(found["close"]):
            return None
        if (found["before"] and found["after"]) or (found["sign"] and found["inner"]):
            return None
        negative = bool(found["open"]) != ((found["sign"] or found["inner"] or "+") != "+")
        unit = (found["before"] or found["after"] or "").upper()
        return cls(negative, found["digits"].rstrip(_SPACES), unit)


@dataclass(frozen=True)
class NumberStyle:
    """Which sign stands before the fraction: a point, or a comma."""

    decimal: str

    def __post_init__(self) -> None:
        if self.decimal not in (POINT, COMMA):
            raise BadParameter(
                f"{argument('decimal')} is {self.decimal!r}: it must be '{POINT}' or '{COMMA}', "
                "which stands before the fraction of a number."
            )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        other = re.escape(COMMA if self.decimal == POINT else POINT)
        groups = (
            rf"[1-9][0-9]{{0,2}}(?P<mark>[{other}'’{_SPACES}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
        )
        lakhs = rf"[1-9][0-9]?(?:{other}[0-9]{{2}})+{other}[0-9]{{3}}"
        fraction = rf"{re.escape(self.decimal)}(?P<fraction>[0-9]*)"
        whole = rf"(?P<whole>{groups}|{lakhs}|[0-9]*)"
        return re.compile(rf"{whole}(?:{fraction})?(?P<power>[eE][+-]?[0-9]+)?")

    def parts(self, digits: str) -> tuple[str, str, str] | None:
        """The digits before and after the sign, and the power of ten; None if it is not so."""
        found = self._pattern.fullmatch(digits)
        if found is None or not (found["whole"] or found["fraction"]):
            return None
        whole = re.sub(r"[^0-9]", "", found["whole"])
        return whole, found["fraction"] or "", found["power"] or ""

    def value(self, figure: WrittenNumber) -> float | None:
        parts = self.parts(figure.digits)
        if parts is None:
            return None
        whole, fraction, power = parts
        number = float(f"{whole or 0}.{fraction or 0}{power}")
        number = number / 100 if figure.unit == "%" else number
        return -number if figure.negative else number

    def groups_throughout(self, figures: Sequence[WrittenNumber]) -> bool:
        """Whether no whole number of five digits or more is written without groups."""
        return not any(re.match(r"[0-9]{5}", one.digits) for one in figures)


STYLES = (NumberStyle(POINT), NumberStyle(COMMA))


@dataclass(frozen=True)
class NumberColumn:
    """What the texts of a column mean: numbers, marks with what they can hide, or neither."""

    values: dict[str, float]
    hidden: dict[str, HiddenMark]
    style: NumberStyle
    units: tuple[str, ...]

    def note(self, column: str) -> str | None:
        """How the numbers were read, where they could have been written otherwise."""
        said = []
        if self.style.decimal == COMMA:
            said.append("with decimal commas (1.234,5 is 1234.5)")
        if "%" in self.units:
            said.append("as shares (45 % is 0.45)")
        if not said:
            return None
        return f"The numbers of column {column!r} were read {' and '.join(said)}."


def read_number_texts(
    texts: Sequence[str],
    column: str,
    decimal: str | None = None,
    missing: Sequence[HiddenMark] = (),
) -> NumberColumn:
    """What the texts of a column mean.

    Args:
        texts: The texts of the column, each once.
        column: What the column is called.
        decimal: The sign before the fraction, if the user says it.
        missing: Marks that the user names.
    """
    hidden: dict[str, HiddenMark] = {}
    figures: dict[str, WrittenNumber] = {}
    for text in texts:
        if text.strip().casefold() in BLANKS and not any(mark.fits(text) for mark in missing):
            continue
        figure = WrittenNumber.of(text)
        mark = next((one for one in missing if one.fits(text)), None)
        if mark is None and figure is None:
            mark = mark_of(text, ())
        if mark is not None:
            hidden[text] = mark
        elif figure is not None:
            figures[text] = figure
    style = _style(tuple(figures.values()), column, decimal)
    values = {text: style.value(figure) for text, figure in figures.items()}
    known = {text: value for text, value in values.items() if value is not None}
    units = sorted({figures[text].unit for text in known})
    _refuse_mixed(units, column)
    return NumberColumn(known, hidden, style, tuple(units))


def _style(figures: Sequence[WrittenNumber], column: str, decimal: str | None) -> NumberStyle:
    """The only way in which the numbers can be written, or the one that the user says."""
    if decimal is not None:
        return NumberStyle(decimal)
    counts = [sum(style.parts(one.digits) is not None for one in figures) for style in STYLES]
    if counts[0] != counts[1]:
        return STYLES[counts[1] > counts[0]]
    point, comma = STYLES
    for one in figures:
        as_point, as_comma = point.value(one), comma.value(one)
        if as_point is None or as_comma is None or as_point == as_comma:
            continue
        # A point before three digits separates thousands only where all thousands are separated.
        grouped = COMMA if POINT in one.digits else POINT
        if not point.groups_throughout(figures):
            return NumberStyle(POINT if grouped == COMMA else COMMA)
        low, high = sorted((as_point, as_comma))
        raise BadLog(
            f"column {column!r} holds numbers such as {one.digits!r}, which may be {low:g} or "
            f"{high:.0f}, and no other number of it decides: say which sign stands before the "
            f"fraction, with {argument('decimal', POINT)} or {argument('decimal', COMMA)}."
        )
    return point


def _refuse_mixed(units: Sequence[str], column: str) -> None:
    """Refuse per cent beside plain numbers, and two currencies: they cannot be added up."""
    named = [unit for unit in units if unit]
    if "%" in named and len(units) > 1:
        raise BadLog(
            f"column {column!r} holds numbers with and without a per cent sign: write all of them "
            f"in one way, or choose rows with {argument('where')}."
        )
    if len(named) > 1:
        raise BadLog(
            f"column {column!r} holds amounts in {' and '.join(named[:3])}: put them into one "
            f"currency, or choose rows with {argument('where')}."
        )


# Times and amounts as they stand in a log, read into moments and numbers.
#
# A moment is a timestamp in UTC without a zone (dates begin at midnight), or a plain number. What
# cannot be read becomes empty here, with its text kept beside it, so that it can be named later.
# Columns that are plain are read in the engine; only where one is not are its texts looked at.

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
