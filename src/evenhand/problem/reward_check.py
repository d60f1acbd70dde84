"""Whether every step has a reward: one that is no finite number would teach a learner nothing.

A welfare such as log-Nash is undefined below some status. A score refuses that by name, and so
must whoever learns: from −∞ a network learns NaN, and acts on it.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import NegativeStatus, NotFinite, NotRewardLike
from evenhand.fairness.welfare import Welfare
from evenhand.problem.random_episodes import RandomDecision, along_random_episodes

if TYPE_CHECKING:
    from jaxtyping import Float

    from evenhand.problem.problem import Problem

EPISODES = 16


def require_reward(
    problem: Problem, reward: Any, status: Float[np.ndarray, " status"], where: str = ""
) -> None:
    """Refuse a reward that is not a finite number, with the status that has none.

    Args:
        problem: The problem whose scheme gives the reward.
        reward: The reward of a step.
        status: The status vector after it.
        where: Which step this is, as a phrase that follows "the status is …".
    """
    if np.isfinite(reward):
        return
    welfare, status = problem.scheme.welfare, np.asarray(status, dtype=np.float64)
    if welfare is not None and _undefined(welfare, status).any():
        i = int(np.argmax(_undefined(welfare, status)))
        values = "above" if welfare.least_excluded else "from"
        raise NegativeStatus(
            f"the status of stakeholder {i} is {status[i]:g}{where}, which has no welfare under "
            f"{type(welfare).__name__} (defined {values} {welfare.least_status:g}), so that the "
            "step cannot be paid: use a welfare that takes such statuses, such as Rawls, put a "
            "floor under what is received, or have the environment override such steps."
        )
    raise NotFinite(
        f"the reward of a step is {float(reward):g}{where}, where the statuses are "
        f"{np.round(status, 6).tolist()}: give amounts that a number can hold, and a score for "
        "episodes without any assessment (empty=…)."
    )


def require_as_many_assessments(problem: Problem, decided: int | None) -> None:
    """Refuse an episode that is too short for its rewards to add up to its score.

    A mean is a sum of rewards where every episode has as many assessments, and an environment that
    runs elsewhere may end one before its horizon.

    Args:
        problem: The problem whose scheme gives the reward.
        decided: After how many decisions the episode ended; None if nothing says how many there
            will be.
    """
    filter_, horizon = problem.scheme.filter, problem.environment.horizon
    if problem.pay.share is None or filter_.assesses_end:
        return
    within = filter_.assessments_within
    if decided is not None and within(decided, horizon) == within(horizon, horizon):
        return
    temporal = problem.scheme.temporal
    assert temporal is not None  # or there would be no share
    what = "nothing says after how many decisions an episode ends"
    if decided is not None:
        what = f"an episode ended after {decided:,} of {horizon:,} decisions"
    raise NotRewardLike(
        f"{what}, and {type(temporal).__name__} ({temporal.describe()}) is a sum of per-step "
        "rewards only where all episodes have as many assessments: show the running score too "
        "(augment_with_score=True), or use a sum such as Total."
    )


def _undefined(welfare: Welfare, status: np.ndarray) -> np.ndarray:
    least = welfare.least_status
    return status <= least if welfare.least_excluded else status < least


def require_rewards(problem: Problem, seed: int = 0) -> None:
    """Look, before anything is learned, whether statuses can leave the welfare undefined.

    Where what can be received in a step is known and can do no harm, that is all. Otherwise some
    random episodes are looked at; what they miss is noticed while it is learned.
    """
    welfare, environment = problem.scheme.welfare, problem.environment
    if welfare is None or welfare.least_status == -math.inf or not environment.compiled:
        return
    bounds = getattr(environment, "reward_bounds", lambda: (-math.inf, math.inf))()
    if bounds[0] >= 0.0 and not _undefined(welfare, np.zeros(())):
        return
    rewards, statuses = _along_episodes(problem, seed)
    for episode, time in np.argwhere(~np.isfinite(rewards))[:1]:
        where = f" after step {time + 1} of a random episode"
        require_reward(problem, rewards[episode, time], statuses[episode, time], where)


@functools.lru_cache(maxsize=64)
def _along_episodes(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rewards and statuses along random episodes, once for each problem."""

    def look(decision: RandomDecision) -> tuple[Any, Any]:
        status = problem.scheme.status.value(decision.after.scheme_state.status)
        return decision.reward, status

    rewards, statuses = along_random_episodes(problem, look, EPISODES, seed)
    return rewards, statuses
