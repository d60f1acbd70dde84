"""The strongest rule without foresight: whatever makes this step as fair as can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from evenhand.envs.environment import Environment, State
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Memory, OfStatus

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

TIE = 1e-5  # expected welfares closer than this are equally good, in float32


@dataclass(frozen=True)
class OneStepAhead:
    """The action after which welfare is greatest in expectation, with no thought of later steps.

    Of several that are as good, for somebody who may be served; of these, for whoever has least
    per unit of its entitlement; of these, the first. Its memory is what the status carries.
    """

    environment: Environment
    scheme: FairnessScheme

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        actions = jnp.arange(self.environment.num_actions)
        welfare = jax.vmap(lambda action: self._expected(state, memory, action))(actions)
        best = welfare >= jnp.max(welfare) - TIE * jnp.maximum(1.0, jnp.abs(jnp.max(welfare)))
        if not self.environment.serves_by_number:
            return jnp.argmax(best).astype(jnp.int32)
        status = self.scheme.status.value(memory)
        if not self.scheme.status.per_stakeholder:
            status = jnp.zeros(self.environment.num_stakeholders)
        # Whoever may not be served comes after all who may.
        behind = jnp.where(self.environment.present(state), status, jnp.max(status) + 1.0)
        return jnp.argmin(jnp.where(best, behind, jnp.inf)).astype(jnp.int32)

    def memory(self) -> Memory:
        """What it has to see."""
        return OfStatus(self.scheme.status)

    def _expected(self, state: State, memory: Any, action: Any) -> Float[Array, ""]:
        """The expected welfare of the step; what stands in for it, where the environment says."""
        env, status = self.environment, self.scheme.status

        def welfare(world: Any) -> Float[Array, ""]:
            override = env.override(state, action, world) if env.may_override else None
            # Who will be there next is not known yet: those of now stand in for them.
            ending = State(world, state.noise)
            step = Step(action, env.rewards(state, action, world), ending, override)
            return self.scheme.contribution(status.value(status.update(memory, step)), override)

        outcomes = env.outcomes(state.world, state.noise, action)
        return jnp.sum(outcomes.probability * jax.vmap(welfare)(outcomes.world))
