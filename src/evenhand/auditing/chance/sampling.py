"""Drawing many of a few with given odds: the alias method (Walker 1977), vectorised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def draw_places(
    odds: Float[np.ndarray, " n"], shape: tuple[int, ...], rng: np.random.Generator
) -> Int[np.ndarray, ...]:
    """Places drawn independently, each in proportion to its odds.

    >>> draw_places(np.array([0.0, 2.0]), (3,), np.random.default_rng(0))
    array([1, 1, 1])
    """
    there = np.flatnonzero(odds > 0)
    chosen = odds[there]
    picked = rng.integers(0, len(there), size=shape)
    if (chosen == chosen[0]).all():
        return there[picked]
    keep, other = _alias_table(chosen)
    return there[np.where(rng.random(shape) < keep[picked], picked, other[picked])]


def _alias_table(
    odds: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """For each place the chance to stay there, and where to go otherwise."""
    size = len(odds)
    keep = odds * (size / odds.sum())
    other = np.arange(size)
    small = np.flatnonzero(keep < 1).tolist()
    large = np.flatnonzero(keep >= 1).tolist()
    while small and large:
        low, high = small.pop(), large[-1]
        other[low] = high
        keep[high] -= 1.0 - keep[low]
        if keep[high] < 1:
            small.append(large.pop())
    keep[small] = 1.0  # left over by rounding
    return keep, other


def draw_one_each(
    odds: Float[np.ndarray, "draw n"], rng: np.random.Generator
) -> tuple[Int[np.ndarray, " draw"], Bool[np.ndarray, " draw"]]:
    """A place for each row, in proportion to the row's odds, and whether the row has any."""
    running = np.cumsum(odds, axis=1)
    aim = rng.random(len(odds)) * running[:, -1]
    place = (running <= aim[:, None]).sum(axis=1)
    return np.minimum(place, odds.shape[1] - 1), running[:, -1] > 0
