"""Amounts over time beside those received: chances, requests, entitlements as they change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.moments import as_numbers

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class TimedAmounts:
    """Entries in order of time: when, the place of whom they concern, and how much.

    >>> amounts = TimedAmounts(
    ...     np.array([1.0, 1.0, 3.0]), np.array([0, 1, 0]), np.array([2.0, 5.0, 4.0]), 2
    ... )
    >>> amounts.totals().by(np.array([1.0, 2.0, 3.0]))
    array([[2., 5.],
           [2., 5.],
           [6., 5.]])
    >>> amounts.levels().by(np.array([0.0, 3.0]))
    array([[nan, nan],
           [ 4.,  5.]])
    """

    at: Float[np.ndarray, " entry"]  # moments as numbers, ascending
    who: Int[np.ndarray, " entry"]
    amount: Float[np.ndarray, " entry"]
    size: int  # how many stakeholders there are

    def totals(self) -> Reading:
        """The sums of the entries up to each moment."""
        return _Totals(self)

    def levels(self) -> Reading:
        """The latest entry up to each moment; NaN before the first."""
        return _Levels(self)


class Reading(ABC):
    """Something known over time, read forwards, some moments at a time."""

    @abstractmethod
    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        """How things stand at each of some moments, none before those asked for last."""


# What is known over time: entries, or a way to begin reading.
Known = TimedAmounts | Callable[[], Reading]


class Unchanging(Reading):
    """Numbers that are the same at every moment."""

    def __init__(self, values: Float[np.ndarray, " status"]) -> None:
        self.values = values

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        return np.broadcast_to(self.values, (len(moments), len(self.values)))


class _AmountsReading(Reading):
    def __init__(self, ledger: TimedAmounts, start: float) -> None:
        self.ledger = ledger
        self._next = 0  # the first entry that is still to come
        self._now = np.full(ledger.size, start)

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        if not len(moments):
            return np.zeros((0, self.ledger.size))
        numbers = as_numbers(moments)
        end = int(np.searchsorted(self.ledger.at, numbers[-1], side="right"))
        part = slice(self._next, end)
        row = np.searchsorted(numbers, self.ledger.at[part], side="left")
        found = self._stand(row, self.ledger.who[part], self.ledger.amount[part], len(numbers))
        self._next, self._now = end, found[-1]
        return found

    @abstractmethod
    def _stand(
        self, row: np.ndarray, who: np.ndarray, amount: np.ndarray, rows: int
    ) -> Float[np.ndarray, "moment stakeholder"]:
        """How things stand after entries that belong to rows, in order of time."""


class _Totals(_AmountsReading):
    def __init__(self, ledger: TimedAmounts) -> None:
        super().__init__(ledger, 0.0)

    def _stand(
        self, row: np.ndarray, who: np.ndarray, amount: np.ndarray, rows: int
    ) -> Float[np.ndarray, "moment stakeholder"]:
        size = self.ledger.size
        added = np.bincount(row * size + who, weights=amount, minlength=rows * size)
        return self._now + np.cumsum(added.reshape(rows, size), axis=0)


class _Levels(_AmountsReading):
    def __init__(self, ledger: TimedAmounts) -> None:
        super().__init__(ledger, np.nan)

    def _stand(
        self, row: np.ndarray, who: np.ndarray, amount: np.ndarray, rows: int
    ) -> Float[np.ndarray, "moment stakeholder"]:
        size = self.ledger.size
        said = np.full((rows + 1, size), -1)
        said[0] = 0
        levels = np.vstack((self._now[None], np.zeros((rows, size))))
        levels[row + 1, who] = amount  # of several before the next moment, the last
        said[row + 1, who] = row + 1
        latest = np.maximum.accumulate(said, axis=0)
        return np.take_along_axis(levels, latest, axis=0)[1:]
