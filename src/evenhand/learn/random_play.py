"""What random play shows of a problem: how large rewards, statuses and observations are.

The defaults of a learner come from here, and not from what kind of environment it is: with the
same amounts in grams or in kilograms it is the same learner. Several memories are tried in the
same play, which is compiled once.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import NotFinite
from evenhand.learn.deep.encoders import observed
from evenhand.memory.memory import Memory, Product
from evenhand.problem.checks import RandomDecision, agree, along_random_episodes, require_reward
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float

EPISODES = 32


class MemoryTrial(NamedTuple):
    """How a memory fared along random play."""

    claimed: Any  # [episode, time]: the reward by the status that it claims to know
    looks_back: Any  # [episode, time]: whether from another memory it is another
    observed: tuple[np.ndarray, ...]  # the values of its attributes, before each decision


class RandomPlay(NamedTuple):
    """Random episodes, or the beginnings of long ones: arrays of [episode, time, …]."""

    received: Float[np.ndarray, "episode time stakeholder"]
    pay: Float[np.ndarray, "episode time"]
    status: Float[np.ndarray, "episode time status"]
    over: Bool[np.ndarray, "episode time"]  # whether the episode was over before the step
    observed: tuple[np.ndarray, ...]  # the values of all attributes, before each decision
    trials: tuple[MemoryTrial, ...] = ()  # of each memory that was tried

    @property
    def unit(self) -> float:
        """A typical amount that somebody receives at once: the median of those that are not 0."""
        return typical(self.received[~self.over])

    def determines(self, k: int) -> bool:
        """Whether the k-th memory gave the right reward at every step."""
        return bool((agree(self.trials[k].claimed, self.pay) | self.over).all())

    def looks_back(self, k: int) -> bool:
        """Whether the k-th memory ever depended on what it was before."""
        return bool(self.trials[k].looks_back.any())


def typical(values: np.ndarray) -> float:
    """The median size of the values that are not 0; 1 where all are."""
    sizes = np.abs(np.asarray(values, dtype=np.float64).ravel())
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if sizes.size else 1.0


@functools.lru_cache(maxsize=32)
def random_play(problem: Problem, memories: tuple[Memory, ...] = ()) -> RandomPlay:
    """Some random episodes of a compiled environment; a reward that is no number is refused.

    Args:
        problem: The environment and the scheme; what is observed is seen with its memory.
        memories: Other memories to try along the same episodes.
    """
    environment, status = problem.environment, problem.scheme.status
    every = replace(problem, memory=Product((problem.memory, *memories)))

    def look(decision: RandomDecision) -> Any:
        before, after = decision.before, decision.after
        seen = before.seen._replace(memory=before.memory[0])
        attributes = observed(problem, before.state, seen)
        return (
            decision.step.rewards,
            decision.reward,
            status.value(after.scheme_state.status),
            environment.is_over(before.state),
            tuple(attribute.values for attribute in attributes),
            tuple(_try(every, memory, k, decision) for k, memory in enumerate(memories, start=1)),
        )

    found = RandomPlay(*along_random_episodes(every, look, EPISODES))
    for episode, time, i in np.argwhere(~np.isfinite(found.received) & ~found.over[..., None])[:1]:
        raise NotFinite(
            f"the environment gave stakeholder {i} a reward of {found.received[episode, time, i]:g}"
            f" at step {time + 1} of a random episode: rewards must be finite numbers."
        )
    for episode, time in np.argwhere(~np.isfinite(found.pay) & ~found.over)[:1]:
        where = f" after step {time + 1} of a random episode"
        require_reward(problem, found.pay[episode, time], found.status[episode, time], where)
    return found


def _try(problem: Problem, memory: Memory, k: int, decision: RandomDecision) -> MemoryTrial:
    environment = problem.environment
    before, after, step = decision.before, decision.after, decision.step
    claim = memory.implied_status(after.memory[k])
    claimed = jnp.full((), jnp.nan)
    if claim is not None:
        over = environment.is_over(after.state)
        claimed = problem.pay.step_reward(before.scheme_state, claim, step, over)[1]
    other = memory.imagined(
        before.memory[k], jax.tree.map(_changed, memory.imaginable(before.memory[k]))
    )
    pairs = zip(
        jax.tree.leaves(memory.update(other, step)), jax.tree.leaves(after.memory[k]), strict=True
    )
    differ = [jnp.any(imagined != real) for imagined, real in pairs]
    attributes = memory.attributes(
        before.memory[k], environment.horizon, environment.num_stakeholders
    )
    return MemoryTrial(
        claimed,
        jnp.any(jnp.stack(differ)) if differ else jnp.zeros((), dtype=bool),
        tuple(attribute.values for attribute in attributes),
    )


def _changed(leaf: Array) -> Array:
    """Another value of the same kind, which differs by another number at every place."""
    offsets = 1 + jnp.arange(leaf.size).reshape(leaf.shape)
    return ~leaf if leaf.dtype == bool else leaf + offsets.astype(leaf.dtype)
