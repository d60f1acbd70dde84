"""The best division of divisible supply, by an interior-point method with a certified bound.

Given a price for each point of supply the stakeholders are apart from each other, and a Newton step
is one tridiagonal system each (`random_walks`) and a small dense one for the prices. So the work
grows with the number of stakeholders, and a step is a matter of the number of points squared.

The bound needs no trust in the method. Whatever tangent of the concave objective is taken, and
whatever the requests are priced at, no allocation can be worth more than the tangent's constant
plus, for each point, its supply at the price of whoever values it most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.assessment_models import AssessmentModel, longest_step
from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.random_walks import RandomWalks
from evenhand.decide.hindsight.request_slack import RequestSlack

if TYPE_CHECKING:
    from jaxtyping import Float

    Points = Float[np.ndarray, "point stakeholder"]

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
