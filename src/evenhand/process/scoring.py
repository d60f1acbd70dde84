"""Section 4.1: the fairness score of a policy, 𝔉ᵀ(π), and its limit 𝔉^∞(π)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand._util.numbers import bootstrap_interval
from evenhand.errors import BadParameter, NoLimit
from evenhand.fairness.scheme import FairnessScheme, FeedbackScheme
from evenhand.process.policy import Policy
from evenhand.process.process import Process, rollout

Growth = Callable[[int], float]
Evaluator = Callable[[FairnessScheme | FeedbackScheme, Process, Policy, float], float]


@dataclass(frozen=True)
class PolicyScore:
    """The expected score of a policy, and how it was found."""

    mean: float
    interval: tuple[float, float]
    episodes: int  # 0 where the value is exact
    horizon: int  # steps in each episode
    tail: float = 0.0  # for an infinite horizon: what was cut off is at most this

    @property
    def exact(self) -> bool:
        return self.episodes == 0


def policy_score(
    scheme: FairnessScheme | FeedbackScheme,
    process: Process,
    policy: Policy,
    horizon: float,
    *,
    episodes: int = 1000,
    seed: int = 0,
    evaluator: Evaluator | None = None,
    tolerance: float = 1e-3,
    growth: Growth | None = None,
) -> PolicyScore:
    """Definition "fairness score of a policy": the expectation over its traces.

    By rollouts, with a 95% interval (too narrow for fewer than some ten episodes); or by an exact
    `evaluator`.

    Args:
        scheme: How fair a trace is.
        process: Where decisions are made.
        policy: What decides.
        horizon: How many decisions. With math.inf it is the limit, cut off where the rest is at
            most `tolerance`, or a refusal where no limit is known.
        episodes: How many rollouts.
        seed: Of the rollouts.
        evaluator: A function (scheme, process, policy, horizon) -> score, in place of rollouts.
        tolerance: See `horizon`.
        growth: A bound growth(t) on |w_t|, for a welfare or a process that does not have one; its
            ratio growth(t + 1) / growth(t) must not increase.
    """
    if math.isinf(horizon):
        steps, tail = steps_for_limit(scheme, process, tolerance, growth)
    elif horizon != int(horizon) or horizon < 0:
        raise BadParameter(f"horizon is {horizon}: it must be a whole number, or math.inf.")
    else:
        steps, tail = int(horizon), 0.0
    if evaluator is not None:
        value = evaluator(scheme, process, policy, horizon)
        return PolicyScore(value, (value, value), 0, steps, 0.0)
    if episodes < 2:
        raise BadParameter(f"episodes is {episodes}: an interval needs at least 2.")
    rng = np.random.default_rng(seed)
    scores = np.array([scheme.score(rollout(process, policy, steps, rng)) for _ in range(episodes)])
    return PolicyScore(float(scores.mean()), bootstrap_interval(scores, rng), episodes, steps, tail)


def steps_for_limit(
    scheme: FairnessScheme | FeedbackScheme,
    process: Process,
    tolerance: float,
    growth: Growth | None = None,
) -> tuple[int, float]:
    """How many steps bring 𝔉^T within `tolerance` of 𝔉^∞, and the bound on the rest.

    The limit is known to exist for a discounted sum with γ < 1 of values that grow by less than
    1/γ per step in the end: bounded ones, or log-Nash of counts, at most n·log(t + 1).
    """
    if not tolerance > 0:
        raise BadParameter(f"tolerance is {tolerance}: it must be positive.")
    temporal = scheme.temporal
    discount = None if temporal is None else temporal.sum_discount
    if discount is None or discount >= 1.0:
        what = "not timepoint-first" if temporal is None else repr(temporal)
        raise NoLimit(
            f"the infinite-horizon score is known to exist only for a discounted sum with a "
            f"discount below 1, and this aggregation is {what}: choose a finite horizon."
        )
    if isinstance(scheme, FeedbackScheme):
        steps_of: Callable[[int], int | None] = int
        declared = growth
    else:
        steps_of = scheme.filter.steps_for
        declared = growth or _declared_growth(scheme, process)
    if declared is None:
        raise NoLimit(
            "no bound on the welfare at time t is known, so the rest of an infinite sum cannot be "
            "bounded: pass growth=…, or a process with a reward_bound (and an override_bound if "
            "it overrides)."
        )
    assessments = 1
    while True:
        ahead = steps_of(assessments + 1), steps_of(assessments + 2)
        if ahead[0] is None or ahead[1] is None:
            raise NoLimit(
                "it is not known how long this filter takes to fire, so the rest of an infinite "
                "sum cannot be bounded: assess always or every p steps, or take a finite horizon."
            )
        first, second = _bounded(declared, ahead[0]), _bounded(declared, ahead[1])
        ratio = discount * (second / first if first > 0 else 1.0)
        tail = discount**assessments * first / (1.0 - ratio) if ratio < 1.0 else math.inf
        if tail <= tolerance:
            return steps_of(assessments) or 0, tail
        if assessments > 100_000_000:
            raise NoLimit(
                f"the rest of the sum is still {tail:g} after {assessments} assessments: the "
                "declared growth outruns the discount, or the tolerance is too small."
            )
        assessments = max(assessments + 1, int(assessments * 1.05))


def _declared_growth(scheme: FairnessScheme, process: Process) -> Growth | None:
    """A bound on |w_t| from what status, welfare and process say of themselves."""
    rewards = getattr(process, "reward_bound", None)
    welfare = scheme.welfare
    if rewards is None or welfare is None:
        return None
    size = len(scheme.status.names(range(process.num_stakeholders)))  # type: ignore[arg-type]
    overrides = getattr(process, "override_bound", 0.0)

    def bound(time: int) -> float | None:
        status = scheme.status.magnitude(rewards, time)
        value = None if status is None else welfare.magnitude(status, size)
        return None if value is None else max(value, overrides)

    return None if bound(1) is None else bound  # type: ignore[return-value]


def _bounded(growth: Growth, time: int) -> float:
    """The declared bound, or infinity where it is beyond what a number can hold."""
    try:
        return growth(time)
    except OverflowError:
        return math.inf
