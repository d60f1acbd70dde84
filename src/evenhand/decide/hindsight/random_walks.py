"""Many tridiagonal systems at once, one per stakeholder, solved forwards and backwards in time.

A Newton step asks each stakeholder for the change X of its running totals that minimises
Σ_d (X_d − X_(d−1) − v_d f_d)²/(2 v_d) + Σ_d (q_d X_d²/2 − g_d X_d), from X = 0. That is the mean of
a random walk with steps of variance v, seen with precision q, and its inverse matrix is the walk's
covariance: so it is a Kalman filter and a smoother, in which v = 0 (no step) and q = 0 (not seen)
are as good as any other number. Arrays are [point, stakeholder].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
