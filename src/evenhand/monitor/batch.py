"""Events as a monitor takes them: some at a time, in the order in which they came."""

from __future__ import annotations

import datetime
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from evenhand._util.moments import (
    CALENDAR,
    FIRST_MOMENT,
    LAST_MOMENT,
    as_numbers,
    microseconds,
    parse_moment,
)
from evenhand._util.wording import short_repr

FIRST_YEAR, LAST_YEAR = np.datetime64(FIRST_MOMENT, "Y"), np.datetime64(LAST_MOMENT, "Y")


class Batch(NamedTuple):
    """Events in order: when, the place of who received among the names, and how much.

    A time is a plain number, or else microseconds since 1970.
    """

    at: np.ndarray
    who: np.ndarray
    amount: np.ndarray
    plain_numbers: bool = True

    @classmethod
    def of(cls, events: list[tuple[float, int, float]], plain_numbers: bool) -> Batch:
        at, who, amount = zip(*events, strict=True) if events else ((), (), ())
        return cls(
            np.array(at, dtype=np.float64),
            np.array(who, dtype=np.int64),
            np.array(amount, dtype=np.float64),
            plain_numbers,
        )


def text_as_number(text: str) -> float:
    """An ISO date or timestamp as microseconds since 1970 in UTC; without a zone it is UTC."""
    try:
        return microseconds(parse_moment(text))
    except (ValueError, OverflowError):  # such as the year 1 in a zone ahead of UTC
        raise ValueError(f"the time {short_repr(text)} is not an ISO date or timestamp") from None


def time_as_number(time: Any) -> tuple[float, bool]:
    """A time of any kind as a number, and whether it is a plain number.

    >>> time_as_number("1970-01-02"), time_as_number(7)
    ((86400000000.0, False), (7.0, True))
    """
    if isinstance(time, str):
        return text_as_number(time), False
    if isinstance(time, datetime.date):  # a datetime is one too
        return text_as_number(time.isoformat()), False
    if isinstance(time, np.datetime64):  # NumPy has one that is none, and some beyond any calendar
        if not FIRST_YEAR <= time.astype("datetime64[Y]") <= LAST_YEAR:
            raise ValueError(f"the time {time} is not a date within {CALENDAR}")
        return float(as_numbers(np.asarray(time))), False
    if isinstance(time, Real) and not isinstance(time, bool):
        try:
            return float(time), True
        except OverflowError:
            raise ValueError(f"the time {short_repr(time)} is too large") from None
    raise ValueError(f"the time {time!r} is not a date, a timestamp or a number")
