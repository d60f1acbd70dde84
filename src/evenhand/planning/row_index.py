"""Rows of numbers, numbered as they are found: a hash finds the number of a row again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import CannotPlan

if TYPE_CHECKING:
    from jaxtyping import Float, Int, UInt

# Numbers closer than this are one number: sums of logarithms differ by rounding alone.
RESOLUTION = 2.0**-32


class RowIndex:
    """Finds the number of a row by a hash of it; equal hashes of unequal rows are noticed."""

    def __init__(self, width: int) -> None:
        draws = np.random.default_rng(1).integers(0, 2**63, width, dtype=np.uint64)
        self._weights = draws * np.uint64(2) + np.uint64(1)
        self._hashes = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, width))

    def hashes(self, rows: Float[np.ndarray, "row column"]) -> UInt[np.ndarray, " row"]:
        cells = np.rint(np.where(np.isinf(rows), 1e9, rows) / RESOLUTION).astype(np.int64)
        bits = cells.view(np.uint64)
        bits ^= bits >> np.uint64(32)  # whole numbers have their bits high up, where few multiply
        return bits @ self._weights

    def find(self, rows: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
        """The number of each row, or −1 where it has none."""
        return self._look_up(self.hashes(rows), rows)

    def number(self, rows: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
        """The number of each row; rows that are new are given the next numbers."""
        hashes, first, inverse = np.unique(
            self.hashes(rows), return_index=True, return_inverse=True
        )
        _require_alike(rows, rows[first][inverse])
        numbers = self._look_up(hashes, rows[first])
        new = numbers < 0
        if new.any():
            numbers[new] = len(self._numbers) + np.arange(np.count_nonzero(new))
            places = np.searchsorted(self._hashes, hashes[new])
            self._hashes = np.insert(self._hashes, places, hashes[new])
            self._numbers = np.insert(self._numbers, places, numbers[new])
            self._rows = np.concatenate((self._rows, rows[first][new]))
        return numbers[inverse]

    def number_in_order(self, rows: Float[np.ndarray, "row column"]) -> None:
        """Number distinct rows 0, 1, 2, … as they come."""
        hashes = self.hashes(rows)
        self._numbers = np.argsort(hashes)
        self._hashes, self._rows = hashes[self._numbers], rows

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def rows(self) -> Float[np.ndarray, "state column"]:
        return self._rows

    def _look_up(
        self, hashes: UInt[np.ndarray, " row"], rows: Float[np.ndarray, "row column"]
    ) -> Int[np.ndarray, " row"]:
        if not len(self._hashes):
            return np.full(len(hashes), -1)
        places = np.searchsorted(self._hashes, hashes)
        places[places == len(self._hashes)] = 0
        known = self._hashes[places] == hashes
        numbers = np.where(known, self._numbers[places], -1)
        _require_alike(rows[known], self._rows[numbers[known]])
        return numbers


def _require_alike(
    rows: Float[np.ndarray, "row column"], others: Float[np.ndarray, "row column"]
) -> None:
    with np.errstate(invalid="ignore"):
        if not ((np.abs(rows - others) <= 4 * RESOLUTION) | (rows == others)).all():
            raise CannotPlan(
                "two states have the same hash, which is a coincidence of one in billions: "
                "change any number of the problem slightly, or report it."
            )
