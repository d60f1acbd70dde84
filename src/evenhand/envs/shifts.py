"""Unequal presence: one thing to give out per step, to people who come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.envs.environment import Environment, Outcomes, State, one_each, require_count, subsets
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Labels, by_value
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Rota(NamedTuple):
    """In how many steps each begins, how many steps each has left from then on, and the step."""

    begins_in: Int[Array, " stakeholder"]
    left: Int[Array, " stakeholder"]
    time: Int[Array, ""]

    @property
    def on_shift(self) -> Bool[Array, " stakeholder"]:
        return (self.begins_in == 0) & (self.left > 0)


@ENVIRONMENTS.register("shifts")
@dataclass(frozen=True)
class Shifts(Environment[Rota, jax.Array]):
    """Unequal presence: stakeholder i may be served from its first step on, until it leaves.

    Whoever is on shift is there with probability `presence`, drawn before each step and seen. The
    action serves one of them; serving somebody who is not there is a step lost. Least served gives
    alike to those who are there, and whoever leaves early stays behind for good: looking ahead, one
    serves them while they are there, and the others afterwards.

    Args:
        shifts: For each stakeholder the first step (from 0) and the one at which it has left.
        presence: The chance to be there during the shift, one for all or one each.
        horizon: T.
    """

    serves_by_number = True

    shifts: tuple[tuple[int, int], ...] = ((0, 6), (3, 12), (8, 15))
    presence: float | tuple[float, ...] = 0.8
    horizon: int = 15

    options = ("horizon", "presence")

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        shifts = tuple(tuple(one) for one in self.shifts)
        if not shifts:
            raise BadParameter("shifts is empty: there must be at least one stakeholder.")
        for i, one in enumerate(shifts):
            if len(one) != 2 or any(int(step) != step for step in one) or not 0 <= one[0] < one[1]:
                raise BadParameter(
                    f"the shift of {i} is {one}: give the first step, from 0, and the later one at "
                    "which it has left."
                )
        object.__setattr__(self, "shifts", tuple((int(a), int(b)) for a, b in shifts))
        chances = one_each(self.presence, len(shifts), "presence", 0.0, 1.0)
        object.__setattr__(self, "presence", chances)

    @property
    def num_stakeholders(self) -> int:
        return len(self.shifts)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    def start(self) -> Rota:
        begins, leaves = jnp.asarray(self.shifts, dtype=jnp.int32).T
        return Rota(begins, leaves - begins, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """Who would be there if on shift."""
        chances = jnp.asarray(self.presence)
        return jax.random.uniform(key, chances.shape) < chances

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return subsets(self.presence)  # type: ignore[arg-type]  # a tuple once built

    def present(self, state: State[Rota, jax.Array]) -> Bool[Array, " stakeholder"]:
        return state.noise & state.world.on_shift

    def outcomes(self, world: Rota, noise: jax.Array, action: Any) -> Outcomes[Rota]:
        """One outcome: chance lies in the presence alone."""
        begins_in = jnp.maximum(world.begins_in - 1, 0)
        after = Rota(begins_in, world.left - world.on_shift, world.time + 1)
        return Outcomes(jnp.ones(1), jax.tree.map(lambda leaf: leaf[None], after))

    def rewards(
        self, state: State[Rota, jax.Array], action: Any, world: Rota
    ) -> Float[Array, " stakeholder"]:
        """1 for whoever is served."""
        chosen = jnp.arange(self.num_stakeholders) == action
        return (self.present(state) & chosen).astype(float)

    def observation(self, state: State[Rota, jax.Array]) -> Float[Array, " feature"]:
        """Who is there, and how much of its shift each has left, relative to the horizon."""
        return jnp.concatenate((self.present(state), state.world.left / self.horizon))

    def feature_layout(self) -> FeatureLayout:
        return FeatureLayout.in_blocks(self.num_stakeholders, features=2)

    def exchangeable(self) -> Labels:
        return by_value(zip(self.shifts, self.presence, strict=True))  # type: ignore[arg-type]

    def bounds(self) -> tuple[float, float]:
        return 0.0, max(1.0, max(until for _, until in self.shifts) / self.horizon)

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def default_scheme(self) -> FairnessScheme:
        """What whoever has least has, at every step: nobody is left behind for having left."""
        return anytime(Rawls(), Total())
