"""Section 6 and the appendix, claim by claim: what the paper says, and what our runs say.

A difference between methods is decided where the bootstrap interval of the difference of their
interquartile means leaves zero out. Where it does not, the claim is neither held nor refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.interval import bootstrap_interval, interquartile_mean

if TYPE_CHECKING:
    from evenhand.experiments.compare import Comparison, MethodResult

REACHED = 0.95  # of the episodes: what counts as having learned to reach the profit margin
NOT_WASTED = 0.98  # of the doughnuts
TITLES = {"fairqcm": "FairQCM", "rnn": "RNN"}


@dataclass(frozen=True)
class Finding:
    """What was measured of a claim; `held` is None where that does not decide it."""

    held: bool | None
    measured: str
    interval: tuple[float, float] | None = None

    @property
    def word(self) -> str:
        return {True: "held", False: "did not hold", None: "not decided"}[self.held]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how it is checked against the parts of a figure."""

    where: str
    says: str
    check: Callable[[Mapping[str, Comparison]], Finding]


def title_of(method: str) -> str:
    return TITLES.get(method, method.capitalize())


def difference(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, tuple[float, float]]:
    """How far the interquartile mean of some seeds is above that of others, with its interval."""

    def apart(seeds: np.ndarray, axis: int = -1) -> np.ndarray:
        return interquartile_mean(ours[seeds], axis) - interquartile_mean(theirs[seeds], axis)

    seeds = np.arange(len(ours))
    found = float(apart(seeds))
    if len(seeds) < 2:
        return found, (-np.inf, np.inf)  # one seed decides nothing
    return found, bootstrap_interval(seeds, np.random.default_rng(0), apart)


def ahead_of(method: str, rivals: Sequence[str]) -> Callable[[Mapping[str, Comparison]], Finding]:
    """Whether a method ends above every rival; the interval is that of the nearest one."""

    def check(parts: Mapping[str, Comparison]) -> Finding:
        methods = parts["paper"].methods
        found = {rival: _apart(methods, method, rival) for rival in rivals}
        nearest = min(found, key=lambda rival: found[rival][0])
        lows, highs = zip(*(interval for _, interval in found.values()), strict=True)
        held = True if min(lows) > 0 else False if min(highs) < 0 else None
        words = [_scored(methods, method), *(_scored(methods, rival) for rival in rivals)]
        words.append(f"ahead of {title_of(nearest)} by {found[nearest][0]:,.1f}")
        return Finding(held, "; ".join(words).replace("-", "−"), found[nearest][1])

    return check


def ahead_of_some(
    method: str, rivals: Sequence[str]
) -> Callable[[Mapping[str, Comparison]], Finding]:
    """Whether a method ends above at least one rival; the interval is that of the farthest one."""

    def check(parts: Mapping[str, Comparison]) -> Finding:
        methods = parts["paper"].methods
        found = {rival: _apart(methods, method, rival) for rival in rivals}
        farthest = max(found, key=lambda rival: found[rival][1][0])
        low, high = found[farthest][1]
        held = True if low > 0 else False if high < 0 else None
        beaten = [title_of(rival) for rival in rivals if found[rival][1][0] > 0]
        words = f"{_scored(methods, method)}; above {', '.join(beaten) or 'none'} for certain"
        words += f"; ahead of {title_of(farthest)} by {found[farthest][0]:,.1f}"
        return Finding(held, words.replace("-", "−"), (low, high))

    return check


def wastes_less_sooner(
    method: str, rivals: Sequence[str]
) -> Callable[[Mapping[str, Comparison]], Finding]:
    """Whether the mean of doughnuts not wasted comes to its level, and stays there, before all."""

    def check(parts: Mapping[str, Comparison]) -> Finding:
        methods, horizon = parts["paper"].methods, _horizon(parts["paper"])
        level = NOT_WASTED * max(float(one.kept.max()) for one in methods.values())
        first = {
            name: _stays_above(methods[name].kept.mean(axis=1), level, methods[name].steps)
            for name in (method, *rivals)
        }
        words = [
            f"{title_of(name)} {'never' if at is None else f'from episode {at // horizon:,}'}"
            for name, at in first.items()
        ]
        mine = first[method]
        others = [at for name, at in first.items() if name != method and at is not None]
        held = mine is not None and all(mine < at for at in others)
        return Finding(held, f"{level:.0f} of {horizon} are not wasted: " + ", ".join(words))

    return check


def reaches_the_margin(parts: Mapping[str, Comparison]) -> Finding:
    """Whether every method ends with policies that reach the profit margin as a rule."""
    methods = parts["paper"].methods
    shares = {name: one.measures["achieved"][-1] for name, one in methods.items()}
    least = min(shares, key=lambda name: float(shares[name].mean()))
    words = ", ".join(f"{title_of(k)} {v.mean():.1%}" for k, v in shares.items())
    interval = None
    if len(shares[least]) > 1:
        interval = bootstrap_interval(shares[least], np.random.default_rng(0))
    return Finding(
        bool(shares[least].mean() >= REACHED), f"episodes that reach it: {words}", interval
    )


def ahead_on_the_way(
    method: str, rivals: Sequence[str]
) -> Callable[[Mapping[str, Comparison]], Finding]:
    """Whether a method is ahead for a given number of steps: on average over all of training.

    A seed counts with the mean of all its evaluations, which is the area under its curve.
    """

    def check(parts: Mapping[str, Comparison]) -> Finding:
        methods = parts["paper"].methods
        mine = methods[method].curve
        found = {
            rival: difference(mine.mean(axis=0), methods[rival].curve.mean(axis=0))
            for rival in rivals
        }
        nearest = min(found, key=lambda rival: found[rival][0])
        theirs = np.max([methods[rival].curve.mean(axis=1) for rival in rivals], axis=0)
        ahead = int((mine.mean(axis=1) > theirs).sum())
        lows, highs = zip(*(interval for _, interval in found.values()), strict=True)
        held = True if min(lows) > 0 else False if min(highs) < 0 else None
        words = (
            f"over all evaluations {title_of(method)} is ahead of {title_of(nearest)} by "
            f"{found[nearest][0]:,.1f} on average, and ahead of all at {ahead} of {len(mine)}"
        )
        return Finding(held, words.replace("-", "−"), found[nearest][1])

    return check


def _apart(
    methods: Mapping[str, MethodResult], ours: str, theirs: str
) -> tuple[float, tuple[float, float]]:
    return difference(methods[ours].scores, methods[theirs].scores)


def _scored(methods: Mapping[str, MethodResult], method: str) -> str:
    return f"{title_of(method)} {float(interquartile_mean(methods[method].scores)):,.1f}"


def _horizon(comparison: Comparison) -> int:
    from evenhand.envs.names import ENVIRONMENTS
    from evenhand.scheme_file import from_table

    return from_table(comparison.settings["environment"], ENVIRONMENTS, "environment").horizon


def _stays_above(curve: np.ndarray, level: float, steps: np.ndarray) -> int | None:
    """The step from which on a curve never falls below a level."""
    below = np.flatnonzero(curve < level)
    first = 0 if not below.size else int(below[-1]) + 1
    return int(steps[first]) if first < len(curve) else None


EFFICIENT = (
    "FairQCM promotes sample-efficient fair learning compared with baselines that learn from the "
    "entire history, or use a neural memory."
)
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "doughnuts": (
        Claim(
            "Section 6.1",
            "FairQCM outperforms other algorithms.",
            ahead_of("fairqcm", ("full", "min", "reset", "rnn")),
        ),
        Claim(
            "Section 6.1",
            "The RNN baseline achieves higher scores than some of the other baselines.",
            ahead_of_some("rnn", ("full", "min", "reset")),
        ),
        Claim(
            "Section 6.1",
            "The RNN demonstrates faster adaptation to avoid wasting doughnuts.",
            wastes_less_sooner("rnn", ("fairqcm", "full", "min", "reset")),
        ),
        Claim("Section 1", EFFICIENT, ahead_on_the_way("fairqcm", ("full", "rnn"))),
    ),
    "lending": (
        Claim(
            "Section 6.2",
            "FairQCM outperforms the other approaches.",
            ahead_of("fairqcm", ("full", "min", "rnn")),
        ),
        Claim(
            "Section 6.2",
            "RNN achieves higher scores compared to some of the other baselines.",
            ahead_of_some("rnn", ("full", "min")),
        ),
        Claim(
            "Section 6.2",
            "All approaches learn policies that achieve the desired profit margin.",
            reaches_the_margin,
        ),
        Claim("Section 1", EFFICIENT, ahead_on_the_way("fairqcm", ("full", "rnn"))),
    ),
    "lending-gaussian": (
        Claim(
            "Appendix",
            "FairQCM outperforms the other approaches.",
            ahead_of("fairqcm", ("full", "min")),
        ),
        Claim(
            "Appendix",
            "FairQCM was more sample efficient, yielding superior fairness measures for a given "
            "number of episodes.",
            ahead_on_the_way("fairqcm", ("full", "min")),
        ),
    ),
    "tabular": (
        Claim(
            "Appendix",
            "FairQCM outperforms other approaches in terms of NSW scores.",
            ahead_of("fairqcm", ("full", "min", "reset")),
        ),
        Claim(
            "Appendix",
            "FairQCM outperforms other approaches in the number of samples needed to train.",
            ahead_on_the_way("fairqcm", ("full", "min", "reset")),
        ),
    ),
}
