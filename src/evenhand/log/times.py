"""Times as people write them, read into moments, and the units of plain numbers."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.errors import BadLog, BadParameter, argument

# Times as people write them, beyond ISO 8601: 2023-Q1, 2023/24, Jan 2023, 2023-W05, 31/12/2023.
#
# What names a period is placed on its last day, when all that it counts has happened. Each way of
# writing is defined here, once. Which of them a column follows is decided by all of its
# texts: where only one fits it is taken, and where two fit and differ the user is asked.

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTH = "|".join(rf"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + "|sept"
_YEAR = r"(?P<year>[12]\d{3})"
_SHORT_YEAR = r"(?P<year>[12]\d{3}|['’]?\d{2})"
_CLOCK = r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[AP]M)?)?"
_TURN = 69  # a year of two digits is one of 1969 to 2068, as POSIX has it


@dataclass(frozen=True)
class TimeWriting:
    """A way to write a time: how it looks, and the first moment and the last day that it names."""

    name: str  # by which `time_format` asks for it
    example: str
    patterns: tuple[str, ...]
    begins: Callable[[re.Match[str]], datetime.datetime]
    months: int = 0  # that a period has, if it is one of months
    days: int = 0  # or of days

    def read(self, text: str, at_end: bool = True) -> datetime.datetime | None:
        """The moment, or None where the text is not written so or names no day there is.

        Args:
            text: What stands in the log.
            at_end: Whether a period is placed on its last day, or on its first.
        """
        for pattern in self._compiled:
            found = pattern.fullmatch(text.strip())
            if found is None:
                continue
            try:
                first = self.begins(found)
                return self._last(first, found) if at_end else first
            except (ValueError, OverflowError):
                return None
        return None

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(text, re.I) for text in self.patterns)

    def _last(self, first: datetime.datetime, found: re.Match[str]) -> datetime.datetime:
        """The last day of a period; what names a day itself is none."""
        if found.groupdict().get("day"):
            return first
        months = first.month - 1 + self.months
        after = first.replace(year=first.year + months // 12, month=months % 12 + 1)
        return after + datetime.timedelta(days=self.days - 1)


def _year(found: re.Match[str]) -> int:
    year = int(found["year"].lstrip("'’"))
    if len(found["year"].lstrip("'’")) > 2:
        return year
    return year + (2000 if year < _TURN else 1900)


def _month(found: re.Match[str]) -> int:
    text = found["month"].lower()
    if text.isdigit():
        return int(text)
    return next(k for k, name in enumerate(MONTHS, 1) if name.startswith(text[:3]))


def _quarter(found: re.Match[str]) -> datetime.datetime:
    return datetime.datetime(_year(found), 3 * int(found["quarter"]) - 2, 1)


def _first_of_month(found: re.Match[str]) -> datetime.datetime:
    return datetime.datetime(_year(found), _month(found), 1)


def _monday(found: re.Match[str]) -> datetime.datetime:
    day = int(found.groupdict().get("day") or 1)
    return datetime.datetime.fromisocalendar(_year(found), int(found["week"]), day)


def _first_year(found: re.Match[str]) -> datetime.datetime:
    year, following = _year(found), found["following"]
    if (year + 1) % 10 ** len(following) != int(following):
        raise ValueError("not two years in a row")
    return datetime.datetime(year, 1, 1)


def _day(found: re.Match[str]) -> datetime.datetime:
    hour, half = int(found["hour"] or 0), (found["half"] or "").upper()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("not an hour of a clock with twelve")
        hour = hour % 12 + (12 if half == "PM" else 0)
    clock = hour, int(found["minute"] or 0), int(found["second"] or 0)
    return datetime.datetime(_year(found), _month(found), int(found["day"]), *clock)


_D, _M = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})"
WRITINGS = (
    TimeWriting(
        "quarter",
        "2023-Q1",
        (
            rf"{_YEAR}[-/ _]?Q(?P<quarter>[1-4])",
            rf"Q(?P<quarter>[1-4])[-/ _]?{_SHORT_YEAR}",
            rf"(?P<quarter>[1-4])Q[-/ _]?{_SHORT_YEAR}",
        ),
        _quarter,
        months=3,
    ),
    TimeWriting(
        "week",
        "2023-W05",
        (
            rf"{_YEAR}[-/ _]?(?:W|week|wk)[ -]?(?P<week>\d{{1,2}})(?:-(?P<day>[1-7]))?",
            rf"(?:W|week|wk)[ -]?(?P<week>\d{{1,2}})[-/, _]+{_YEAR}",
        ),
        _monday,
        days=7,
    ),
    TimeWriting(
        "month",
        "Jan 2023",
        (
            rf"(?P<month>{_MONTH})\.?[-/ _,]*{_SHORT_YEAR}",
            rf"{_YEAR}[-/ _]?(?P<month>{_MONTH})\.?",
            rf"{_YEAR}[-/ _.](?P<month>\d{{1,2}})",
            rf"(?P<month>\d{{1,2}})[-/ .]{_YEAR}",
            rf"{_YEAR}M(?P<month>\d{{1,2}})",
        ),
        _first_of_month,
        months=1,
    ),
    TimeWriting(
        "years",
        "2023/24",
        (rf"(?:FY ?)?{_YEAR}[-/–](?P<following>[12]\d{{3}}|\d{{2}})",),
        _first_year,
        months=12,
    ),
    TimeWriting(
        "day-first",
        "31/12/2023",
        (
            rf"{_D}[/-]{_M}[/-]{_SHORT_YEAR}{_CLOCK}",
            rf"{_D}\.\s?{_M}\.\s?{_SHORT_YEAR}{_CLOCK}",
        ),
        _day,
    ),
    TimeWriting("month-first", "12/31/2023", (rf"{_M}[/-]{_D}[/-]{_SHORT_YEAR}{_CLOCK}",), _day),
    TimeWriting(
        "day",
        "31 Dec 2023",
        (
            rf"{_D}(?:st|nd|rd|th)?[-/ .]+(?P<month>{_MONTH})[-/ .,]+{_SHORT_YEAR}{_CLOCK}",
            rf"(?P<month>{_MONTH})\.? {_D}(?:st|nd|rd|th)?,? {_YEAR}{_CLOCK}",
        ),
        _day,
    ),
)
BY_NAME = {one.name: one for one in WRITINGS}


@dataclass(frozen=True)
class TimeColumn:
    """The moments that the texts of a column name, and how they are written."""

    values: dict[str, datetime.datetime]
    writing: TimeWriting

    def note(self, column: str) -> str:
        text, moment = next(iter(self.values.items()))
        how = ", its last day" if self.writing.months or self.writing.days else ""
        if self.writing.name == "years":
            how = ", the end of the year in which it begins"
        return (
            f"The times of column {column!r} are written otherwise than ISO 8601: {text!r} was "
            f"taken as {moment:%Y-%m-%d}{how}."
        )


def read_time_texts(texts: Sequence[str], column: str, at_end: bool = True) -> TimeColumn | None:
    """The times of a column, in the one way of writing that reads most of its texts.

    Args:
        texts: Those that are not ISO 8601, each once.
        column: What the column is called.
        at_end: Whether a period is placed on its last day, or on its first.
    """
    found = [one for writing in WRITINGS if (one := read_as(writing, texts, at_end)).values]
    if not found:
        return None
    most = max(len(one.values) for one in found)
    best = [one for one in found if len(one.values) == most]
    for other in best[1:]:
        _refuse_two(best[0], other, column)
    return best[0]


def _refuse_two(one: TimeColumn, other: TimeColumn, column: str) -> None:
    """Refuse a column that can be read in two ways, where they differ."""
    differing = [text for text, at in one.values.items() if other.values.get(text) != at]
    if not differing:
        return
    text = differing[0]
    ways = [
        f"{argument('time_format', way.writing.name)} ({way.values[text]:%d %B %Y})"
        for way in (one, other)
        if text in way.values
    ]
    raise BadLog(
        f"column {column!r} holds times such as {text!r}, which can be read in two ways, and no "
        f"other time of it decides: say which with {' or '.join(ways)}."
    )


def read_as(writing: TimeWriting, texts: Sequence[str], at_end: bool = True) -> TimeColumn:
    """The times of a column as far as they are written in one way."""
    read = {text: writing.read(text, at_end) for text in texts}
    return TimeColumn({text: at for text, at in read.items() if at is not None}, writing)


# Times that are numbers: seconds or milliseconds since 1970, years, 202301, 20230131.
#
# Numbers stay plain numbers unless the question needs a calendar. Then their magnitude says what
# they count, which a note repeats, and `time_unit` says otherwise.

NUMBER = "number"  # of `time_unit`: numbers are to stay numbers


@dataclass(frozen=True)
class TimeUnit:
    """What times count, from the smallest to the largest number that is likely meant so."""

    name: str
    words: str
    least: float
    most: float
    # Of a DOUBLE, the timestamp that it stands for; of a period, its last day or its first.
    sql: Callable[[str, bool], str]


def _since_1970(scale: float) -> Callable[[str, bool], str]:
    # Microseconds as a whole number, since seconds with a fraction are not exact as a float.
    return lambda number, _: f"make_timestamp(TRY_CAST(round({number} * {scale!r}) AS BIGINT))"


def _digits(form: str, period: str | None = None) -> Callable[[str, bool], str]:
    """Digits that say a day, or a period, which is placed on its last day or its first."""

    def sql(number: str, at_end: bool) -> str:
        digits = f"CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR)"
        first = f"CAST(try_strptime({digits}, '{form}') AS TIMESTAMP)"
        if period is None or not at_end:
            return first
        return f"{first} + INTERVAL '{period}' - INTERVAL 1 DAY"

    return sql


def _excel(number: str, _: bool) -> str:
    return (
        f"TIMESTAMP '1899-12-30' + to_microseconds(TRY_CAST(round({number} * 86400e6) AS BIGINT))"
    )


# The magnitudes do not meet, and each spans the years 1973 to 2286, or 1000 to 2999.
UNITS = (
    TimeUnit("year", "years", 1000, 2999, _digits("%Y", "1 year")),
    TimeUnit("excel", "days since 1900 as Excel counts them", 20_000, 80_000, _excel),
    TimeUnit(
        "yyyymm", "years and months, such as 202301", 100_001, 299_912, _digits("%Y%m", "1 month")
    ),
    TimeUnit("yyyymmdd", "days, such as 20230131", 10_000_101, 29_991_231, _digits("%Y%m%d")),
    TimeUnit("s", "seconds since 1970", 1e8, 1e10, _since_1970(1e6)),
    TimeUnit("ms", "milliseconds since 1970", 1e11, 1e13, _since_1970(1e3)),
    TimeUnit("us", "microseconds since 1970", 1e14, 1e16, _since_1970(1.0)),
    TimeUnit("ns", "nanoseconds since 1970", 1e17, 9.2e18, _since_1970(1e-3)),
)
BY_UNIT = {unit.name: unit for unit in UNITS}


def require_unit(name: str) -> None:
    """Refuse a unit that is not known."""
    if name not in (*BY_UNIT, NUMBER):
        raise BadParameter(
            f"{argument('time_unit')} is {name!r}: it must be one of {', '.join(BY_UNIT)}, or "
            f"{NUMBER} for numbers that are to stay numbers."
        )


def likely_unit(least: float, most: float) -> TimeUnit | None:
    """What numbers of this magnitude count, if it is likely enough.

    >>> likely_unit(1_600_000_000, 1_700_000_000).name, likely_unit(0, 12)
    ('s', None)
    """
    fitting = [unit for unit in UNITS if unit.least <= least and most <= unit.most]
    return fitting[0] if fitting else None


def unit_note(unit: TimeUnit, column: str) -> str:
    """What is said where the unit was not given and was found by the size of the numbers."""
    return (
        f"The times of column {column!r} were taken as {unit.words}: say otherwise with "
        f"{argument('time_unit')}, such as {argument('time_unit', NUMBER)}."
    )
