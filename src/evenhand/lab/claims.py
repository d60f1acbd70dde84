"""Section 6 and the appendix, claim by claim: what the paper says, and what our runs say.

A difference between methods is decided where the bootstrap interval of the difference of their
interquartile means leaves zero out, and there are seeds enough for such an interval to be trusted.
Where it is not, the claim is neither held nor refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.numbers import bootstrap_interval, interquartile_mean
from evenhand.lab.statistics import LEVEL, Lead, lead, steps_to

if TYPE_CHECKING:
    from evenhand.lab.compare_methods import MethodComparison
    from evenhand.lab.runs import Run

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


Parts = Mapping[str, "MethodComparison"]  # of a figure, by name
Check = Callable[[Parts], Finding]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how it is checked against the parts of a figure."""

    where: str
    says: str
    check: Check


def title_of(method: str) -> str:
    """What a method is called in titles and legends."""
    return TITLES.get(method, method.capitalize())


Pairs = Mapping[str, tuple[np.ndarray, np.ndarray]]  # our seeds and theirs, for each rival


def _above_all(pairs: Pairs) -> tuple[str, Lead, bool | None]:
    """The rival that comes nearest, our lead on it, and whether we are above every one."""
    leads = {rival: lead(*pair) for rival, pair in pairs.items()}
    nearest = min(leads, key=lambda rival: leads[rival].value)
    if all(one.above for one in leads.values()):
        return nearest, leads[nearest], True
    beaten = any(one.below for one in _among_several(pairs).values())
    return nearest, leads[nearest], False if beaten else None


def _among_several(pairs: Pairs) -> dict[str, Lead]:
    """Leads with intervals so wide that it is seldom chance if any one leaves zero out."""
    level = 1.0 - (1.0 - LEVEL) / len(pairs)
    return {rival: lead(*pair, level) for rival, pair in pairs.items()}


def ahead_of(method: str, rivals: Sequence[str]) -> Check:
    """Whether a method ends above every rival; the interval is that of the nearest one."""

    def check(parts: Parts) -> Finding:
        methods = parts["paper"].methods
        nearest, ahead, held = _above_all(_ends(methods, method, rivals))
        words = [_scored(methods, method), *(_scored(methods, rival) for rival in rivals)]
        words.append(f"ahead of {title_of(nearest)} by {ahead.value:,.1f}")
        return Finding(held, "; ".join(words).replace("-", "−"), ahead.interval)

    return check


def ahead_of_some(method: str, rivals: Sequence[str]) -> Check:
    """Whether a method ends above at least one rival; the interval is that of the farthest one."""

    def check(parts: Parts) -> Finding:
        methods = parts["paper"].methods
        pairs = _ends(methods, method, rivals)
        beaten = [title_of(rival) for rival, one in _among_several(pairs).items() if one.above]
        leads = {rival: lead(*pair) for rival, pair in pairs.items()}
        farthest = max(leads, key=lambda rival: leads[rival].value)
        held = True if beaten else False if all(one.below for one in leads.values()) else None
        words = f"{_scored(methods, method)}; above {', '.join(beaten) or 'none'} for certain"
        words += f"; ahead of {title_of(farthest)} by {leads[farthest].value:,.1f}"
        return Finding(held, words.replace("-", "−"), leads[farthest].interval)

    return check


def wastes_less_sooner(method: str, rivals: Sequence[str]) -> Check:
    """Whether a method comes to waste few doughnuts, for good, in fewer episodes than all rivals.

    A seed that never does counts as if it did right after the last evaluation.
    """

    def check(parts: Parts) -> Finding:
        methods, horizon = parts["paper"].methods, _horizon(parts["paper"])
        level = NOT_WASTED * max(float(one.kept.max()) for one in methods.values())

        def episodes(name: str) -> np.ndarray:
            one = methods[name]
            first = steps_to(one.kept >= level, one.steps)
            after = int(one.steps[-1]) + horizon
            return np.array([after if step is None else step for step in first]) / horizon

        ours = episodes(method)
        theirs = {rival: episodes(rival) for rival in rivals}
        pairs = {rival: (sooner, ours) for rival, sooner in theirs.items()}
        nearest, ahead, held = _above_all(pairs)
        words = [
            f"{title_of(name)} {float(interquartile_mean(one)):,.0f}"
            for name, one in {method: ours, **theirs}.items()
        ]
        said = f"episodes until {level:.0f} of {horizon} are not wasted, for good: "
        said += f"{', '.join(words)}; sooner than {title_of(nearest)} by {ahead.value:,.0f}"
        return Finding(held, said.replace("-", "−"), ahead.interval)

    return check


def reaches_the_margin(parts: Parts) -> Finding:
    """Whether every method ends with policies that reach the profit margin as a rule.

    The interval is that of the share of episodes of the method that does so least often.
    """
    methods = parts["paper"].methods
    shares = {name: one.measures["achieved"][-1] for name, one in methods.items()}
    least = min(shares, key=lambda name: float(shares[name].mean()))
    wanted = np.full_like(shares[least], REACHED)
    _, ahead, held = _above_all({name: (share, wanted) for name, share in shares.items()})
    words = ", ".join(f"{title_of(k)} {v.mean():.1%}" for k, v in shares.items())
    interval = None
    if ahead.interval is not None:
        interval = bootstrap_interval(shares[least], np.random.default_rng(0))
    return Finding(held, f"episodes that reach it: {words}", interval)


def ahead_on_the_way(method: str, rivals: Sequence[str]) -> Check:
    """Whether a method is ahead for a given number of steps: on average over all of training.

    A seed counts with the mean of all its evaluations, which is the area under its curve.
    """

    def check(parts: Parts) -> Finding:
        methods = parts["paper"].methods
        mine = methods[method].scores
        areas = {rival: methods[rival].scores.mean(axis=0) for rival in rivals}
        nearest, ahead, held = _above_all({k: (mine.mean(axis=0), v) for k, v in areas.items()})
        theirs = np.max([methods[rival].scores.mean(axis=1) for rival in rivals], axis=0)
        count = int((mine.mean(axis=1) > theirs).sum())
        words = (
            f"over all evaluations {title_of(method)} is ahead of {title_of(nearest)} by "
            f"{ahead.value:,.1f} on average, and ahead of all at {count} of {len(mine)}"
        )
        return Finding(held, words.replace("-", "−"), ahead.interval)

    return check


def _ends(methods: Mapping[str, Run], ours: str, rivals: Sequence[str]) -> Pairs:
    return {rival: (methods[ours].final, methods[rival].final) for rival in rivals}


def _scored(methods: Mapping[str, Run], method: str) -> str:
    return f"{title_of(method)} {float(interquartile_mean(methods[method].final)):,.1f}"


def _horizon(comparison: MethodComparison) -> int:
    return comparison.spec.environment.horizon


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
