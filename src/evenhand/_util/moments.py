"""Moments: as people write them, and as numbers. All are in UTC; what has no zone is taken as UTC.

A moment is a timestamp or a plain number. As a number, a timestamp is microseconds since 1970.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86_400e6  # microseconds
# The calendar that times lie in: the years 1 to 9999, which is what ISO 8601 writes.
FIRST_MOMENT, LAST_MOMENT = datetime.datetime.min, datetime.datetime.max
CALENDAR = "the years 1 to 9999"
LARGEST_WHOLE = 1e15  # a number beyond it is written with an exponent


def moment_label(moment: Any) -> str:
    """A moment as people write it: a date, a time to the second, or a number."""
    return moment_labels(np.asarray(moment)[None])[0]


def moment_labels(moments: np.ndarray) -> list[str]:
    """Many of them.

    >>> moment_labels(np.array(["2021-03-31T00:00", "2021-03-31T10:30"], dtype="M8[us]"))
    ['2021-03-31', '2021-03-31 10:30:00']
    """
    if moments.dtype.kind != "M":
        return [
            f"{int(x)}" if abs(x) < LARGEST_WHOLE and x == int(x) else f"{x!r}"
            for x in moments.tolist()
        ]
    texts = np.datetime_as_string(moments, unit="us").tolist()
    return [
        text[:10]
        if text.endswith("T00:00:00.000000")
        else text.removesuffix(".000000").replace("T", " ")
        for text in texts
    ]


def parse_moment(text: str) -> datetime.datetime:
    """An ISO date or timestamp, in UTC without a zone; a ValueError if it is none.

    So is one that its zone pushes out of the calendar, such as 0001-01-01T00:00:00+01:00.

    >>> parse_moment("2021-03-31T10:00:00+02:00")
    datetime.datetime(2021, 3, 31, 8, 0)
    """
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment
    try:
        return moment.astimezone(datetime.UTC).replace(tzinfo=None)
    except OverflowError:
        raise ValueError(f"{text!r} is outside {CALENDAR} in UTC") from None


def microseconds(moment: datetime.datetime) -> float:
    """A moment that has no zone as microseconds since 1970.

    >>> microseconds(parse_moment("1970-01-02"))
    86400000000.0
    """
    since = moment - EPOCH
    return float((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def as_numbers(moments: np.ndarray) -> np.ndarray:
    """Moments as float64: microseconds since 1970 (exact until the year 2255), or as they are."""
    if moments.dtype.kind == "M":
        return moments.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return np.asarray(moments, dtype=np.float64)


def as_timestamps(numbers: np.ndarray | float) -> np.ndarray:
    """The other way round: the timestamps of microseconds since 1970.

    >>> as_timestamps(as_numbers(np.array(["2021-03-31"], dtype="M8[D]")))
    array(['2021-03-31T00:00:00.000000'], dtype='datetime64[us]')
    """
    return np.asarray(numbers).astype(np.int64).astype("datetime64[us]")
