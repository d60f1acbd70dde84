"""Whole numbers as text that a page's script reads at once, without waiting for anything.

Each number is written in base 32, the lowest digit first, one letter for each digit: the letter
says which digit it is, and whether another follows. 0 stands for a number that is not known; the
sign is the lowest bit of the others. Differences between neighbours are small, and so short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float

BITS = 5
MORE = 1 << BITS  # set where another digit follows
LETTERS = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype=np.uint8
)


def packed(rows: Float[np.ndarray, "row column"]) -> str:
    """Rows of whole numbers, NaN where one is not known, each row from its own beginning.

    >>> packed(np.array([[1.0, 2.0, np.nan, 1.0]]))
    'DDAC'
    """
    codes = _codes(_differences(rows)).ravel()
    width = int(np.ceil(max(1, int(codes.max(initial=0)).bit_length()) / BITS))
    places = BITS * np.arange(width)
    rest = codes[:, None] >> places
    follows = rest >> BITS > 0
    digits = (rest & (MORE - 1)) + MORE * follows
    written = np.concatenate((np.ones((len(codes), 1), bool), rest[:, 1:] > 0), axis=1)
    return LETTERS[digits[written]].tobytes().decode("ascii")


def _differences(rows: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "row column"]:
    """From the last number of the row that is known."""
    known = ~np.isnan(rows)
    column = np.where(known, np.arange(rows.shape[1]), -1)
    before = np.maximum.accumulate(column, axis=1)
    before = np.concatenate((np.full((len(rows), 1), -1), before[:, :-1]), axis=1)
    last = np.take_along_axis(rows, np.maximum(before, 0), axis=1)
    return rows - np.where(before >= 0, last, 0.0)


def _codes(values: Float[np.ndarray, "row column"]) -> np.ndarray:
    known = ~np.isnan(values)
    whole = np.where(known, values, 0.0).astype(np.int64)
    return np.where(known, np.where(whole < 0, -2 * whole, 2 * whole + 1), 0)
