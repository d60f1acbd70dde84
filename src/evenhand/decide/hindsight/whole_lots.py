"""Lots that somebody got whole: those of each point, one by one and counted by size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import BadLog, BadParameter, argument
from evenhand.log.history import Lots

if TYPE_CHECKING:
    from jaxtyping import Float, Int

MOST_LOTS = 200_000


@dataclass(frozen=True, eq=False)
class WholeLots:
    """Every lot of a division, in order of points, large ones first."""

    point: Int[np.ndarray, " lot"]
    size: Float[np.ndarray, " lot"]
    who: Int[np.ndarray, " lot"]  # got it

    @classmethod
    def of(
        cls,
        lots: Lots,
        point_of_slot: Int[np.ndarray, " slot"],
        judged: Int[np.ndarray, " stakeholder"],
    ) -> WholeLots:
        """The lots of a log.

        Args:
            lots: As they were read.
            point_of_slot: The point of a division at which each time point is.
            judged: Whom each stakeholder is judged as: itself, or its group.
        """
        for amount in lots.amount[lots.amount < 0][:1]:
            raise BadLog(
                f"a row takes back {-amount:g}, which is no lot that somebody could have had: fix "
                "the amounts, or let rows be divided."
            )
        count = int(lots.copies[lots.amount > 0].sum())
        if count > MOST_LOTS:
            raise BadParameter(
                f"{argument('lots')} looks at every row, and of {count:,} that takes too long (at "
                f"most {MOST_LOTS:,}): leave it out, so that amounts may be divided."
            )
        copies = np.where(lots.amount > 0, lots.copies, 0)
        point, size, who = (
            np.repeat(part, copies)
            for part in (point_of_slot[lots.slot], lots.amount, judged[lots.who])
        )
        order = np.lexsort((-size, point))
        return cls(point[order], size[order], who[order])

    @property
    def are_equal(self) -> bool:
        """Whether all are of one size."""
        return len(np.unique(self.size)) == 1

    def batches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Point, size and number of those that are alike."""
        alike = np.stack((self.point.astype(float), self.size), axis=1)
        batches, count = np.unique(alike, axis=0, return_counts=True)
        return batches[:, 0].astype(np.int64), batches[:, 1], count

    def allocation(
        self, who: Int[np.ndarray, " lot"], shape: tuple[int, int]
    ) -> Float[np.ndarray, "point stakeholder"]:
        """What each gets at each point, if each lot goes to somebody."""
        cell = self.point * shape[1] + who
        return np.bincount(cell, weights=self.size, minlength=shape[0] * shape[1]).reshape(shape)
