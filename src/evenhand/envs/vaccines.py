"""Section 1 (the running motive): a varying supply of vaccine, one shipment per month.

All amounts, of doses and of people, are whole thousands, so that sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import as_float64
from evenhand.envs.environment import Environment, Outcomes, State, one_each, require_count
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.groups import Labels, by_value
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.status import PerEntitlement
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import NegativeVariance, Welfare
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

LARGEST = 1_000_000_000  # thousands of doses: far more than there are, and safe in an int32


class Pipeline(NamedTuple):
    """What is still on its way to each country, and the month."""

    in_transit: Int[Array, " country"]
    time: Int[Array, ""]


@ENVIRONMENTS.register("vaccines")
@dataclass(frozen=True)
class Vaccines(Environment[Pipeline, jax.Array]):
    """Section 1: which country gets this month's supply? Stakeholders are the countries.

    The month's supply is one of `supplies`, drawn with `supply_chances` and seen before deciding;
    it goes to one country whole. Freight is paid in doses: `transport_cost` of a shipment, however
    large, do not reach the country (none reach it if the supply is smaller still), so that far
    countries are best served in rich months. With the country's probability of `delay` a shipment
    arrives with next month's step instead of now; after the last month it does not arrive at all.
    """

    serves_by_number = True

    populations: tuple[int, ...] = (60_000, 35_000, 18_000, 8_000, 3_000, 1_000)
    supplies: tuple[int, ...] = (500, 1_000, 1_500)
    supply_chances: tuple[float, ...] = (0.25, 0.5, 0.25)
    transport_cost: int | tuple[int, ...] = (20, 40, 80, 120, 100, 150)
    delay: float | tuple[float, ...] = (0.05, 0.1, 0.1, 0.2, 0.3, 0.3)
    horizon: int = 36

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        countries = as_float64(self.populations, "populations").size
        supplies = as_float64(self.supplies, "supplies").size
        if not countries or not supplies:
            raise UnequalLengths("there must be at least one of populations and of supplies.")
        chances = as_float64(self.supply_chances, "supply_chances")
        if chances.shape != (supplies,):
            raise UnequalLengths(
                f"there are {chances.size} supply_chances for {supplies} supplies: give one each."
            )
        if chances.min() < 0 or abs(chances.sum() - 1.0) > 1e-9:
            raise BadParameter(
                f"supply_chances sum to {chances.sum():g} or hold a negative one: they must be at "
                "least 0 and sum to 1."
            )
        set_field = object.__setattr__
        set_field(self, "supply_chances", tuple(chances.tolist()))
        set_field(self, "populations", _whole(self.populations, countries, "populations", 1))
        set_field(self, "supplies", _whole(self.supplies, supplies, "supplies", 0))
        set_field(self, "transport_cost", _whole(self.transport_cost, countries, "transport_cost"))
        set_field(self, "delay", one_each(self.delay, countries, "delay", 0.0, 1.0))

    @property
    def num_stakeholders(self) -> int:
        return len(self.populations)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    @property
    def entitlements(self) -> tuple[float, ...]:
        return tuple(float(people) for people in self.populations)

    def start(self) -> Pipeline:
        nothing = jnp.zeros(self.num_stakeholders, dtype=jnp.int32)
        return Pipeline(nothing, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """This month's supply."""
        supplies, chances = self.noises()
        return jax.random.choice(key, supplies, p=chances)

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.asarray(self.supplies, dtype=jnp.int32), jnp.asarray(self.supply_chances)

    def outcomes(self, world: Pipeline, noise: jax.Array, action: Any) -> Outcomes[Pipeline]:
        """On time or a month late. What was on its way before arrives in both cases."""
        late = jnp.asarray(self.delay)[action]
        in_transit = jnp.stack((jnp.zeros_like(world.in_transit), self._shipment(noise, action)))
        time = jnp.broadcast_to(world.time + 1, (2,))
        return Outcomes(jnp.stack((1.0 - late, late)), Pipeline(in_transit, time))

    def rewards(
        self, state: State[Pipeline, jax.Array], action: Any, world: Pipeline
    ) -> Float[Array, " stakeholder"]:
        """Doses that arrived: what was on its way and what was sent, less what still is."""
        sent = self._shipment(state.noise, action)
        return (state.world.in_transit + sent - world.in_transit).astype(float)

    def observation(self, state: State[Pipeline, jax.Array]) -> Float[Array, " feature"]:
        """The supply and what is on its way to each country, relative to the largest supply."""
        amounts = jnp.concatenate((jnp.atleast_1d(state.noise), state.world.in_transit))
        return amounts / max(*self.supplies, 1)

    def feature_layout(self) -> FeatureLayout:
        countries = range(1, 1 + self.num_stakeholders)
        return FeatureLayout((tuple(countries),), shared=(0,))

    def exchangeable(self) -> Labels:
        own = zip(self.populations, self.transport_cost, self.delay, strict=True)  # type: ignore[arg-type]
        return by_value(own)

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        """Two shipments may arrive in one month: this one, and one that was delayed."""
        return 0.0, 2.0 * max(self.supplies)

    def table_size(self) -> None:
        return None

    def default_scheme(self) -> FairnessScheme:
        return self.same_rate_scheme()

    def same_rate_scheme(self, welfare: Welfare = NegativeVariance()) -> FairnessScheme:
        """COVAX (section 1), all progressing at the same rate: doses per head, at every month.

        Minus the variance is 0 just when all countries have as many doses per head as each other;
        it cannot be had by idling, as every month's supply has to be sent. `Rawls()` instead asks
        only how far the last country has come.
        """
        # As in the paper, where a country is a country, whatever its size.
        status = PerEntitlement(self.populations, weighted=False)
        return anytime(welfare, Total(), status)

    def _shipment(self, supply: jax.Array, action: Any) -> Int[Array, " country"]:
        """The doses that a shipment brings to each country once it arrives."""
        chosen = jnp.arange(self.num_stakeholders) == action
        cost = jnp.asarray(self.transport_cost, dtype=jnp.int32)
        return jnp.where(chosen, jnp.maximum(supply - cost, 0), 0)


def _whole(values: Any, size: int, what: str, least: int = 0) -> tuple[int, ...]:
    numbers = np.asarray(one_each(values, size, what, least, LARGEST))
    for i in np.flatnonzero(numbers != np.round(numbers))[:1]:
        raise BadParameter(
            f"{what} of {i} is {numbers[i]:g}: it must be a whole number (of thousands)."
        )
    return tuple(int(number) for number in numbers)
