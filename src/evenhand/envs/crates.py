"""Unequal sizes: crates of food for households, each crate whole to one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand._util.numbers import as_float64
from evenhand.envs.environment import Environment, Outcomes, State, one_each, require_count
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.groups import Labels, by_value
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.status import PerEntitlement
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

LARGEST = 1_000_000  # people or meals


class Pantry(NamedTuple):
    """All that endures is the step number: nothing is kept from one step to the next."""

    time: Int[Array, ""]


@ENVIRONMENTS.register("crates")
@dataclass(frozen=True)
class Crates(Environment[Pantry, jax.Array]):
    """Unequal sizes: which household gets today's crate? Status is meals per head.

    The crate has one of `crates` meals, drawn with `chances` and seen before deciding; it goes to
    one household whole, which eats one meal per head, and what is left over spoils. Least served
    gives large crates to small households, which waste them: looking ahead, one waits for a crate
    that fits.

    Args:
        sizes: How many people each household has.
        crates: How many meals a crate may have.
        chances: How likely each of these is; they sum to 1.
        horizon: T.
    """

    serves_by_number = True

    sizes: tuple[int, ...] = (1, 2, 4)
    crates: tuple[int, ...] = (1, 2, 4)
    chances: tuple[float, ...] = (0.4, 0.3, 0.3)
    horizon: int = 9

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        for name, least in (("sizes", 1), ("crates", 0)):
            numbers = as_float64(getattr(self, name), name)
            if not numbers.size:
                raise UnequalLengths(f"{name} is empty: there must be at least one.")
            values = one_each(getattr(self, name), numbers.size, name, least, LARGEST)
            if any(value != int(value) for value in values):
                raise BadParameter(f"{name} is {getattr(self, name)}: give whole numbers.")
            object.__setattr__(self, name, tuple(int(value) for value in values))
        chances = one_each(self.chances, len(self.crates), "chances", 0.0, 1.0)
        if abs(sum(chances) - 1.0) > 1e-9:
            raise BadParameter(f"chances sum to {sum(chances):g}: they must sum to 1.")
        object.__setattr__(self, "chances", chances)

    @property
    def num_stakeholders(self) -> int:
        return len(self.sizes)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    @property
    def entitlements(self) -> tuple[float, ...]:
        return tuple(float(size) for size in self.sizes)

    def start(self) -> Pantry:
        return Pantry(jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """The meals in today's crate."""
        crates, chances = self.noises()
        return jax.random.choice(key, crates, p=chances)

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.asarray(self.crates, dtype=jnp.int32), jnp.asarray(self.chances)

    def outcomes(self, world: Pantry, noise: jax.Array, action: Any) -> Outcomes[Pantry]:
        """One outcome: chance lies in the crates alone."""
        return Outcomes(jnp.ones(1), Pantry(world.time[None] + 1))

    def rewards(
        self, state: State[Pantry, jax.Array], action: Any, world: Pantry
    ) -> Float[Array, " stakeholder"]:
        """Meals eaten: one per head at most."""
        eaten = jnp.minimum(state.noise, jnp.asarray(self.sizes))
        return jnp.where(jnp.arange(self.num_stakeholders) == action, eaten, 0).astype(float)

    def observation(self, state: State[Pantry, jax.Array]) -> Float[Array, " feature"]:
        """How much of a meal each household would have of this crate, per head."""
        sizes = jnp.asarray(self.sizes)
        return jnp.minimum(state.noise, sizes) / sizes

    def exchangeable(self) -> Labels:
        return by_value(self.sizes)

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, float(min(max(self.sizes), max(self.crates)))

    def table_size(self) -> int:
        """Meals are counted, and not crates."""
        size = 1
        for household in self.sizes:
            size *= self.horizon * min(household, max(self.crates)) + 1
        return size

    def default_scheme(self) -> FairnessScheme:
        """Meals per head of the household that has had fewest, at every step."""
        return anytime(Rawls(), Total(), PerEntitlement(self.entitlements))
