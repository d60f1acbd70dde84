"""Section 5.2: the memories that a proposal imagines beside a real one, as agents store them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.fairness.trace import Step
from evenhand.learn.proposals.proposal import Past, Proposal
from evenhand.memory.memory import Memory

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, PRNGKeyArray


class PastStep(NamedTuple):
    """A step that was taken, and the imaginable part of the memory before it."""

    memory: Any
    step: Step


def imagine_memories(
    proposal: Proposal,
    memory: Memory,
    key: PRNGKeyArray,
    real: Any,
    recalled: PastStep | None,
    exist: Bool[Array, " recalled"],
) -> tuple[Any, Bool[Array, " proposal"]]:
    """Whole memories, on a leading axis, and which of them exist: never the real one.

    Args:
        proposal: What to imagine.
        memory: The memory whose states they are.
        key: Randomness of the proposal's own.
        real: The state of the memory before the step.
        recalled: Steps of the past, as many as the proposal asks for.
        exist: Which of those were taken.
    """

    def update(part: Any, step: Step) -> Any:
        return memory.imaginable(memory.update(memory.imagined(real, part), step))

    visited, steps = (None, None) if recalled is None else recalled
    past = Past(memory.imaginable(real), visited, steps, exist, update)
    parts, there = proposal.imagine(key, past)
    imagined = jax.vmap(lambda part: memory.imagined(real, part))(parts)
    return imagined, there & jax.vmap(lambda one: _differ(one, real))(imagined)


def _differ(one: Any, other: Any) -> Bool[Array, ""]:
    leaves = jax.tree.leaves(jax.tree.map(lambda a, b: jnp.any(a != b), one, other))
    return functools.reduce(jnp.logical_or, leaves)
