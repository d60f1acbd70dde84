"""Fish wood, of MO-Gymnasium (after Roijers, Steckelmacher and Nowé, 2018), written to be planned.

Where one is decides what may be found there; the action decides where one is next.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.envs.environment import Environment, Outcomes, State, one_each, require_count
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

FISHING, WOODS = 0, 1  # places, the actions that go there, and those who receive what is found


class Whereabouts(NamedTuple):
    """Where one is, and whether something was found by the step that led here."""

    place: Int[Array, ""]
    found: Bool[Array, ""]
    time: Int[Array, ""]


@ENVIRONMENTS.register("fish_wood")
@dataclass(frozen=True)
class FishWood(Environment[Whereabouts, jax.Array]):
    """One who fishes or collects wood: at each step something is found where one is, or nothing.

    Action 0 goes fishing and action 1 to the woods, from the next step on. A step at the water
    brings stakeholder 0 a fish with chance `fish`, one in the woods brings stakeholder 1 wood with
    chance `wood`. It begins in the woods.

    >>> FishWood(horizon=10).num_stakeholders
    2
    """

    options = ("horizon",)
    small = MappingProxyType({"horizon": 12})

    fish: float = 0.1
    wood: float = 0.9
    horizon: int = 200

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        for name in ("fish", "wood"):
            (value,) = one_each(getattr(self, name), 1, name, 0.0, 1.0)
            object.__setattr__(self, name, value)

    @property
    def num_stakeholders(self) -> int:
        return 2

    @property
    def num_actions(self) -> int:
        return 2

    def start(self) -> Whereabouts:
        zero = jnp.zeros((), dtype=jnp.int32)
        return Whereabouts(zero + WOODS, jnp.zeros((), dtype=bool), zero)

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """Nothing is seen but the place: chance follows the action."""
        return jnp.zeros(0)

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.zeros((1, 0)), jnp.ones(1)

    def outcomes(self, world: Whereabouts, noise: jax.Array, action: Any) -> Outcomes[Whereabouts]:
        chance = jnp.where(world.place == FISHING, self.fish, self.wood)
        place = jnp.broadcast_to(jnp.asarray(action, dtype=jnp.int32), (2,))
        time = jnp.broadcast_to(world.time + 1, (2,))
        after = Whereabouts(place, jnp.asarray([True, False]), time)
        return Outcomes(jnp.stack([chance, 1.0 - chance]), after)

    def rewards(
        self, state: State[Whereabouts, jax.Array], action: Any, world: Whereabouts
    ) -> Float[Array, " stakeholder"]:
        """1 to whom the place belongs, where something was found."""
        return ((jnp.arange(2) == state.world.place) & world.found).astype(float)

    def observation(self, state: State[Whereabouts, jax.Array]) -> Float[Array, " feature"]:
        return state.world.place[None].astype(float)

    def attributes(self, state: State[Whereabouts, jax.Array]) -> tuple[Attribute, ...]:
        return (Attribute(state.world.place[None].astype(float)),)

    def default_scheme(self) -> FairnessScheme:
        """Whichever of fish and wood there is less of, at every step, added up.

        Under log-Nash acting at random is all but optimal: it likes even times, and not even finds.
        """
        return anytime(Rawls(), Total())

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0
