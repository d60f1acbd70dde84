"""Waiting with urgency: patients get worse while they wait, and are then harder to help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.envs.environment import Environment, Outcomes, State, one_each, require_count, subsets
from evenhand.errors import UnequalLengths
from evenhand.fairness.groups import Labels, by_value
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

NOBODY, STABLE, CRITICAL = range(3)


class Beds(NamedTuple):
    """The condition of the patient of each class: nobody there, stable or critical."""

    condition: Int[Array, " group"]
    time: Int[Array, ""]


@ENVIRONMENTS.register("triage")
@dataclass(frozen=True)
class Triage(Environment[Beds, jax.Array]):
    """Waiting with urgency: stakeholders are classes of patients, with one bed each.

    Before each step a patient comes to an empty bed of class i with probability `arrivals`[i], in
    stable condition, which is seen. The action treats the patient of one class: with the chance of
    `cured` for their condition they are helped and leave, and their class receives 1. Then every
    patient still stable turns critical with the chance of `worsening` of the class. Treating the
    most urgent first takes so long that the others turn critical meanwhile: looking ahead, one
    treats those first who would.

    Args:
        arrivals: The chance of a patient for an empty bed, one each.
        worsening: The chance to turn critical in a step, one for all or one each.
        cured: The chance that a treatment helps, in stable and in critical condition.
        horizon: T.
    """

    serves_by_number = True

    arrivals: tuple[float, ...] = (0.5, 0.5, 0.5)
    worsening: float | tuple[float, ...] = (0.9, 0.5, 0.2)
    cured: tuple[float, float] = (1.0, 0.3)
    horizon: int = 8

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        size = len(self.arrivals)
        if not size:
            raise UnequalLengths("arrivals is empty: there must be at least one class of patients.")
        set_field = object.__setattr__
        set_field(self, "arrivals", one_each(self.arrivals, size, "arrivals", 0.0, 1.0))
        set_field(self, "worsening", one_each(self.worsening, size, "worsening", 0.0, 1.0))
        set_field(self, "cured", one_each(self.cured, 2, "cured", 0.0, 1.0))

    @property
    def num_stakeholders(self) -> int:
        return len(self.arrivals)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    def start(self) -> Beds:
        empty = jnp.full(self.num_stakeholders, NOBODY, dtype=jnp.int32)
        return Beds(empty, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """To which classes a patient would come."""
        chances = jnp.asarray(self.arrivals)
        return jax.random.uniform(key, chances.shape) < chances

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return subsets(self.arrivals)

    def outcomes(self, world: Beds, noise: jax.Array, action: Any) -> Outcomes[Beds]:
        """Helped or not, and every combination of who would turn critical."""
        now = self.condition(State(world, noise))
        chosen = jnp.arange(self.num_stakeholders) == action
        helped = jnp.sum(jnp.where(chosen, self._chance(now), 0.0))
        worsen, chance = subsets(self.worsening)  # type: ignore[arg-type]  # a tuple once built
        left = jnp.stack((now, jnp.where(chosen, NOBODY, now)))  # by whether it helped
        turned = worsen[None] & (left == STABLE)[:, None]
        after = jnp.where(turned, CRITICAL, left[:, None]).astype(world.condition.dtype)
        probability = jnp.stack((1.0 - helped, helped))[:, None] * chance
        number = probability.size
        beds = after.reshape(number, self.num_stakeholders)
        return Outcomes(
            probability.reshape(number), Beds(beds, jnp.broadcast_to(world.time + 1, (number,)))
        )

    def rewards(
        self, state: State[Beds, jax.Array], action: Any, world: Beds
    ) -> Float[Array, " stakeholder"]:
        """1 for the class whose patient was helped, and so is no longer there."""
        return ((self.condition(state) != NOBODY) & (world.condition == NOBODY)).astype(float)

    def condition(self, state: State[Beds, jax.Array]) -> Int[Array, " group"]:
        """The patients there, those who have just come included."""
        before = state.world.condition
        return jnp.where((before == NOBODY) & state.noise, STABLE, before)

    def present(self, state: State[Beds, jax.Array]) -> Bool[Array, " stakeholder"]:
        return self.condition(state) != NOBODY

    def observation(self, state: State[Beds, jax.Array]) -> Float[Array, " feature"]:
        """Whether somebody is there, and whether they are critical."""
        now = self.condition(state)
        return jnp.concatenate((now != NOBODY, now == CRITICAL)).astype(float)

    def feature_layout(self) -> FeatureLayout:
        return FeatureLayout.in_blocks(self.num_stakeholders, features=2)

    def exchangeable(self) -> Labels:
        return by_value(zip(self.arrivals, self.worsening, strict=True))  # type: ignore[arg-type]

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def table_size(self) -> int:
        return (3 * (self.horizon + 1)) ** self.num_stakeholders

    def default_scheme(self) -> FairnessScheme:
        """How many of the class that was helped least have been helped, at every step."""
        return anytime(Rawls(), Total())

    def _chance(self, condition: Int[Array, " group"]) -> Float[Array, " group"]:
        """The chance that a treatment helps."""
        return jnp.asarray((0.0, *self.cured))[condition]
