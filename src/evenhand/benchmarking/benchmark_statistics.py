"""What runs on several worlds come to together: Agarwal et al. (2021), on shares of the way.

Runs are [pair of world and scheme, seed]. Intervals resample the seeds of each pair by itself
(stratified), so that no pair is left out of a resample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand._util.bootstrap import RESAMPLES, interquartile_mean

if TYPE_CHECKING:
    from jaxtyping import Float

Runs = list["Float[np.ndarray, ' seed']"]  # the runs of each pair; they need not be as many
TAIL = 0.025  # on either side of a 95% interval


class Estimate(NamedTuple):
    """A statistic of runs and its 95% interval."""

    value: float
    low: float
    high: float


def pooled_iqm(runs: Runs) -> float:
    """The mean of the middle half of all runs of all pairs."""
    return float(interquartile_mean(np.concatenate(runs)))


def stratified_interval(groups: tuple[Runs, ...], statistic: Callable[..., float]) -> Estimate:
    """A statistic of the runs of one or more methods, and its stratified bootstrap interval."""
    rng = np.random.default_rng(0)
    drawn = [
        statistic(*([rng.choice(one, len(one)) for one in runs] for runs in groups))
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(drawn, (TAIL, 1.0 - TAIL))
    return Estimate(float(statistic(*groups)), float(low), float(high))


def improvement_chance(ours: Runs, others: Runs) -> float:
    """The chance that a run of ours beats one of theirs, on a pair drawn at random; ties half."""
    return float(np.mean([_beats(x, y) for x, y in zip(ours, others, strict=True)]))


def _beats(some: Float[np.ndarray, " seed"], others: Float[np.ndarray, " seed"]) -> np.floating:
    apart = some[:, None] - others[None]
    return np.mean((apart > 0) + 0.5 * (apart == 0))


def performance_profile(
    runs: Runs, levels: Float[np.ndarray, " level"]
) -> Float[np.ndarray, " level"]:
    """The share of runs that reach each level or more, every pair counting the same."""
    reached = [np.mean(one[:, None] >= levels[None], axis=0) for one in runs]
    return np.mean(reached, axis=0)
