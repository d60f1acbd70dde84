"""What choosing each stakeholder would do at once, as features: asked of the environment itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.envs.environment import State
from evenhand.fairness.trace import Step
from evenhand.learn.deep.encoders import ENCODERS, Encoder, Features
from evenhand.learn.deep.gains import relative
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float

SMALLEST = 1e-9  # spread, and difference between welfares, that says anything


class AfterChoice(NamedTuple):
    """How things stand if a stakeholder is chosen now."""

    welfare: Float[Array, " stakeholder"]  # of all
    gained: Float[Array, " stakeholder"]  # by its own status, compared with others being chosen


@ENCODERS.register("at_once")
@dataclass(frozen=True)
class AtOnce(Encoder):
    """The features of another encoder, and for each stakeholder what choosing it would do at once.

    Of the welfare after that, how far it is from what the others' choice would lead to, and whether
    it is the best there is; and what its own status would gain. What a policy has to learn is then
    where the choice that is best at once is not the best in the end. Only where an environment says
    that its outcomes are certain (`Environment.certain_outcomes`).

    Args:
        of: The other encoder.
    """

    of: Encoder

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return self.of.code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        each, common = self.of.features(problem, state, seen)
        welfare, gained = after_each_choice(problem, state, seen)
        about = welfare - jnp.mean(welfare)
        columns = (
            relative(welfare - jnp.min(welfare)),
            about / (jnp.std(welfare) + SMALLEST),
            (welfare >= jnp.max(welfare) - SMALLEST).astype(jnp.float32),
            relative(gained),
        )
        return Features(
            jnp.concatenate((each, *(column[:, None] for column in columns)), axis=1), common
        )


def after_each_choice(problem: Problem, state: Any, seen: AgentView) -> AfterChoice:
    """How things would stand after each choice, by the problem's own environment, memory and W."""
    environment: Any = problem.environment

    def after(action: Any) -> tuple[Array, Array]:
        worlds = environment.outcomes(state.world, state.noise, action).world
        world = jax.tree.map(lambda leaf: leaf[0], worlds)
        step = Step(action, environment.rewards(state, action, world), State(world, state.noise))
        status = problem.memory.implied_status(problem.memory.update(seen.memory, step))
        assert status is not None  # asked before this encoder is chosen
        return problem.scheme.contribution(status), status

    welfare, status = jax.vmap(after)(jnp.arange(environment.num_actions))
    # Who cannot be served is passed over: somebody else's good is not to stand beside its name.
    there = environment.present(state)
    least = jnp.min(jnp.where(there, welfare, jnp.inf))
    least = jnp.where(jnp.isfinite(least), least, 0.0)
    gained = jnp.diagonal(status) - jnp.min(status, axis=0)
    return AfterChoice(jnp.where(there, welfare, least), jnp.where(there, gained, 0.0))
