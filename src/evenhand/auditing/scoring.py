"""Statuses scored: one scheme at work, who stands where, and what unfairness adds up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.errors import EvenhandError, NegativeStatus, WelfareOverflow
from evenhand.fairness.filters import Always
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.stream import Assessed, Block, Fold
from evenhand.fairness.trace import NONE, Standing, Tolerance
from evenhand.fairness.unfairness import ROUNDING, unfair_to, unfairness
from evenhand.fairness.welfare import Average

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


# One scheme at work on assessed statuses, and on the same statuses made even.


class Sides(NamedTuple):
    """The statuses of some assessments as they were, and made even: alike for every scheme."""

    actual: Float[np.ndarray, "time n"]
    even: Float[np.ndarray, "time n"]
    standing: Standing

    @classmethod
    def of(
        cls,
        statuses: Float[np.ndarray, "time n"],
        means: Float[np.ndarray, " time"],
        standing: Standing,
    ) -> Sides:
        """From the statuses, and the mean at each time of those who are there."""
        return cls(statuses, np.repeat(means[:, None], statuses.shape[1], axis=1), standing)


class Added(NamedTuple):
    """What each assessment adds to a score, and to that of the even log where it is defined."""

    actual: Float[np.ndarray, "assessment ..."]
    even: Float[np.ndarray, "assessment ..."] | None


class Scorer:
    """One scheme at work on assessed statuses, and on those statuses made even.

    Many schemes look at one history at the same times, and its statuses are worked out once.
    """

    def __init__(self, scheme: FairnessScheme) -> None:
        self.scheme = scheme
        taken = replace(scheme, filter=Always())  # only what is assessed comes here
        self._actual, self._even = Fold(taken), Fold(taken)
        self.undefined: EvenhandError | None = None

    @np.errstate(all="ignore")  # what overflows is refused by name
    def take(self, sides: Sides) -> Added | None:
        """What each assessment of a block adds, where that is defined."""
        if self.undefined is not None:
            return None
        before, each = self._actual.assessments, np.ones(len(sides.actual), dtype=bool)
        try:
            actual = self._actual.take(Assessed(before, each, sides.actual, sides.standing))
            if self.scheme.aggregation.keeps_history:
                return Added(actual, None)
            even = self._even.take(Assessed(before, each, sides.even, sides.standing))
        except (NegativeStatus, WelfareOverflow) as error:
            self.undefined = error
            return None
        return Added(actual, even)

    @property
    def score(self) -> float:
        if self.undefined is not None:
            raise self.undefined
        return self._actual.score(self._actual.assessments)

    @property
    def even_score(self) -> float | None:
        """The score had everyone who was there had the mean of those who were there."""
        if self.undefined is not None or not self._even.assessments:
            return None
        return self._even.score(self._even.assessments)


def mean_status(
    statuses: Float[np.ndarray, "time n"], weights: Float[np.ndarray, "time n"] | None
) -> Float[np.ndarray, " time"]:
    """The mean at each time point, in which a stakeholder of weight w counts as w equal ones."""
    return Average()(statuses) if weights is None else Average().weighted(statuses, weights)


class WelfareNow(NamedTuple):
    """What an assessment would find now, and would find in the even log."""

    actual: float
    even: float | None


def welfare_now(
    scheme: FairnessScheme, status: Float[np.ndarray, " n"], standing: Standing
) -> WelfareNow | None:
    """What an assessment would find now, where that is defined."""
    if scheme.welfare is None or not standing.anybody:
        return None
    means = standing.judge(mean_status, status[None])
    try:
        added = Scorer(scheme).take(Sides.of(status[None], means, standing))
    except EvenhandError:
        return None
    if added is None:
        return None
    even = None if added.even is None else float(added.even[0])
    return WelfareNow(float(added.actual[0]), even)


# Who stands where: distances from the mean put in order, where equal up to rounding is equal.
#
# The sums behind them are rounded, and differently in another order of the names. So two distances
# are equal where they differ by no more than a billionth of the furthest from the mean, and in any
# case by no more than the rounding of the statuses they were taken from.

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


# Section 4.2.1, stakeholder by stakeholder: what unfairness added up to, as a fold over time.


class RunningTotals:
    """Running figures of each stakeholder over the assessments, in memory that does not grow."""

    def __init__(self, size: int, tolerance: Tolerance = NONE) -> None:
        self._tolerance = tolerance
        self.assessments = 0
        self.judged = np.zeros(size, dtype=np.int64)  # assessments at which each was there
        self.below = np.zeros(size, dtype=np.int64)
        self.overall = np.zeros(size)
        self.first = np.full(size, np.nan)
        self.last = np.full(size, np.nan)
        self.last_is_below = np.zeros(size, dtype=bool)
        self.spell = np.zeros(size, dtype=np.int64)  # assessments below in a row, up to now
        self.longest = np.zeros(size, dtype=np.int64)
        self.longest_end = np.full(size, -1)  # the assessment, from 0, that ended the longest spell
        self.unequal = 0  # assessments at which anybody was below
        self.worst = 0.0  # the lowest unfairness to anyone at any assessment
        self.worst_share = 0.0  # the same as a share of the mean there
        # What is let pass by the tolerance: summed over the assessments at which each was there,
        self.let_pass = np.zeros(size)
        self.last_let_pass = np.zeros(size)  # and at the last of them
        self.scale = 0.0  # the largest statuses, summed
        self.furthest = 0.0  # the furthest from the mean, summed

    def take(
        self, block: Block
    ) -> tuple[Float[np.ndarray, "assessment n"], Bool[np.ndarray, "assessment n"]]:
        """Take the assessments of a block into account; the unfairness to each, and who is below.

        Those who are not there have an unfairness of NaN.
        """
        deviation = block.standing.judge(unfairness, block.statuses, np.nan)
        below = block.standing.judge(unfair_to, block.statuses, False)
        if not len(deviation):
            return deviation, below
        unequal = below.any(axis=1)
        lowest = np.arange(len(deviation)), np.nanargmin(deviation, axis=1)
        mean = block.statuses[lowest] - deviation[lowest]
        let_pass = self._tolerance.around(mean)
        present = block.standing.present
        here = np.ones_like(below) if present is None else present
        if self._tolerance != NONE:
            below &= deviation < -(let_pass + _rounding(block.statuses, here))[:, None]
        # New arrays, never the old ones changed: whoever kept `snapshot` can go back to it.
        self.judged = self.judged + here.sum(axis=0)
        self.below = self.below + below.sum(axis=0)
        total = deviation.sum(axis=0) if present is None else np.nansum(deviation, axis=0)
        self.overall = self.overall + total
        self._ends(deviation, below, here, let_pass)
        self._spells(below)
        self.unequal += int(below.any(axis=1).sum())
        # A distance by rounding alone is none, or it would break a limit of 0.
        furthest = np.where(unequal, deviation[lowest], 0.0)
        self.worst = min(self.worst, float(furthest.min()))
        self.worst_share = min(self.worst_share, _least_share(furthest, mean))
        self.scale += float(np.abs(block.statuses).max(axis=1).sum())
        self.furthest += float(np.nanmax(np.abs(deviation), axis=1, initial=0.0).sum())
        self.let_pass = self.let_pass + let_pass @ here
        self.assessments += len(deviation)
        return deviation, below

    def _ends(
        self,
        deviation: Float[np.ndarray, "time n"],
        below: Bool[np.ndarray, "time n"],
        here: Bool[np.ndarray, "time n"],
        let_pass: Float[np.ndarray, " time"],
    ) -> None:
        seen = here.any(axis=0)
        everyone = np.arange(here.shape[1])
        first = deviation[here.argmax(axis=0), everyone]
        self.first = np.where(seen & np.isnan(self.first), first, self.first)
        row = len(here) - 1 - here[::-1].argmax(axis=0)
        self.last = np.where(seen, deviation[row, everyone], self.last)
        self.last_is_below = np.where(seen, below[row, everyone], self.last_is_below)
        self.last_let_pass = np.where(seen, let_pass[row], self.last_let_pass)

    def _spells(self, below: Bool[np.ndarray, "time n"]) -> None:
        index = np.arange(1, len(below) + 1)[:, None]
        # The spell at row t began after the last row not below; before this block that row was
        # number −spell.
        since = np.maximum.accumulate(np.where(below, -self.spell, index), axis=0)
        lengths = index - since
        row = lengths.argmax(axis=0)
        longest = lengths[row, np.arange(len(row))]
        longer = longest > self.longest
        self.longest_end = np.where(longer, self.assessments + row, self.longest_end)
        self.longest = np.maximum(self.longest, longest)
        self.spell = lengths[-1]

    def snapshot(self) -> dict[str, Any]:
        """All figures by name."""
        return {name: value for name, value in vars(self).items() if name != "_tolerance"}

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from the figures of another."""
        vars(self).update(snapshot)

    @property
    def share_below(self) -> Float[np.ndarray, " n"]:
        return self.below / np.maximum(self.judged, 1)

    @property
    def ranking(self) -> Ranking:
        """Who stands where over all."""
        return Ranking(self.overall, rounding(self.furthest, self.scale), self.let_pass)


def _rounding(
    statuses: Float[np.ndarray, "time n"], here: Bool[np.ndarray, "time n"]
) -> Float[np.ndarray, " time"]:
    """The difference at each time that counts as none: who is just at a tolerance is within it."""
    return ROUNDING * np.abs(np.where(here, statuses, 0.0)).max(axis=1)


def _least_share(lowest: Float[np.ndarray, " time"], mean: Float[np.ndarray, " time"]) -> float:
    """The lowest distance from the mean as a share of it, where it is not 0."""
    known = mean != 0.0
    return float(np.min(lowest[known] / np.abs(mean[known]), initial=0.0))
