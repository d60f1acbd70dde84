"""Numbers that look random and depend on nothing but a seed and who draws for the how-manieth time.

So a state that is a fold over a log of decisions draws the same numbers whenever it is made again.
"""

from __future__ import annotations

import math
from typing import Any

from evenhand._util.checks import require_whole
from evenhand.errors import argument

_MASK = (1 << 64) - 1
LONGEST_TYPED = 100  # characters of a seed


def uniform(seed: int, place: int, count: int) -> float:
    """A number in (0, 1): splitmix64 of the three.

    >>> 0 < uniform(0, 3, 1) < 1, uniform(0, 3, 1) == uniform(0, 3, 2)
    (True, False)
    """
    bits = _mixed(_mixed(_mixed(seed & _MASK) ^ place) ^ count)
    return ((bits >> 11) + 0.5) * 2.0**-53


def exponential(seed: int, place: int, count: int) -> float:
    """A waiting time of mean 1."""
    return -math.log(uniform(seed, place, count))


def read_seed(seed: Any) -> int:
    """A seed as somebody gave or typed it: a text is read as the number that it shows.

    >>> read_seed(7), read_seed(" 7 ")
    (7, 7)
    """
    typed = isinstance(seed, str) and seed.isascii() and seed.strip().isdigit()
    number = int(seed) if typed and len(seed) <= LONGEST_TYPED else seed
    return require_whole(number, argument("seed"), least=0)


def _mixed(bits: int) -> int:
    bits = (bits + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)
