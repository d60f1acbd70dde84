"""Whether a memory determines the reward, and a reward is what the scheme scores: tried on play."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from evenhand.errors import MemoryDoesNotPay, NegativeStatus, NotFinite, NotRewardLike
from evenhand.fairness.status import Returns
from evenhand.fairness.welfare import Welfare
from evenhand.memory.memory import Full

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

    from evenhand.fairness.trace import Step
    from evenhand.problem.problem import AugmentedState, Problem


# Random episodes of a problem, played once so that something can be looked at along them.

LONGEST_LOOK = 256  # steps of an episode that are looked at


class RandomDecision(NamedTuple):
    """A decision at random, and what came of it."""

    before: AugmentedState
    action: Int[Array, ""]
    step: Step
    reward: Float[Array, ""]
    after: AugmentedState


def along_random_episodes(
    problem: Problem, look: Callable[[RandomDecision], Any], episodes: int, seed: int = 0
) -> Any:
    """What is found at each decision of random episodes: arrays by episode and time.

    Args:
        problem: What is played; its environment is compiled.
        look: What to find, as a function that JAX can trace.
        episodes: How many.
        seed: Of the episodes.
    """
    environment = problem.environment

    def decide(before: AugmentedState, key: PRNGKeyArray) -> tuple[AugmentedState, Any]:
        act_key, step_key = jax.random.split(key)
        action = jax.random.randint(act_key, (), 0, environment.num_actions)
        after, step, reward = problem.step(step_key, before, action)
        return after, look(RandomDecision(before, action, step, reward, after))

    def episode(key: PRNGKeyArray) -> Any:
        start_key, run_key = jax.random.split(key)
        keys = jax.random.split(run_key, min(environment.horizon, LONGEST_LOOK))
        return jax.lax.scan(decide, problem.initial(start_key), keys)[1]

    # It runs once, so that what it costs is compilation: not worth optimising.
    play = jax.jit(jax.vmap(episode), compiler_options={"xla_backend_optimization_level": 0})
    return jax.device_get(play(jax.random.split(jax.random.key(seed), episodes)))


# Whether a memory determines the reward, compared with the true status along episodes.
#
# Imagined memories are rewarded by what they claim to know. So the claim must be right: what it
# gives and what the scheme's own status gives must agree at every step (W∘U is Markovian).


def require_claim(problem: Problem) -> None:
    """Refuse a memory that claims no status, or one of another size."""
    stakeholders = problem.environment.num_stakeholders
    memory, status = problem.memory, problem.scheme.status
    claim = memory.implied_status(memory.init(stakeholders))
    if claim is None:
        raise MemoryDoesNotPay(
            f"the memory ({memory.describe()}) does not say which status it knows, so "
            f"imagined memories have no reward: use {determining(problem)}, or a memory with "
            "`implied_status`."
        )
    true = status.value(status.init(stakeholders))
    if claim.shape != true.shape:
        raise MemoryDoesNotPay(
            f"the memory ({memory.describe()}) knows {claim.shape[0]} numbers where the status "
            f"({status.describe()}) has {true.shape[0]}: use {determining(problem)}, or judge "
            "groups as stakeholders (status=GroupTotals) to use a memory of groups."
        )


def determining(problem: Problem) -> str:
    """A memory that determines the reward, as it is written."""
    status = problem.scheme.status
    if status == Returns() and problem.memory != Full():
        return "Full()"
    return f"OfStatus({type(status).__name__}(…)), of the scheme's own status"


def require_same_reward(
    problem: Problem, claimed: Any, true: Any, where: str, besides: str = ""
) -> None:
    """Refuse a memory whose claim gives another reward than the true status, at one step.

    Args:
        problem: The problem with the memory.
        claimed: The reward by what the memory claims to know.
        true: The reward by the true status.
        where: Which step this is, as a phrase that goes on "… it would give 2".
        besides: What else may be the reason, as a phrase that goes on "Use a memory that does …".
    """
    if not agree(claimed, true):
        raise MemoryDoesNotPay(
            f"the memory ({problem.memory.describe()}) does not determine the reward: {where} it "
            f"would give {float(claimed):g}, but the reward is {float(true):g}. Use a memory that "
            f"does: {determining(problem)}{besides}."
        )


def agree(claimed: Any, true: Any) -> Any:
    """Which rewards are the same, up to the rounding of float32."""
    return np.isclose(claimed, true, rtol=1e-4, atol=1e-4, equal_nan=True)


def require_determined(problem: Problem, seed: int, episodes: int) -> None:
    """Compare the two along random episodes; the error shows the first step where they differ."""
    claimed, true, trail = _along_episodes(problem, seed, episodes)
    differ = np.logical_not(agree(claimed, true))
    if not differ.any():
        return
    time = int(np.flatnonzero(differ.any(axis=0))[0])
    episode = int(np.flatnonzero(differ[:, time])[0])
    memory, status, action = jax.tree.map(lambda leaf: leaf[episode, time].tolist(), trail)
    where = (
        f"at step {time + 1} of a random episode, after action {action}, it is {memory} where the "
        f"status is {status};"
    )
    require_same_reward(problem, claimed[episode, time], true[episode, time], where)


@functools.lru_cache(maxsize=64)
def _along_episodes(problem: Problem, seed: int, episodes: int) -> Any:
    """Rewards by claim and by the true status along random episodes, and the trail.

    Once for each problem.
    """

    def look(decision: RandomDecision) -> tuple[Any, Any, Any]:
        before, after = decision.before, decision.after
        is_over = problem.environment.is_over(after.state)
        memory, _, claimed = problem.imagine(
            before.memory, before.scheme_state, decision.step, is_over
        )
        status = problem.scheme.status.value(after.scheme_state.status)
        return claimed, decision.reward, (memory, status, decision.action)

    return along_random_episodes(problem, look, episodes, seed)


# Whether every step has a reward: one that is no finite number would teach a learner nothing.
#
# A welfare such as log-Nash is undefined below some status. A score refuses that by name, and so
# must whoever learns: from −∞ a network learns NaN, and acts on it.

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
    rewards, statuses = _rewards_along_episodes(problem, seed)
    for episode, time in np.argwhere(~np.isfinite(rewards))[:1]:
        where = f" after step {time + 1} of a random episode"
        require_reward(problem, rewards[episode, time], statuses[episode, time], where)


@functools.lru_cache(maxsize=64)
def _rewards_along_episodes(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rewards and statuses along random episodes, once for each problem."""

    def look(decision: RandomDecision) -> tuple[Any, Any]:
        status = problem.scheme.status.value(decision.after.scheme_state.status)
        return decision.reward, status

    rewards, statuses = along_random_episodes(problem, look, EPISODES, seed)
    return rewards, statuses
