"""How assessments enter a Newton step: a sum of concave terms, the worst-off, or the variance.

Each is concave in the statuses u [assessment, stakeholder]. The last two carry one number c per
assessment beside them: the worst-off's status, or the mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.decide.hindsight.concave_terms import ConcaveTerm

if TYPE_CHECKING:
    from jaxtyping import Float

    Matrix = Float[np.ndarray, "assessment stakeholder"]
    Vector = Float[np.ndarray, " assessment"]


class Tangent(NamedTuple):
    """An upper bound of the objective that is linear in u: constant + Σ slopes · u."""

    constant: float
    slopes: Matrix


class AssessmentModel(ABC):
    """A concave objective of statuses, as a Newton step sees it."""

    beside: bool = False  # whether there is a number c per assessment
    linear: bool = False  # whether primal and dual may step by unequal lengths

    @abstractmethod
    def begin(self, status: Matrix) -> None:
        """Take up a strictly feasible start."""

    @abstractmethod
    def value(self, status: Matrix) -> float: ...

    @abstractmethod
    def marginals(self, status: Matrix) -> Matrix:
        """What one more of each status is worth."""

    @abstractmethod
    def precision(self, status: Matrix) -> Matrix:
        """How fast that falls."""

    def target(self, mu: float, second_order: bool) -> Matrix | None:
        """What marginals are to change by, at the present statuses, for complementarity mu."""
        return None

    def pull(self, status: Matrix, target: Matrix | None) -> Vector:
        """The right-hand side of the condition on c."""
        return np.zeros(len(status))

    def turn(self, change: Matrix, beside: Any, target: Any) -> None:
        """Take up a direction: changes of statuses and of c."""

    def longest(self) -> tuple[float, float]:
        """How far it can go, primal and dual."""
        return np.inf, np.inf

    def move(self, primal: float, dual: float) -> None:
        """Go so far."""

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        """The sum of products that go to 0, after steps in the present direction; how many."""
        return 0.0, 0

    @abstractmethod
    def tangent(self, status: Matrix) -> Tangent: ...


class SumOfTerms(AssessmentModel):
    """Σ factor · g(u)."""

    def __init__(self, term: ConcaveTerm, factor: Matrix, free: Matrix) -> None:
        self.term, self.factor = term, np.where(free, factor, 0.0)
        self.linear = term.alpha == 0.0

    def _safe(self, status: Matrix) -> Matrix:
        return np.where(self.factor > 0, status, 1.0)  # whoever does not count may be anywhere

    def begin(self, status: Matrix) -> None:
        pass

    def value(self, status: Matrix) -> float:
        return float(np.sum(self.factor * self.term.value(self._safe(status))))

    def marginals(self, status: Matrix) -> Matrix:
        return self.factor * self.term.slope(self._safe(status))

    def precision(self, status: Matrix) -> Matrix:
        return self.factor * self.term.curvature(self._safe(status))

    def tangent(self, status: Matrix) -> Tangent:
        status = self._safe(status)
        slopes = self.factor * self.term.slope(status)
        return Tangent(
            float(np.sum(self.factor * self.term.value(status) - slopes * status)), slopes
        )


class WorstOff(AssessmentModel):
    """Σ factor · min u: each worst-off status c with u ≥ c, and prices of these that add up."""

    beside = True
    linear = True

    def __init__(self, factor: Vector, counted: Matrix) -> None:
        self.factor, self.counted = factor, counted

    def begin(self, status: Matrix) -> None:
        low = np.where(self.counted, status, np.inf).min(axis=1)
        spread = np.where(self.counted, status - low[:, None], 0.0)
        count = np.maximum(self.counted.sum(axis=1), 1)
        room = spread.sum(axis=1) / count + 0.1 * np.abs(low) + 1e-3
        self.c = low - room
        self.slack = np.where(self.counted, status - self.c[:, None], 1.0)
        self.price = np.where(self.counted, (self.factor / count)[:, None], 0.0)

    def value(self, status: Matrix) -> float:
        low = np.where(self.counted, status, np.inf).min(axis=1)
        return float(self.factor @ low)

    def marginals(self, status: Matrix) -> Matrix:
        return self.price

    def precision(self, status: Matrix) -> Matrix:
        return self.price / self.slack

    def target(self, mu: float, second_order: bool) -> Matrix:
        wanted = mu - (self.d_slack * self.d_price if second_order else 0.0)
        return np.where(self.counted, wanted / self.slack, 0.0) - self.price

    def pull(self, status: Matrix, target: Matrix | None) -> Vector:
        # The prices of an assessment add up to what it counts.
        return self.factor - (self.price + target).sum(axis=1)

    def turn(self, change: Matrix, beside: Any, target: Any) -> None:
        self.d_c = beside
        self.d_slack = np.where(self.counted, change - beside[:, None], 0.0)
        self.d_price = target - self.price / self.slack * self.d_slack

    def longest(self) -> tuple[float, float]:
        return longest_step(self.slack, self.d_slack), longest_step(self.price, self.d_price)

    def move(self, primal: float, dual: float) -> None:
        self.c = self.c + primal * self.d_c
        self.slack = self.slack + primal * self.d_slack
        self.price = self.price + dual * self.d_price

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        slack, price = self.slack, self.price
        if primal or dual:
            slack, price = slack + primal * self.d_slack, price + dual * self.d_price
        return float(np.sum(slack * price)), int(self.counted.sum())

    def tangent(self, status: Matrix) -> Tangent:
        # Any prices that add up to the factor bound the worst-off from above.
        total = self.price.sum(axis=1, keepdims=True)
        scale = np.divide(self.factor[:, None], total, out=np.zeros_like(total), where=total > 0)
        return Tangent(0.0, self.price * scale)


class MinusVariance(AssessmentModel):
    """−Σ share · (u − c)², with c the mean at the best."""

    beside = True
    linear = True

    def __init__(self, share: Matrix) -> None:
        self.share = share

    def begin(self, status: Matrix) -> None:
        self.c = self._mean(status)

    def _mean(self, status: Matrix) -> Vector:
        total = np.maximum(self.share.sum(axis=1), 1e-300)
        return np.sum(self.share * status, axis=1) / total

    def value(self, status: Matrix) -> float:
        return -float(np.sum(self.share * (status - self._mean(status)[:, None]) ** 2))

    def marginals(self, status: Matrix) -> Matrix:
        return -2.0 * self.share * (status - self.c[:, None])

    def precision(self, status: Matrix) -> Matrix:
        return 2.0 * self.share

    def pull(self, status: Matrix, target: Matrix | None) -> Vector:
        return np.sum(2.0 * self.share * (status - self.c[:, None]), axis=1)

    def turn(self, change: Matrix, beside: Any, target: Any) -> None:
        self.d_c = beside

    def move(self, primal: float, dual: float) -> None:
        self.c = self.c + primal * self.d_c

    def tangent(self, status: Matrix) -> Tangent:
        deviation = status - self._mean(status)[:, None]
        slopes = -2.0 * self.share * deviation
        value = -np.sum(self.share * deviation**2)
        return Tangent(float(value - np.sum(slopes * status)), slopes)


def longest_step(values: np.ndarray, change: np.ndarray) -> float:
    """How many times the change can be made before a value falls to 0."""
    falls = change < 0
    if not falls.any():
        return np.inf
    return float(np.min(values[falls] / -change[falls]))
