"""Who stands where: distances from the mean put in order, where equal up to rounding is equal.

The sums behind them are rounded, and differently in another order of the names. So two distances
are equal where they differ by no more than a billionth of the furthest from the mean, and in any
case by no more than the rounding of the statuses they were taken from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.fairness.unfairness import ROUNDING

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

EQUAL = 1e-9  # of the furthest that anybody was from the mean
SMALLEST = float(np.finfo(float).tiny)


def rounding(furthest: float, largest: float) -> float:
    """The difference that counts as none, by the furthest distance and the largest status.

    >>> rounding(furthest=4.0, largest=5000.0)
    4e-09
    >>> rounding(furthest=0.5, largest=1e12) < 1  # a difference of 1 in 10^12 is one
    True
    """
    return max(SMALLEST, EQUAL * furthest, ROUNDING * largest)


@dataclass(frozen=True, eq=False)
class Ranking:
    """How far each is from the mean, and up to which difference two of them are equal.

    >>> ranking = Ranking(np.array([-1.0, 2.0, -1.0 - 1e-12]), rounding(2.0, 3.0))
    >>> ranking.ranks.tolist(), ranking.lowest, ranking.highest
    ([2, 1, 2], (0, 2), (1,))
    """

    deviation: Float[np.ndarray, " stakeholder"]  # NaN for those not there
    rounding: float
    # Nobody is behind who is no further from the mean than this: of each, where they differ.
    let_pass: float | Float[np.ndarray, " stakeholder"] = 0.0

    @classmethod
    def of(
        cls,
        deviation: Float[np.ndarray, " stakeholder"],
        statuses: Float[np.ndarray, " stakeholder"],
        let_pass: float | Float[np.ndarray, " stakeholder"] = 0.0,
    ) -> Ranking:
        """At one time, from the distances and the statuses they were taken from."""
        furthest, largest = (float(np.fmax.reduce(np.abs(part))) for part in (deviation, statuses))
        return cls(deviation, rounding(furthest, largest), let_pass)

    @classmethod
    def mean(cls, several: Sequence[Ranking]) -> Ranking:
        """The mean over several histories of the same stakeholders, where each is there."""
        deviation = known_mean([one.deviation for one in several])
        there = [np.where(np.isnan(one.deviation), np.nan, one.let_pass) for one in several]
        return cls(deviation, float(np.mean([one.rounding for one in several])), known_mean(there))

    @property
    def ranks(self) -> Int[np.ndarray, " stakeholder"]:
        """1 for the most favoured; equals share a rank, and those who are not there come last."""
        values = np.nan_to_num(self.deviation, nan=-np.inf)
        order = np.argsort(-values, kind="stable")
        with np.errstate(invalid="ignore"):  # two who are not there differ by nothing
            differs = -np.diff(values[order]) > self.rounding
        leader = np.maximum.accumulate(np.where(np.append(True, differs), np.arange(len(order)), 0))
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = 1 + leader
        return ranks

    @property
    def worst_first(self) -> Int[np.ndarray, " stakeholder"]:
        """Everyone from the lowest to the highest; equals in their own order."""
        return np.argsort(-self.ranks, kind="stable")

    @property
    def behind(self) -> Bool[np.ndarray, " stakeholder"]:
        """Those to whom it is unfair."""
        return self.deviation < -(self.let_pass + self.rounding)

    @property
    def lowest(self) -> tuple[int, ...]:
        """All who are furthest below the mean, in their own order; nobody where all are equal."""
        return self._first_of(self.deviation)

    @property
    def highest(self) -> tuple[int, ...]:
        """All who are furthest above the mean; nobody where all are equal."""
        return self._first_of(-self.deviation)

    def _first_of(self, values: Float[np.ndarray, " stakeholder"]) -> tuple[int, ...]:
        far = values[values < -(self.let_pass + self.rounding)]
        if not len(far):
            return ()
        alike = (values <= far.min() + self.rounding) & (values < -np.asarray(self.let_pass))
        return tuple(np.flatnonzero(alike).tolist())


def known_mean(several: Sequence[Float[np.ndarray, " n"]]) -> Float[np.ndarray, " n"]:
    """The mean over several, each place over those in which it is known; NaN if in none."""
    values = np.stack([np.asarray(one, dtype=float) for one in several])
    known = ~np.isnan(values)
    sums = np.where(known, values, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), sums / np.maximum(known.sum(axis=0), 1), np.nan)
