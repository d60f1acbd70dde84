"""The best there was for separable concave welfare: a price for each time point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.decide.hindsight.division import Division, merge_alike
from evenhand.decide.hindsight.linear import ConcaveTerm, concave_term
from evenhand.fairness.welfare import NegativeVariance, Rawls, Welfare

if TYPE_CHECKING:
    from jaxtyping import Float


# How assessments enter a Newton step: a sum of concave terms, the worst-off, or the variance.
#
# Each is concave in the statuses u [assessment, stakeholder]. The last two carry one number c per
# assessment beside them: the worst-off's status, or the mean.

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


# Many tridiagonal systems at once, one per stakeholder, solved forwards and backwards in time.
#
# A Newton step asks each stakeholder for the change X of its running totals that minimises Σ_d (X_d
# − X_(d−1) − v_d f_d)²/(2 v_d) + Σ_d (q_d X_d²/2 − g_d X_d), from X = 0. That is the mean of a
# random walk with steps of variance v, seen with precision q, and its inverse matrix is the walk's
# covariance: so it is a Kalman filter and a smoother, in which v = 0 (no step) and q = 0 (not seen)
# are as good as any other number. Arrays are [point, stakeholder].

if TYPE_CHECKING:
    from jaxtyping import Float

    Walks = Float[np.ndarray, "point stakeholder"]

CHUNK = 2048  # stakeholders whose covariances are held at once


class RandomWalks:
    """Walks with steps of variance v that are seen with precision q."""

    def __init__(self, variance: Walks, precision: Walks) -> None:
        points, size = variance.shape
        self.variance = variance
        self.filtered = np.empty((points, size))  # variance of X_d given what was seen up to d
        self.shrink = np.empty((points, size))  # 1 / (1 + q p), p being the variance before d
        self.gain = np.empty((points, size))  # of the smoother: how X_(d−1) follows X_d
        before = np.zeros(size)
        for d in range(points):
            predicted = before + variance[d]
            np.divide(before, predicted, out=self.gain[d], where=predicted > 0)
            self.gain[d][predicted <= 0] = 1.0
            np.divide(1.0, 1.0 + precision[d] * predicted, out=self.shrink[d])
            np.multiply(predicted, self.shrink[d], out=self.filtered[d])
            before = self.filtered[d]
        self.smoothed = np.empty((points, size))  # variance of X_d given all that was seen
        self.smoothed[-1] = self.filtered[-1]
        for d in range(points - 1, 0, -1):
            gain = self.gain[d]
            # Of the step itself, 1 − gain is variance over predicted variance.
            own = self.filtered[d - 1] * (1.0 - gain)
            self.smoothed[d - 1] = own + gain**2 * self.smoothed[d]

    def mean(self, pushes: Walks, seen: Walks | None) -> Walks:
        """X for pushes f of the steps and g of the totals."""
        found = np.empty_like(pushes)
        before = np.zeros(pushes.shape[1])
        for d in range(len(pushes)):
            predicted = before + self.variance[d] * pushes[d]
            np.multiply(predicted, self.shrink[d], out=found[d])
            if seen is not None:
                found[d] += self.filtered[d] * seen[d]
            before = found[d]
        # Backwards: what the filter expected of X_d was X_(d−1) plus the push.
        for d in range(len(pushes) - 1, 0, -1):
            expected = found[d - 1] + self.variance[d] * pushes[d]
            found[d - 1] += self.gain[d] * (found[d] - expected)
        return found

    def covariance(self, sides: Float[np.ndarray, "side point stakeholder"]) -> np.ndarray:
        """Σ_i a_di P_i[d, e] b_ei for all pairs of sides a and b: [side, point, side, point]."""
        count, points, size = sides.shape
        total = np.zeros((count, points, count, points))
        for begin in range(0, size, CHUNK):
            part = slice(begin, begin + CHUNK)
            here, gain = sides[:, :, part], self.gain[:, part]
            running = np.zeros(here.shape[1:])  # the covariance of X_d with each later X_e
            for d in range(points - 1, -1, -1):
                if d + 1 < points:
                    running[d + 1 :] *= gain[d + 1]
                running[d] = self.smoothed[d, part]
                for b in range(count):
                    later = running[d:] * here[b, d:]
                    total[:, d, b, d:] += here[:, d] @ later.T
        for a in range(count):
            for b in range(count):
                lower = np.tril_indices(points, -1)
                total[a][lower[0], b, lower[1]] = total[b][lower[1], a, lower[0]]
        return total


# Requests in a Newton step: nobody may have more in all than it had asked for by then.

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Points = Float[np.ndarray, "point stakeholder"]

WIDER = 1e-9  # of all supply: requests are widened by it, so that there is an inside to move in


class RequestSlack:
    """What each could still have been given, and what it would be worth to have asked for more.

    Args:
        asked: In all, up to each point.
        holds: Where somebody can take something, and so must not have more than it asked for.
        totals: What each has in all, to begin with; it may be too much.
        supply: What there is in all.
    """

    def __init__(
        self,
        asked: Points,
        holds: Bool[np.ndarray, "point stakeholder"],
        totals: Points,
        supply: float,
    ) -> None:
        self.asked, self.holds = np.where(holds, asked, 0.0), holds
        self._wide = self.asked + WIDER * supply
        least = 0.1 * supply / max(int(holds.sum()), 1)
        self.slack = np.where(holds, np.maximum(self._wide - totals, least), 1.0)
        self.price = np.zeros_like(self.slack)
        self._room, self._target = self.price, self.price
        self.d_slack, self.d_price = self.price, self.price

    def begin(self, mu: float) -> None:
        """Take up prices for a complementarity."""
        self.price = np.where(self.holds, mu / self.slack, 0.0)

    @property
    def precision(self) -> Points:
        return self.price / self.slack

    def pull(self, totals: Points, mu: float, second_order: bool) -> Points:
        """What prices are to change by, at the present totals, for complementarity mu."""
        self._room = np.where(self.holds, self._wide - totals - self.slack, 0.0)
        wanted = mu - (self.d_slack * self.d_price if second_order else 0.0)
        self._target = np.where(self.holds, wanted / self.slack, 0.0) - self.price
        return self._target - self.precision * self._room

    def turn(self, change: Points) -> None:
        """Take up a direction: changes of totals."""
        self.d_slack = np.where(self.holds, self._room - change, 0.0)
        self.d_price = self._target - self.precision * self.d_slack

    def longest(self) -> tuple[float, float]:
        """How far it can go, primal and dual."""
        return longest_step(self.slack, self.d_slack), longest_step(self.price, self.d_price)

    def move(self, primal: float, dual: float) -> None:
        self.slack = self.slack + primal * self.d_slack
        self.price = self.price + dual * self.d_price

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        """The sum of products that go to 0, after steps in the present direction; how many."""
        slack, price = self.slack + primal * self.d_slack, self.price + dual * self.d_price
        return float(np.sum(slack * price)), int(self.holds.sum())

    def cost(self) -> float:
        """What all requests come to at their prices."""
        return float(np.sum(self.price * self.asked))


# The best division of divisible supply, by an interior-point method with a certified bound.
#
# Given a price for each point of supply the stakeholders are apart from each other, and a Newton
# step is one tridiagonal system each (`random_walks`) and a small dense one for the prices. So the
# work grows with the number of stakeholders, and a step is a matter of the number of points
# squared.
#
# The bound needs no trust in the method. Whatever tangent of the concave objective is taken, and
# whatever the requests are priced at, no allocation can be worth more than the tangent's constant
# plus, for each point, its supply at the price of whoever values it most.

SHORT_OF_EDGE = 0.995  # how much of the way to the edge a step may go


class InteriorPoint:
    """A division on its way to its best, for one model of its assessments.

    Args:
        division: What is divided, without newcomers who begin at what others had.
        model: The objective.
    """

    def __init__(self, division: Division, model: AssessmentModel) -> None:
        self.model = model
        used, self.after = _rows(division)
        self.real = np.flatnonzero(used >= 0)  # rows at which something is given out
        self.used, self.shape = used[self.real], division.eligible.shape
        self.unit = float(division.supply.sum()) / max(len(division.names), 1)
        self.supply = np.where(used >= 0, division.supply[used], 0.0) / self.unit
        self.eligible = division.eligible[used] & (used >= 0)[:, None]
        self.slope, self.start = division.slope * self.unit, division.start
        self.d_x = self.d_z = np.zeros(self.eligible.shape)
        self.requests: RequestSlack | None = None
        self._begin(None if division.asked is None else division.asked[used] / self.unit)

    def _begin(self, asked: Points | None) -> None:
        """Share evenly, and take prices that stand above what anything is worth to anybody."""
        takers = np.maximum(self.eligible.sum(axis=1), 1)
        self.x = self.eligible * (self.supply / takers)[:, None]
        self.status = self._statuses(self.x)
        self.model.begin(self.status)
        if asked is not None:
            total = float(self.supply.sum())
            self.requests = RequestSlack(asked, self.eligible, np.cumsum(self.x, axis=0), total)
        worth = self._worth()
        top = self._highest(worth)
        size = np.abs(np.where(self.eligible, worth, 0.0)).sum(axis=1) / takers
        self.price = top + 0.1 * np.maximum(size, 1e-12 + 1e-3 * np.abs(size).max(initial=0.0))
        self.z = np.where(self.eligible, self.price[:, None] - worth, 0.0)
        if self.requests is not None:
            self.requests.begin(float(np.sum(self.x * self.z)) / int(self.eligible.sum()))

    def _statuses(self, x: Points) -> np.ndarray:
        return self._at_assessments(np.cumsum(x, axis=0)) * self.slope + self.start

    def _at_assessments(self, totals: Points) -> np.ndarray:
        found = totals[np.maximum(self.after, 1) - 1]
        found[self.after == 0] = 0.0
        return found

    def _at_points(self, values: np.ndarray) -> Points:
        """What belongs to assessments, at the points of supply that they come after."""
        found = np.zeros((len(self.supply), values.shape[1]))
        for k in np.flatnonzero(self.after > 0):
            found[self.after[k] - 1] += values[k]
        return found

    def _worth(self, slopes: np.ndarray | None = None) -> Points:
        """What one more unit is worth to each at each point: its effect on all that follows."""
        marginals = self.model.marginals(self.status) if slopes is None else slopes
        here = self._at_points(self.slope * marginals)
        if self.requests is not None:
            here -= self.requests.price
        return np.cumsum(here[::-1], axis=0)[::-1]

    def _highest(self, worth: Points) -> np.ndarray:
        """What a unit is worth to whoever values it most, at each point; 0 where none is given."""
        found = np.zeros(len(self.supply))
        top = np.where(self.eligible, worth, -np.inf).max(axis=1)
        found[self.real] = top[self.real]
        return found

    def value(self) -> float:
        """What the present allocation is worth."""
        return self.model.value(self.status)

    def bound(self) -> float:
        """What no allocation can be worth more than, by the present tangent."""
        tangent = self.model.tangent(self.status)
        total = tangent.constant + float(np.sum(tangent.slopes * self.start))
        total += float(self._highest(self._worth(tangent.slopes)) @ self.supply)
        return total if self.requests is None else total + self.requests.cost()

    def allocation(self) -> Points:
        """The present allocation, in the units of the division."""
        found = np.zeros(self.shape)
        scale = self.supply / np.maximum(self.x.sum(axis=1), 1e-300)
        found[self.used] = (self.x * (scale * self.unit)[:, None])[self.real]
        return found

    def step(self) -> None:
        """One predictor-corrector step of Newton's method towards the best."""
        system = self._system()
        self._direct(system, 0.0, second_order=False)
        primal, dual = self._lengths()
        before, count = self._complementarity()
        after, _ = self._complementarity(primal, dual)
        mu = before / count
        centring = (max(after, 0.0) / before) ** 3 if before > 0 else 0.0
        self._direct(system, centring * mu, second_order=True)
        primal, dual = (min(1.0, SHORT_OF_EDGE * length) for length in self._lengths())
        if not self.model.linear:
            primal = dual = min(primal, dual)
        self._move(primal, dual)

    def _system(self) -> tuple[RandomWalks, np.ndarray, np.ndarray | None]:
        """The walks of this step, the matrix of the prices, and the ties to c."""
        precision = self.model.precision(self.status)
        seen = self._at_points(self.slope**2 * precision)
        if self.requests is not None:
            seen += self.requests.precision
        variance = np.divide(self.x, self.z, out=np.zeros_like(self.x), where=self.eligible)
        walks = RandomWalks(variance, seen)
        points, real = len(self.real), self.real
        ones = np.ones((1, *self.x.shape))
        if not self.model.beside:
            return walks, walks.covariance(ones)[0, :, 0][np.ix_(real, real)], None
        tie = self.slope * precision
        inside = np.flatnonzero(self.after > 0)
        rows = self.after[inside] - 1
        sides = np.concatenate((ones, self._at_points(tie)[None]))
        total = walks.covariance(sides)
        matrix = np.zeros((points + len(inside),) * 2)
        matrix[:points, :points] = total[0, :, 0][np.ix_(real, real)]
        matrix[:points, points:] = -total[0, :, 1][np.ix_(real, rows)]
        matrix[points:, :points] = total[1, :, 0][np.ix_(rows, real)]
        matrix[points:, points:] = -total[1, :, 1][np.ix_(rows, rows)]
        diagonal = np.arange(len(inside)) + points
        matrix[diagonal, diagonal] += precision[inside].sum(axis=1)
        return walks, matrix, tie

    def _direct(
        self,
        system: tuple[RandomWalks, np.ndarray, np.ndarray | None],
        mu: float,
        second_order: bool,
    ) -> None:
        walks, matrix, tie = system
        wanted = mu - (self.d_x * self.d_z if second_order else 0.0)
        over_x = np.divide(wanted, self.x, out=np.zeros_like(self.x), where=self.eligible)
        pushes = np.where(self.eligible, self._worth() - self.price[:, None] + over_x, 0.0)
        target = self.model.target(mu, second_order)
        seen = None if target is None else self._at_points(self.slope * target)
        if self.requests is not None:
            back = self.requests.pull(np.cumsum(self.x, axis=0), mu, second_order)
            seen = -back if seen is None else seen - back
        first = walks.mean(pushes, seen)
        right = first.sum(axis=1)[self.real]
        inside = np.flatnonzero(self.after > 0)
        if tie is None:
            prices, beside = np.linalg.solve(matrix, right), None
        else:
            pull = self.model.pull(self.status, target)
            pull[inside] += np.sum(tie[inside] * first[self.after[inside] - 1], axis=1)
            found = np.linalg.solve(matrix, np.concatenate((right, pull[inside])))
            prices, beside = found[: len(right)], np.zeros(len(self.after))
            beside[inside] = found[len(right) :]
            extra = self._at_points(tie * beside[:, None])
            seen = extra if seen is None else seen + extra
        steps = np.zeros(len(self.supply))
        steps[self.real] = prices
        self.d_price = np.cumsum(steps[::-1])[::-1]
        totals = walks.mean(pushes - np.where(self.eligible, self.d_price[:, None], 0.0), seen)
        self.d_x = np.where(self.eligible, np.diff(totals, axis=0, prepend=0.0), 0.0)
        self.d_z = np.where(self.eligible, over_x, 0.0) - self.z
        self.d_z -= np.divide(
            self.z * self.d_x, self.x, out=np.zeros_like(self.x), where=self.eligible
        )
        change = self._at_assessments(totals) * self.slope
        self.model.turn(change, beside, target)
        if self.requests is not None:
            self.requests.turn(totals)

    def _lengths(self) -> tuple[float, float]:
        primal, dual = self.model.longest()
        primal = min(primal, longest_step(self.x, self.d_x))
        dual = min(dual, longest_step(self.z, self.d_z))
        if self.requests is not None:
            own = self.requests.longest()
            primal, dual = min(primal, own[0]), min(dual, own[1])
        return min(primal, 1.0), min(dual, 1.0)

    def _complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        total, count = self.model.complementarity(primal, dual)
        x, z = self.x, self.z
        if primal or dual:
            x, z = x + primal * self.d_x, z + dual * self.d_z
        total, count = total + float(np.sum(x * z)), count + int(self.eligible.sum())
        if self.requests is not None:
            own = self.requests.complementarity(primal, dual)
            total, count = total + own[0], count + own[1]
        return total, count

    def _move(self, primal: float, dual: float) -> None:
        self.x = self.x + primal * self.d_x
        self.z, self.price = self.z + dual * self.d_z, self.price + dual * self.d_price
        if self.requests is not None:
            self.requests.move(primal, dual)
        self.model.move(primal, dual)
        self.status = self._statuses(self.x)


def _rows(division: Division) -> tuple[np.ndarray, np.ndarray]:
    """The points as rows, and how many rows come before each assessment.

    Points without supply are left out (-1 stands for none), and of assessments with nothing given
    out between them each has a row of its own.
    """
    real = np.flatnonzero(division.supply > 0)
    before = np.searchsorted(real, division.after)  # points with supply before each assessment
    rows, after, place = [], np.zeros(len(before), dtype=np.int64), 0
    for k in np.argsort(before, kind="stable"):
        while place < before[k]:
            rows.append(int(real[place]))
            place += 1
        if before[k] and len(rows) in after:
            rows.append(-1)
        after[k] = len(rows) if before[k] else 0
    rows += real[place:].tolist()
    return np.array(rows, dtype=np.int64), after


# The best division where a price per point sets stakeholders apart: how each welfare is put.

MOST_STEPS = 120
MOST_WORK = 2e9  # kinds of stakeholders times points squared: a Newton step of some 10 s
TOLERANCE = 1e-7  # relative gap at which it is done
PATIENCE = 8  # steps without any gain


@dataclass(frozen=True, eq=False)
class Optimum:
    """An allocation, and what no allocation can be worth more than."""

    allocation: Float[np.ndarray, "point stakeholder"]
    bound: float


def is_priced(welfare: Welfare | None) -> bool:
    """Whether a welfare can be put so."""
    return concave_term(welfare) is not None or isinstance(welfare, Rawls | NegativeVariance)


def solve_priced(
    division: Division,
    welfare: Welfare,
    over_time: Float[np.ndarray, " assessment"],
    tolerance: float = TOLERANCE,
) -> Optimum:
    """The best division for a weighted sum over time of a welfare.

    Args:
        division: Without newcomers who begin at what others had.
        welfare: One for which `is_priced` holds; of Nash welfare its logarithm is taken.
        over_time: What each assessment counts.
        tolerance: The relative gap at which it is good enough.
    """
    division = division.at(over_time > 0)
    over_time = over_time[over_time > 0]
    merged = merge_alike(division, sizes_matter=not isinstance(welfare, Rawls))
    kinds = merged.division
    kinds.require_work(len(kinds.names) * len(kinds.supply) ** 2, MOST_WORK)
    model, constant = _model(kinds, welfare, over_time)
    method = InteriorPoint(kinds, model)
    best, worth, bound, waited = kinds.even(), -np.inf, np.inf, 0
    for _ in range(MOST_STEPS):
        with np.errstate(all="ignore"):
            try:
                method.step()
            except np.linalg.LinAlgError:
                break
            ceiling, found = method.bound() + constant, method.value() + constant
        waited += 1
        if np.isfinite(ceiling) and ceiling < bound:
            bound, waited = ceiling, 0
        if np.isfinite(found) and found > worth:
            best, worth, waited = method.allocation(), found, 0
        if bound - worth <= tolerance * max(abs(bound), 1e-9) or waited >= PATIENCE:
            break
    return Optimum(merged.spread(kinds.within_requests(best)), bound)


def _model(
    kinds: Division, welfare: Welfare, over_time: Float[np.ndarray, " assessment"]
) -> tuple[AssessmentModel, float]:
    """The model of a welfare, and what is added to it: terms that no allocation can change."""
    term, factor = concave_term(welfare), over_time[:, None]
    if term is not None:
        counts = factor * term.factor(kinds.weight)
        reached = np.concatenate((np.zeros((1, len(kinds.names))), np.cumsum(kinds.eligible, 0)))
        free = (reached[kinds.after] > 0) & (counts > 0)
        fixed = (counts > 0) & ~free
        constant = float(np.sum(counts[fixed] * term.value(kinds.start[fixed])))
        return SumOfTerms(term, counts, free), constant
    if isinstance(welfare, NegativeVariance):
        total = np.maximum(kinds.weight.sum(axis=1, keepdims=True), 1e-300)
        return MinusVariance(factor * kinds.weight / total), 0.0
    return WorstOff(over_time, kinds.counted), 0.0
