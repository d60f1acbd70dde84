"""Whether a memory determines the reward, compared with the true status along episodes.

Imagined memories are rewarded by what they claim to know. So the claim must be right: what it
gives and what the scheme's own status gives must agree at every step (W∘U is Markovian).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from evenhand.errors import MemoryDoesNotPay
from evenhand.fairness.status import Returns
from evenhand.memory.memory import Full
from evenhand.problem.random_episodes import RandomDecision, along_random_episodes

if TYPE_CHECKING:
    from evenhand.problem.problem import Problem


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
