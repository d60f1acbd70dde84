"""Whole numbers, as arguments take them: counts, horizons, seeds."""

from __future__ import annotations

import numbers
from typing import Any

from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter

MOST_STEPS = 2**31 - 1  # steps are counted in 32 bits


def is_whole(value: Any, least: int = 1, most: int | None = None) -> bool:
    """Whether a value is an integer of Python or NumPy, and not below `least` or above `most`.

    >>> is_whole(3), is_whole(3.0), is_whole(True), is_whole("3"), is_whole(0)
    (True, False, False, False, False)
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and least <= value and (most is None or value <= most)


def require_whole(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """The value as an int; refuses what is not a whole number from `least`, or to `most`.

    >>> require_whole(12, "period")
    12
    >>> require_whole(0.5, "period", most=10)
    Traceback (most recent call last):
    evenhand.errors.BadParameter: period is 0.5: it must be a whole number from 1 to 10.
    """
    if not is_whole(value, least, most):
        to = "" if most is None else f" to {most:,}"
        raise BadParameter(
            f"{what} is {short_repr(value)}: it must be a whole number from {least}{to}."
        )
    return int(value)
