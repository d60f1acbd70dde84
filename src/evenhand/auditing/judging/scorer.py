"""One scheme at work on assessed statuses, and on the same statuses made even."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.errors import EvenhandError, NegativeStatus, WelfareOverflow
from evenhand.fairness.filters import Always
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.stream import Assessed, Fold
from evenhand.fairness.trace import Standing
from evenhand.fairness.welfare import Average

if TYPE_CHECKING:
    from jaxtyping import Float


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
