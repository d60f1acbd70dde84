"""How sure an average over runs is: the one definition of an interval in this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from jaxtyping import Float

RESAMPLES = 2000


def bootstrap_interval(
    samples: Float[np.ndarray, " run"],
    rng: np.random.Generator,
    statistic: Callable[..., np.ndarray] = np.mean,
    level: float = 0.95,
) -> tuple[float, float]:
    """The percentile bootstrap interval of a statistic of independent runs."""
    if len(samples) < 2:
        raise BadParameter(f"an interval needs at least 2 runs, and there are {len(samples)}.")
    if not 0.0 < level < 1.0:
        raise BadParameter(f"level is {level}: it must lie between 0 and 1, such as 0.95.")
    rows = max(1, 10_000_000 // len(samples))  # resamples in memory at a time
    drawn = [
        statistic(
            samples[rng.integers(0, len(samples), (min(rows, RESAMPLES - k), len(samples)))],
            axis=-1,
        )
        for k in range(0, RESAMPLES, rows)
    ]
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.concatenate(drawn), (tail, 1.0 - tail))
    return float(low), float(high)


def interquartile_mean(samples: Float[np.ndarray, "... run"], axis: int = -1) -> np.ndarray:
    """The mean of the middle half of the runs: a quarter at either end is left out."""
    ordered = np.sort(np.asarray(samples, dtype=np.float64), axis=axis)
    size = ordered.shape[axis]
    cut = size // 4
    return np.take(ordered, np.arange(cut, size - cut), axis=axis).mean(axis=axis)
