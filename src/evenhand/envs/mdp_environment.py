"""Definition 1 as an environment: a finite MDP given as arrays, to be planned, run and learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.envs.environment import Environment, Outcomes, State, require_count
from evenhand.process import FiniteMDP

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray


ENDLESS = 2**30  # more decisions than anyone will make, and safe in an int32


class Place(NamedTuple):
    """The state of the MDP, and the step number."""

    state: Int[Array, ""]
    time: Int[Array, ""]


@dataclass(frozen=True)
class MDPEnvironment(Environment[Place, jax.Array]):
    """A `FiniteMDP` run for `horizon` decisions. No noise is seen: chance follows the action.

    The default horizon is as good as none, for planning and learning without an end.
    """

    mdp: FiniteMDP
    horizon: int = ENDLESS

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")

    @property
    def num_stakeholders(self) -> int:
        return self.mdp.num_stakeholders

    @property
    def num_actions(self) -> int:
        return self.mdp.num_actions

    def start(self) -> Place:
        first = jnp.asarray(self.mdp.initial_state, dtype=jnp.int32)
        return Place(first, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        return jnp.zeros(0)

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.zeros((1, 0)), jnp.ones(1)

    def outcomes(self, world: Place, noise: jax.Array, action: Any) -> Outcomes[Place]:
        states = jnp.arange(self.mdp.num_states, dtype=jnp.int32)
        time = jnp.broadcast_to(world.time + 1, states.shape)
        probability = jnp.asarray(self.mdp.transitions, dtype=float)[world.state, action]
        return Outcomes(probability, Place(states, time))

    def rewards(
        self, state: State[Place, jax.Array], action: Any, world: Place
    ) -> Float[Array, " stakeholder"]:
        return jnp.asarray(self.mdp.rewards, dtype=float)[state.world.state, action, world.state]

    def observation(self, state: State[Place, jax.Array]) -> Float[Array, " feature"]:
        return jax.nn.one_hot(state.world.state, self.mdp.num_states)

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return float(self.mdp.rewards.min()), float(self.mdp.rewards.max())

    def table_size(self) -> int:
        return self.mdp.num_states * (self.horizon + 1) ** self.num_stakeholders
