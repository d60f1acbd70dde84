"""Finite numbers, as arguments take them: amounts, limits, probabilities."""

from __future__ import annotations

import math
import numbers
from typing import Any


def is_finite_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy, and neither NaN nor an infinity.

    >>> is_finite_number(0.5), is_finite_number("0.5"), is_finite_number(True)
    (True, False, False)
    >>> is_finite_number(math.nan), is_finite_number(10**400)  # beyond every float
    (False, False)
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
