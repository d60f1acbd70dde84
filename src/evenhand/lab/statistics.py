"""What runs come to and how sure that is: intervals, leads, steps to a level, several worlds.

Intervals of a few runs are too narrow: `evenhand._util.numbers` says how much, and from how many
runs on something is decided. What runs on several worlds come to together is that of Agarwal et al.
(2021), on shares of the way; their intervals resample the seeds of each pair of world and scheme by
itself (stratified), so that no pair is left out of a resample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand._util.numbers import FEWEST_RUNS, RESAMPLES, bootstrap_interval, interquartile_mean

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

Runs = list["Float[np.ndarray, ' seed']"]  # the runs of each pair; they need not be as many
TAIL = 0.025  # on either side of a 95% interval
LEVEL = 0.95  # of an interval


class Estimate(NamedTuple):
    """A statistic of runs and its 95% interval."""

    value: float
    low: float
    high: float


def estimate(
    values: Float[np.ndarray, " seed"], statistic: Callable[..., np.ndarray] = interquartile_mean
) -> Estimate:
    """A statistic of the seeds of one method; a single seed has no width."""
    value = float(statistic(values))
    if len(values) < 2:
        return Estimate(value, value, value)
    return Estimate(value, *bootstrap_interval(values, np.random.default_rng(0), statistic))


class Lead(NamedTuple):
    """How far some seeds are above others, and whether that is more than chance."""

    value: float
    interval: tuple[float, float] | None  # None for a single seed
    above: bool
    below: bool


def lead(ours: np.ndarray, theirs: np.ndarray, level: float = LEVEL) -> Lead:
    """How far the interquartile mean of some seeds is above that of others."""

    def apart(seeds: np.ndarray, axis: int = -1) -> np.ndarray:
        return interquartile_mean(ours[seeds], axis) - interquartile_mean(theirs[seeds], axis)

    seeds = np.arange(len(ours))
    found = float(apart(seeds))
    if len(seeds) < 2:
        return Lead(found, None, False, False)
    low, high = bootstrap_interval(seeds, np.random.default_rng(0), apart, level)
    enough = len(seeds) >= FEWEST_RUNS
    return Lead(found, (low, high), enough and low > 0, enough and high < 0)


def steps_to(
    reached: Bool[np.ndarray, "checkpoint seed"], steps: Int[np.ndarray, " checkpoint"]
) -> list[int | None]:
    """For each seed, the steps from which on every evaluation is there; None if the last is not."""
    stays = np.logical_and.accumulate(reached[::-1], axis=0)[::-1]
    first = stays.argmax(axis=0)
    return [int(steps[k]) if stays[-1, seed] else None for seed, k in enumerate(first)]


def median_steps(reached: Sequence[int | None]) -> float | None:
    """The median over seeds, where more than half of them get there."""
    middle = float(np.median([np.inf if s is None else s for s in reached] or [np.inf]))
    return middle if np.isfinite(middle) else None


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
