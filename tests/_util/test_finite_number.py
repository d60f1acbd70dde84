"""What counts as a number where one is needed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from evenhand._util.finite_number import is_finite_number


@pytest.mark.parametrize("value", [0, -1.5, np.float32(2), np.int64(3), Fraction(1, 3)])
def test_numbers(value):
    assert is_finite_number(value)


@pytest.mark.parametrize("value", [True, "1", None, [1], 1j, math.nan, -math.inf, 10**400])
def test_what_is_not_a_finite_number(value):
    assert not is_finite_number(value)
