"""Times that are numbers: seconds or milliseconds since 1970, years, 202301, 20230131.

Numbers stay plain numbers unless the question needs a calendar. Then their magnitude says what
they count, which a note repeats, and `time_unit` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evenhand.errors import BadParameter, argument

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
