"""Decay: protection that fades at different rates, and one booster per step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.envs.environment import Environment, Outcomes, State, one_each, require_count, subsets
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.groups import Labels, by_value
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

MOST_LEVELS = 1_000_000


class Protection(NamedTuple):
    """How well each stakeholder is protected now, and the step."""

    level: Int[Array, " stakeholder"]
    time: Int[Array, ""]


@ENVIRONMENTS.register("boosters")
@dataclass(frozen=True)
class Boosters(Environment[Protection, jax.Array]):
    """Decay: who is boosted now? Stakeholders receive 1 for every step at which they are protected.

    A booster brings one stakeholder to its full level. Then everybody's level falls by one with the
    chance of `fading`, down to 0. Whoever is not at 0 is protected for this step. Least served
    boosts those who fade fast again and again: looking ahead, one boosts those first whom it keeps
    for long, and each before its level is gone.

    Args:
        levels: The level after a booster, one for all or one each.
        fading: The chance that a level falls in a step, one each.
        horizon: T.
    """

    serves_by_number = True

    levels: int | tuple[int, ...] = 3
    fading: tuple[float, ...] = (0.9, 0.6, 0.3)
    horizon: int = 8

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        size = len(self.fading)
        if not size:
            raise UnequalLengths("fading is empty: there must be at least one stakeholder.")
        levels = one_each(self.levels, size, "levels", 1, MOST_LEVELS)
        if any(level != int(level) for level in levels):
            raise BadParameter(f"levels is {self.levels}: levels are whole numbers.")
        object.__setattr__(self, "levels", tuple(int(level) for level in levels))
        object.__setattr__(self, "fading", one_each(self.fading, size, "fading", 0.0, 1.0))

    @property
    def num_stakeholders(self) -> int:
        return len(self.fading)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    def start(self) -> Protection:
        """Nobody is protected."""
        none = jnp.zeros(self.num_stakeholders, dtype=jnp.int32)
        return Protection(none, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """Nothing is seen before a decision but the levels."""
        return jnp.zeros(0)

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.zeros((1, 0)), jnp.ones(1)

    def outcomes(self, world: Protection, noise: jax.Array, action: Any) -> Outcomes[Protection]:
        """Every combination of who fades."""
        chosen = jnp.arange(self.num_stakeholders) == action
        boosted = jnp.where(chosen, jnp.asarray(self.levels), world.level)
        fades, chance = subsets(self.fading)
        level = jnp.maximum(boosted - fades, 0).astype(world.level.dtype)
        time = jnp.broadcast_to(world.time + 1, chance.shape)
        return Outcomes(chance, Protection(level, time))

    def rewards(
        self, state: State[Protection, jax.Array], action: Any, world: Protection
    ) -> Float[Array, " stakeholder"]:
        """1 for whoever is still protected at the end of the step."""
        return (world.level > 0).astype(float)

    def observation(self, state: State[Protection, jax.Array]) -> Float[Array, " feature"]:
        """The levels, relative to the full ones."""
        return state.world.level / jnp.asarray(self.levels)

    def exchangeable(self) -> Labels:
        return by_value(zip(self.levels, self.fading, strict=True))  # type: ignore[arg-type]

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def table_size(self) -> int:
        size = (self.horizon + 1) ** self.num_stakeholders
        for level in self.levels:  # type: ignore[union-attr]
            size *= level + 1
        return size
