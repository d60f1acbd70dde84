"""Walks solved forwards and backwards against the matrices that they stand for."""

from __future__ import annotations

import numpy as np

from evenhand.decide.hindsight.priced import RandomWalks


def by_matrices(variance, precision, pushes, seen):
    """The covariance of the totals and their mean, of one walk, by inverting in plain sight."""
    free = np.flatnonzero(variance > 0)
    sums = np.tril(np.ones((len(variance),) * 2))[:, free]
    inverse = np.linalg.inv(np.diag(1 / variance[free]) + sums.T @ np.diag(precision) @ sums)
    mean = inverse @ (pushes[free] + sums.T @ seen)
    return sums @ inverse @ sums.T, sums @ mean


def test_walks_are_the_matrices_they_stand_for():
    rng = np.random.default_rng(0)
    points, size = 5, 40
    variance = rng.random((points, size)) * (rng.random((points, size)) < 0.7)
    precision = 3 * rng.random((points, size)) * (rng.random((points, size)) < 0.7)
    pushes, seen, side = (rng.normal(size=(points, size)) for _ in range(3))
    walks = RandomWalks(variance, precision)
    sides = np.stack((np.ones((points, size)), side))
    total, means = np.zeros((2, points, 2, points)), []
    for i in range(size):
        covariance, mean = by_matrices(variance[:, i], precision[:, i], pushes[:, i], seen[:, i])
        means.append(mean)
        total += np.einsum("ad,de,be->adbe", sides[:, :, i], covariance, sides[:, :, i])
    np.testing.assert_allclose(walks.mean(pushes, seen), np.array(means).T, atol=1e-10)
    np.testing.assert_allclose(walks.covariance(sides), total, atol=1e-9)
