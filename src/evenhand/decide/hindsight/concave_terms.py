"""Welfares that are a sum of one concave term per status, and what time makes of assessments.

Utilitarian, log-Nash and alpha-fairness are one family: (u + offset)^(1−α)/(1−α), at α = 1 the
logarithm. Nash welfare is the exponential of one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.fairness.temporal import Last, Mean, Temporal
from evenhand.fairness.welfare import AlphaFair, Average, LogNash, Nash, Utilitarian, Welfare

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class ConcaveTerm:
    """(u + offset)^(1−α)/(1−α), or log(u + offset), with its first two derivatives."""

    alpha: float
    offset: float = 0.0
    of_mean: bool = False  # the sum is divided by how many count

    def value(self, status: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
        shifted = status + self.offset
        if self.alpha == 0.0:
            return shifted
        if self.alpha == 1.0:
            return np.log(shifted)
        return shifted ** (1.0 - self.alpha) / (1.0 - self.alpha)

    def slope(self, status: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
        if self.alpha == 0.0:
            return np.ones_like(status)
        return (status + self.offset) ** -self.alpha

    def curvature(self, status: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
        """Minus the second derivative."""
        if self.alpha == 0.0:
            return np.zeros_like(status)
        return self.alpha * (status + self.offset) ** (-self.alpha - 1.0)

    def factor(
        self, weight: Float[np.ndarray, "assessment n"]
    ) -> Float[np.ndarray, "assessment n"]:
        """What the term of each status counts, by weights that are 0 for those who do not count."""
        if not self.of_mean:
            return weight
        return weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)  # mean 1: adds to n


def concave_term(welfare: Welfare | None) -> ConcaveTerm | None:
    """The term of a welfare that is a sum of such, or None."""
    if isinstance(welfare, LogNash):
        return ConcaveTerm(1.0, welfare.offset)
    if isinstance(welfare, AlphaFair):
        # The sum of u + offset at alpha 0 is what `AlphaFair` says, offset included.
        return ConcaveTerm(welfare.alpha, welfare.offset)
    if isinstance(welfare, Utilitarian | Average):
        return ConcaveTerm(0.0, of_mean=isinstance(welfare, Average))
    if isinstance(welfare, Nash):
        return ConcaveTerm(1.0)
    return None


def weights_over_time(
    temporal: Temporal | None, assessments: int
) -> Float[np.ndarray, " assessment"] | None:
    """What each assessment counts, where the score is a weighted sum of them, or None."""
    if isinstance(temporal, Mean):
        return np.full(assessments, 1.0 / assessments)
    if isinstance(temporal, Last):
        return np.eye(1, assessments, assessments - 1)[0]
    if temporal is not None and temporal.sum_discount is not None:
        return temporal.sum_discount ** np.arange(assessments, dtype=float)
    return None
