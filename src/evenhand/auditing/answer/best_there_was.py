"""The best there was: how fair the same supply could have been shared, as an answer carries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand._util.wording import format_number, tell_apart
from evenhand.auditing.judging.ranking import EQUAL

CLOSED = 1e-6  # a relative gap within which the best is as good as known


@dataclass(frozen=True)
class BestThereWas:
    """The best score that sharing the same supply otherwise could have had, and how sure that is.

    Times, supply, eligibility and requests are held fixed, and all supply is given out. `score` is
    that of an allocation that was found, and no allocation scores above `bound`.
    """

    score: float
    bound: float
    actual: float  # the score of what happened
    even: float | None  # of the same amounts shared evenly at each time, which may be out of reach
    lots: bool = False  # whether a row of the log was taken to be one thing that cannot be divided

    @property
    def gap(self) -> float:
        """How far above the score that was found the best can lie."""
        return max(self.bound - self.score, 0.0)

    @property
    def relative_gap(self) -> float:
        largest = max(abs(self.score), abs(self.bound))
        return self.gap / largest if largest else 0.0

    @property
    def is_closed(self) -> bool:
        return self.relative_gap <= CLOSED or self.gap <= CLOSED * self._distance

    @property
    def avoidable(self) -> float:
        """By how much what happened scored below the best that was found."""
        return max(self.score - self.actual, 0.0)

    @property
    def _distance(self) -> float:
        """From what happened to an even log, or to the best where that is further."""
        highest = self.score if self.even is None else max(self.even, self.score)
        return max(highest - self.actual, 0.0)

    @property
    def avoidable_share(self) -> float | None:
        """What is avoidable of the distance to an even log; None where there is no distance."""
        least = EQUAL * max(abs(self.actual), abs(self.score))
        return None if self._distance <= least else min(self.avoidable / self._distance, 1.0)

    def sentence(self) -> str:
        """What a verdict says of it."""
        kept = "With the same supply, times and eligibility"
        if self.lots:
            kept += ", and no row divided"
        share = self.avoidable_share
        if share is None or self.avoidable <= EQUAL * max(abs(self.actual), abs(self.score)):
            if self.is_closed:
                return f"{kept}, no other way to share would have scored higher."
            return (
                f"{kept}, no way to share was found that scores higher; none scores above "
                f"{format_number(self.bound)}."
            )
        (score, actual), bound = tell_apart(self.score, self.actual), format_number(self.bound)
        if self.is_closed:
            words = f"{kept}, the best score was {score}, and here it is {actual}"
        else:
            words = f"{kept}, {score} could have been scored (and nothing above {bound}), and here "
            words += f"it is {actual}"
        if self.even is None:
            return f"{words}."
        if self.even <= self.score:  # an even log was in reach
            return f"{words}: all of the gap to an even log was avoidable."
        return f"{words}: {share:.0%} of the gap to an even log was avoidable."

    def to_json(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "bound": self.bound,
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "actual": self.actual,
            "even": self.even,
            "avoidable": self.avoidable,
            "avoidable_share": self.avoidable_share,
            "lots": self.lots,
        }
