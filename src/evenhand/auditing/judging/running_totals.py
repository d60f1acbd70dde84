"""Section 4.2.1, stakeholder by stakeholder: what unfairness added up to, as a fold over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.judging.ranking import Ranking, rounding
from evenhand.fairness.stream import Block
from evenhand.fairness.trace import NONE, Tolerance
from evenhand.fairness.unfairness import ROUNDING, unfair_to, unfairness

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


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
