"""A supply to be divided in hindsight: who could receive what; whole lots; those alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import BadLog, BadParameter, argument
from evenhand.fairness.aggregation import Aggregation
from evenhand.log.history import Lots

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


# What could have been divided otherwise: supply, who could take it, and when it was assessed.
#
# Everything here is linear in what each had received in all: the status of i at an assessment is
# `slope · X + start`, X being what i received up to then, plus what a newcomer began with.


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


# Lots that somebody got whole: those of each point, one by one and counted by size.

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


# Stakeholders who are alike taken as one, so that the work depends on how many kinds there are.
#
# Whoever is entitled to e counts as e equal stakeholders, and among equal ones no symmetric concave
# welfare is the worse for sharing evenly (Jensen). So those who could take supply at the same
# points, count at the same assessments and differ in size alone are as good as one of their size
# together.

DIGITS = 10  # to which figures must agree to be alike; what differs by rounding is the same


@dataclass(frozen=True, eq=False)
class Merged:
    """A division of kinds of stakeholders, and the share of each stakeholder in its kind."""

    division: Division
    kind: Int[np.ndarray, " stakeholder"]
    share: Float[np.ndarray, " stakeholder"]

    def spread(self, allocation: Float[np.ndarray, "point kind"]) -> np.ndarray:
        """The same allocation for stakeholders."""
        return allocation[:, self.kind] * self.share


def merge_alike(division: Division, sizes_matter: bool = True) -> Merged:
    """A division of kinds.

    Args:
        division: Of stakeholders.
        sizes_matter: Whether those who weigh other than by their size must be kept apart; not where
            the welfare is that of the worst-off, which asks for no weights.
    """
    size = _sizes(division)
    kind, first = _kinds(division, size, sizes_matter)
    count = len(first)
    total = np.bincount(kind, weights=size, minlength=count)
    share = size / total[kind]
    weight = np.zeros((len(division.after), count))
    np.add.at(weight.T, kind, division.weight.T)
    asked = None
    if division.asked is not None:
        asked = np.zeros((len(division.supply), count))
        np.add.at(asked.T, kind, division.asked.T)
    merged = replace(
        division,
        names=tuple(division.names[place] for place in first),
        eligible=division.eligible[:, first],
        asked=asked,
        slope=division.slope[:, first] * share[first],
        start=division.start[:, first],
        weight=weight,
        joins=tuple(_merge_join(join, kind, share) for join in division.joins),
    )
    return Merged(merged, kind, share)


def _sizes(division: Division) -> Float[np.ndarray, " stakeholder"]:
    """The size of each: one over its steepest slope."""
    steepest = np.abs(division.slope).max(axis=0, initial=0.0)
    return 1.0 / np.where(steepest > 0, steepest, 1.0)


def _kinds(
    division: Division, size: Float[np.ndarray, " stakeholder"], sizes_matter: bool
) -> tuple[Int[np.ndarray, " stakeholder"], Int[np.ndarray, " kind"]]:
    """The kind of each stakeholder, and the first of each kind."""
    joined = np.zeros(len(division.names), dtype=np.int64)
    for number, join in enumerate(division.joins):
        joined[join.who] = number + 1
    counted = division.weight * division.slope if sizes_matter else division.weight > 0
    parts = [
        division.eligible,
        joined[None],
        _rounded(division.slope * size),
        _rounded(division.start),
        _rounded(counted) if sizes_matter else counted,
        division.counted,
    ]
    if division.asked is not None:
        parts.append(_rounded(division.asked / size))
    columns = [np.ascontiguousarray(part.T).view(np.uint8) for part in parts]
    rows = np.ascontiguousarray(np.concatenate(columns, axis=1))
    keys = rows.view(np.dtype((np.void, rows.shape[1])))[:, 0]
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return kind, first


def _rounded(values: np.ndarray) -> np.ndarray:
    """To so many digits, whatever the unit; 0 is one number."""
    with np.errstate(divide="ignore"):
        scale = 10.0 ** (DIGITS - np.ceil(np.log10(np.abs(values))))
    known = np.isfinite(scale) & (values != 0)
    return np.where(known, np.rint(values * np.where(known, scale, 1.0)) / scale, 0.0) + 0.0


def _merge_join(join: Newcomers, kind: np.ndarray, share: np.ndarray) -> Newcomers:
    kinds, first, place = np.unique(kind[join.there], return_index=True, return_inverse=True)
    mean = None
    if join.mean is not None:
        mean = np.bincount(place, weights=join.mean, minlength=len(kinds))
    return replace(
        join,
        who=np.unique(kind[join.who]),
        there=kinds,
        slope=join.slope[first] * share[join.there][first],
        start=join.start[first],
        mean=mean,
    )
