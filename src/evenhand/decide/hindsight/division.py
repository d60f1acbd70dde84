"""What could have been divided otherwise: supply, who could take it, and when it was assessed.

Everything here is linear in what each had received in all: the status of i at an assessment is
`slope · X + start`, X being what i received up to then, plus what a newcomer began with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import BadLog, BadParameter, argument
from evenhand.fairness.aggregation import Aggregation

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class Newcomers:
    """Newcomers of one moment, and what they begin with: a mean of statuses, or the least."""

    after: int  # how many points of supply come before that moment
    who: Int[np.ndarray, " newcomer"]
    there: Int[np.ndarray, " other"]  # those who were there
    slope: Float[np.ndarray, " other"]  # their statuses at that moment, as in a division
    start: Float[np.ndarray, " other"]
    mean: Float[np.ndarray, " other"] | None  # their weights in it, adding up to 1; None: the least

    def credit(
        self, totals: Float[np.ndarray, " stakeholder"], credits: Float[np.ndarray, " stakeholder"]
    ) -> float:
        """What they begin with, by what each had received before and had begun with."""
        statuses = self.slope * totals[self.there] + self.start + credits[self.there]
        return float(statuses.min() if self.mean is None else self.mean @ statuses)


@dataclass(frozen=True, eq=False)
class Division:
    """Supply at points of time, those who could take it, and the assessments.

    An allocation gives each its part of every point's supply: [point, stakeholder].
    """

    names: tuple[str, ...]
    supply: Float[np.ndarray, " point"]
    eligible: Bool[np.ndarray, "point stakeholder"]
    asked: Float[np.ndarray, "point stakeholder"] | None  # the most each may have by each point
    after: Int[np.ndarray, " assessment"]  # how many points of supply come before each
    slope: Float[np.ndarray, "assessment stakeholder"]
    start: Float[np.ndarray, "assessment stakeholder"]
    weight: Float[np.ndarray, "assessment stakeholder"]  # mean 1 over those who count; 0: does not
    joins: tuple[Newcomers, ...] = ()  # in order of time
    label: Callable[[int], str] = str  # what a point is called

    def __post_init__(self) -> None:
        for point in np.flatnonzero(self.supply < 0)[:1]:
            raise BadLog(
                f"at {self.label(int(point))} more was taken back than given out "
                f"({self.supply[point]:g} in all): what else could have been done with it has no "
                "meaning, so fix the amounts, or look at longer periods."
            )
        nobody = (self.supply > 0) & ~self.eligible.any(axis=1)
        for point in np.flatnonzero(nobody)[:1]:
            raise BadLog(
                f"at {self.label(int(point))} {self.supply[point]:g} was given out and nobody "
                "could have taken it: fix the dates of the roster or the requests."
            )

    def require_work(self, work: float, most: float) -> None:
        """Refuse what would take too long or too much memory."""
        if work > most:
            raise BadParameter(
                f"the best there was of {len(self.names):,} kinds of stakeholders at "
                f"{len(self.supply):,} points of time would take too long for this score: look "
                f"less often with {argument('every')}, judge groups with {argument('by')}, or take "
                "a shorter part of the log."
            )

    @property
    def counted(self) -> Bool[np.ndarray, "assessment stakeholder"]:
        """Who counts at each assessment."""
        return self.weight > 0

    def totals(
        self, allocation: Float[np.ndarray, "point stakeholder"]
    ) -> Float[np.ndarray, "point stakeholder"]:
        """What each has received before each point, and in all: one row more than points."""
        nothing = np.zeros((1, len(self.names)))
        return np.concatenate((nothing, np.cumsum(allocation, axis=0)))

    def statuses(
        self, allocation: Float[np.ndarray, "point stakeholder"]
    ) -> Float[np.ndarray, "assessment stakeholder"]:
        """The status of each at each assessment."""
        totals = self.totals(allocation)
        return self.slope * totals[self.after] + self.start + self.credits(totals)

    def credits(
        self, totals: Float[np.ndarray, "point stakeholder"]
    ) -> Float[np.ndarray, " stakeholder"]:
        """What each newcomer began with, and 0 for all others."""
        found = np.zeros(len(self.names))
        for join in self.joins:
            found[join.who] = join.credit(totals[join.after], found)
        return found

    def score(
        self, allocation: Float[np.ndarray, "point stakeholder"], aggregation: Aggregation
    ) -> float:
        """The score of an allocation, by the package's own definitions."""
        return self.score_of(self.statuses(allocation), aggregation)

    def score_of(
        self, statuses: Float[np.ndarray, "assessment stakeholder"], aggregation: Aggregation
    ) -> float:
        """The score of statuses."""
        return aggregation.fold(self.welfares(statuses, aggregation))

    def welfares(
        self, statuses: Float[np.ndarray, "assessment stakeholder"], aggregation: Aggregation
    ) -> Float[np.ndarray, " assessment"]:
        """What each assessment adds."""
        with np.errstate(divide="ignore"):
            return aggregation.contributions(statuses, self.weight)

    def at(self, chosen: Bool[np.ndarray, " assessment"]) -> Division:
        """With some of the assessments alone."""
        return replace(
            self,
            after=self.after[chosen],
            slope=self.slope[chosen],
            start=self.start[chosen],
            weight=self.weight[chosen],
        )

    def even(self) -> Float[np.ndarray, "point stakeholder"]:
        """Every point's supply shared alike among those who could take it, whatever they asked."""
        takers = np.maximum(self.eligible.sum(axis=1), 1)
        return self.eligible * (self.supply / takers)[:, None]

    def within_requests(
        self, allocation: Float[np.ndarray, "point stakeholder"]
    ) -> Float[np.ndarray, "point stakeholder"]:
        """The same without what somebody has beyond its requests, by rounding: others have it."""
        if self.asked is None:
            return allocation
        found, had = np.zeros_like(allocation), np.zeros(len(self.names))
        for point, given in enumerate(allocation):
            most = np.where(self.eligible[point], np.maximum(self.asked[point] - had, 0.0), 0.0)
            kept = np.minimum(given, most)
            room, short = most - kept, max(self.supply[point] - kept.sum(), 0.0)
            if room.sum() > 0:
                kept = kept + room * min(1.0, short / room.sum())
            found[point] = kept
            had = had + kept
        return found

    def misses(self, allocation: Float[np.ndarray, "point stakeholder"]) -> float:
        """By how much an allocation breaks what is held fixed, as a share of all supply."""
        worst = [
            np.abs(allocation.sum(axis=1) - self.supply).max(initial=0.0),
            -allocation.min(initial=0.0),
            allocation[~self.eligible].max(initial=0.0),
        ]
        if self.asked is not None:
            over = np.where(self.eligible, np.cumsum(allocation, axis=0) - self.asked, 0.0)
            worst.append(over.max(initial=0.0))
        return float(max(worst)) / max(float(self.supply.sum()), 1e-300)
