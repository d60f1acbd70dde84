"""Sections 5.2 and 5.3: the reward of each step, such that the rewards of an episode add up to its
score.

The scheme carries a state of its own: of its status, its filter, and the fold of its aggregation.
From it comes the reward of a step. What the policy remembers is another matter (see `problem`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from evenhand._util.numbers import Array, namespace
from evenhand.errors import CannotStream, NotRewardLike
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.trace import Step

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


class SchemeState(NamedTuple):
    """What the scheme carries from step to step."""

    status: Any
    filter: Any
    fold: Any
    assessed: Bool[Array, ""]  # whether anything has been assessed yet, where that matters


class RewardLikeness(NamedTuple):
    """Whether a definition holds, and if not, which part of it fails."""

    holds: bool
    reason: str


def reward_like(scheme: FairnessScheme) -> RewardLikeness:
    """Definition "reward-like", as far as the scheme goes: a discounted sum of W at all times.

    That W∘U is Markovian is a matter of the memory: see `Problem.require_memory_pays`.
    """
    if scheme.temporal is None:
        return _not_timepoint_first(scheme)
    if not scheme.filter.always:
        return RewardLikeness(
            False, f"it is not assessed at all time points but {scheme.filter.describe()}"
        )
    if scheme.temporal.sum_discount is None:
        return RewardLikeness(False, _not_a_sum(scheme))
    return RewardLikeness(True, "it is a discounted sum of the welfare at every time point")


def bounded_reward_like(scheme: FairnessScheme) -> RewardLikeness:
    """Definition "bounded reward-like": an undiscounted sum of W where a Markovian filter fires."""
    if scheme.temporal is None:
        return _not_timepoint_first(scheme)
    if scheme.filter.keeps_history:
        return RewardLikeness(
            False, f"its filter ({scheme.filter.describe()}) needs the whole history"
        )
    if scheme.temporal.sum_discount != 1.0:
        return RewardLikeness(False, _not_a_sum(scheme))
    return RewardLikeness(
        True, "it is a sum of the welfare at the time points that its filter selects"
    )


def is_sum_of_rewards(scheme: FairnessScheme) -> bool:
    """Whether the score of an episode is a (discounted) sum of per-step rewards."""
    return reward_like(scheme).holds or bounded_reward_like(scheme).holds


def share_of_sum(scheme: FairnessScheme, horizon: int, may_override: bool) -> float | None:
    """The factor by which the score is a sum of rewards, where the number of them is fixed.

    A mean over T steps is a sum divided by T, and the last of one assessment is their sum. A step
    with an override is assessed also where the filter does not fire, so their number is not fixed.

    Args:
        scheme: The scheme in question.
        horizon: How many steps an episode has.
        may_override: Whether the environment may put rewards in place of the welfare.
    """
    if scheme.temporal is None or (may_override and not scheme.filter.always):
        return None
    assessments = scheme.filter.assessments_within(steps=horizon, horizon=horizon)
    return scheme.temporal.share_of_sum(int(assessments)) if assessments else None


def _not_timepoint_first(scheme: FairnessScheme) -> RewardLikeness:
    return RewardLikeness(False, f"{type(scheme.aggregation).__name__} is not timepoint-first")


def _not_a_sum(scheme: FairnessScheme) -> str:
    temporal = scheme.temporal
    if temporal is None:
        what = type(scheme.aggregation).__name__
    else:
        what = f"{type(temporal).__name__} ({temporal.describe()})"
    return (
        f"{what} is not a sum of per-step rewards: plan it exactly, or learn it with "
        f"{scheme.aggregation.running_state} in memory (augment_with_score=True)"
    )


@dataclass(frozen=True)
class FairnessReward:
    """The reward of each step under a scheme, with or without its fold in memory.

    Without: the welfare of the assessed time points, for schemes that are sums of it. With: by how
    much the step changed the score so far, which any fold can say. Either way the (discounted)
    sum over an episode is the score of its trace.
    """

    scheme: FairnessScheme
    augment_with_score: bool = False
    share: float | None = None  # of the sum of the contributions, where it is known to be one

    def __post_init__(self) -> None:
        for part in (self.scheme.status, self.scheme.filter, self.scheme.aggregation):
            if part.keeps_history:
                raise CannotStream(
                    f"{type(part).__name__} needs the whole history, so no finite memory "
                    "determines the reward: write that part as a fold."
                )
        if self.scheme.status.weights_change:
            raise CannotStream(
                f"under {type(self.scheme.status).__name__} the number that each stakeholder "
                "counts for changes with what happened, which no reward of a step can say: use a "
                "status with fixed weights."
            )
        if not (
            self.augment_with_score or self.share is not None or is_sum_of_rewards(self.scheme)
        ):
            raise NotRewardLike(f"the scheme is not reward-like: {_not_a_sum(self.scheme)}.")

    @property
    def discount(self) -> float:
        """With this discount the rewards of an episode add up to its score."""
        temporal = self.scheme.temporal
        discount = None if temporal is None else temporal.sum_discount
        return 1.0 if self.augment_with_score or discount is None else discount

    def init(self, num_stakeholders: int) -> SchemeState:
        """The scheme state before the first step."""
        scheme = self.scheme
        status = scheme.status.init(num_stakeholders)
        size = len(scheme.status.value(status))
        scheme.aggregation.require_fit(size)
        fold = scheme.aggregation.init(size) if self.augment_with_score else ()
        return SchemeState(status, scheme.filter.init(), fold, np.zeros((), dtype=bool))

    def update(
        self, before: SchemeState, step: Step, is_over: Bool[Array, ""]
    ) -> tuple[SchemeState, Array]:
        """The scheme state after a step, and its reward."""
        status = self.scheme.status.update(before.status, step)
        return self.step_reward(
            before._replace(status=status), self.scheme.status.value(status), step, is_over
        )

    def step_reward(
        self,
        before: SchemeState,
        vector: Float[Array, " status"],
        step: Step,
        is_over: Bool[Array, ""],
    ) -> tuple[SchemeState, Float[Array, ""]]:
        """Assess a step whose outcome is this status vector, real or imagined, and reward it."""
        scheme, xp = self.scheme, namespace(vector)
        filtered, fires = scheme.filter.update(before.filter, step)
        assessed = fires | is_over if scheme.filter.assesses_end else fires
        if step.override is not None:
            assessed = assessed | step.override.applies
        contribution = scheme.contribution(vector, step.override)
        contribution = self._where_defined(contribution, vector, step)
        if self.augment_with_score:
            score_before = xp.where(before.assessed, scheme.aggregation.value(before.fold), 0.0)
            fold = choose(
                assessed, scheme.aggregation.update(before.fold, contribution), before.fold
            )
            after = xp.where(before.assessed | assessed, scheme.aggregation.value(fold), 0.0)
            reward = xp.where(assessed, after - score_before, 0.0)
        else:
            share = 1.0 if self.share is None else self.share
            fold, reward = before.fold, xp.where(assessed, share * contribution, 0.0)
        if not self._asks_whether_assessed:
            return SchemeState(before.status, filtered, fold, before.assessed), reward
        ever = before.assessed | assessed
        reward = xp.where(is_over & ~ever, self._nothing(), reward)
        return SchemeState(before.status, filtered, fold, ever), reward

    @property
    def _asks_whether_assessed(self) -> bool:
        """A sum of nothing is 0 by itself, and every step of an always-on filter is assessed.

        So is some step where their number is fixed.

        To carry the answer where it is not asked for would distinguish states that are alike.
        """
        fixed = self.share is not None
        sure = self.scheme.filter.always or fixed or self._nothing() == 0.0
        return self.augment_with_score or not sure

    def _where_defined(self, contribution: Array, vector: Array, step: Step) -> Array:
        """The contribution, or −∞ where the welfare is undefined and nothing stands in for it."""
        welfare = self.scheme.welfare
        if welfare is None or welfare.least_status == -math.inf:
            return contribution
        xp, least = namespace(vector), welfare.least_status
        defined = xp.min(vector) > least if welfare.least_excluded else xp.min(vector) >= least
        if step.override is not None:
            defined = defined | step.override.applies
        return xp.where(defined, contribution, -math.inf)

    def _nothing(self) -> float:
        """The reward of an episode in which nothing was assessed: NaN, if none was named."""
        empty = self.scheme.aggregation.empty if self.scheme.empty is None else self.scheme.empty
        return float("nan") if empty is None else empty


def choose(condition: Bool[Array, ""], yes: Any, no: Any) -> Any:
    """`yes` or `no`, tuples of arrays alike, as a condition that may be traced says."""
    return jax.tree.map(lambda a, b: namespace(a).where(condition, a, b), yes, no)
