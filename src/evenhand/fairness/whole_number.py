"""Whole numbers of steps, as parts of a scheme take them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from evenhand.errors import BadParameter

MOST_STEPS = 2**31 - 1  # steps are counted in 32 bits


def require_whole(value: Any, what: str) -> None:
    """Refuse what is not a whole number of steps from 1.

    >>> require_whole(12, "period")
    """
    number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not number or not 1 <= value <= MOST_STEPS or value != int(value):
        raise BadParameter(
            f"{what} is {value!r}: it must be a whole number from 1 to {MOST_STEPS:,}."
        )
