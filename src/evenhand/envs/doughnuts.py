"""Section 6.1 (resource allocation): one doughnut per step, for someone who may not be there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import as_float64
from evenhand.envs.environment import (
    MOST_STAKEHOLDERS,
    BestRecipe,
    Environment,
    LearningNumbers,
    Outcomes,
    Recipe,
    State,
    one_each,
    require_count,
    served_or_not,
    subsets,
)
from evenhand.fairness.groups import Labels, by_value
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.trace import Override
from evenhand.fairness.welfare import LogNash
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Shop(NamedTuple):
    """All that endures is the step number: who has had how many is for memory and status."""

    time: Int[Array, ""]


@ENVIRONMENTS.register("doughnuts")
@dataclass(frozen=True)
class Doughnuts(Environment[Shop, jax.Array]):
    """Section 6.1: customer i stands at the counter with probability p_i, drawn before each step.

    The server sees who is present and gives the doughnut to one customer. If that customer is
    absent it is wasted: nobody receives anything, and the reward of the step is `wasted` whatever
    the welfare. With `wasted=None` a waste is a step like any other, as schemes that take no
    overrides need it.

    >>> Doughnuts(num_stakeholders=2, horizon=2, presence=0.5).presence
    (0.5, 0.5)
    """

    options = ("num_stakeholders", "horizon", "presence")
    small = MappingProxyType({"num_stakeholders": 3, "horizon": 12})
    takes_turns = True
    serves_by_number = True

    num_stakeholders: int = 5
    horizon: int = 100
    presence: float | tuple[float, ...] = 0.8
    wasted: float | None = 0.0

    def __post_init__(self) -> None:
        require_count(self.num_stakeholders, "num_stakeholders", MOST_STAKEHOLDERS)
        require_count(self.horizon, "horizon")
        chances = one_each(self.presence, self.num_stakeholders, "presence", 0.0, 1.0)
        object.__setattr__(self, "presence", chances)
        if self.wasted is not None:
            object.__setattr__(self, "wasted", float(as_float64(self.wasted, "wasted")))

    @classmethod
    def for_children(cls) -> Doughnuts:
        """Section 1: 24 doughnuts for 3 children who are always there, so nothing is by chance."""
        return cls(num_stakeholders=3, horizon=24, presence=1.0)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    def start(self) -> Shop:
        return Shop(jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """Who is at the counter."""
        chances = jnp.asarray(self.presence)
        return jax.random.uniform(key, chances.shape) < chances

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return subsets(self.presence)  # type: ignore[arg-type]  # a tuple once built

    def effects(self) -> Int[np.ndarray, "noise action"]:
        return served_or_not(self.noises()[0])

    def outcomes(self, world: Shop, noise: jax.Array, action: Any) -> Outcomes[Shop]:
        """The server's choice has one outcome: chance lies in the presence alone."""
        return Outcomes(jnp.ones(1), Shop(world.time[None] + 1))

    def rewards(
        self, state: State[Shop, jax.Array], action: Any, world: Shop
    ) -> Float[Array, " stakeholder"]:
        return self._served(state, action).astype(float)

    @property
    def may_override(self) -> bool:
        return self.wasted is not None and min(self.presence) < 1.0  # type: ignore[arg-type]

    def override(self, state: State[Shop, jax.Array], action: Any, world: Shop) -> Override:
        """The reward of a wasted doughnut."""
        wasted = ~jnp.any(self._served(state, action)) & (self.wasted is not None)
        return Override(wasted, jnp.asarray(self.wasted or 0.0))

    def observation(self, state: State[Shop, jax.Array]) -> Float[Array, " feature"]:
        return state.noise.astype(float)

    def attributes(self, state: State[Shop, jax.Array]) -> tuple[Attribute, ...]:
        return (Attribute(state.noise, whole=True),)

    def exchangeable(self) -> Labels:
        return by_value(self.presence)  # type: ignore[arg-type]  # a tuple once built

    def present(self, state: State[Shop, jax.Array]) -> Bool[Array, " stakeholder"]:
        return state.noise

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def recipe(self) -> Recipe:
        """The appendix's numbers; `best` is rewarded by the welfare that a step adds.

        That makes a short view enough. There is room for 30 episodes and their 32 imagined others:
        with less, the few doughnuts that exploring wastes are forgotten, and now and then one is
        wasted in earnest.
        """
        best = BestRecipe(
            discount=0.5,
            horizon_terminates=False,
            shaping=True,
            scale=0.5,
            learning=LearningNumbers(1e-3, 100_000, 128),
            halved_after=5_000,
            updates_per_step=1,
            target_rate=0.003,
            exploration_factor=0.9,
            widths=(32, 32),
        )
        return replace(super().recipe(), best=best)

    def default_scheme(self) -> FairnessScheme:
        return self.nash_scheme()

    def nash_scheme(self) -> FairnessScheme:
        """Section 6.1: log Nash(U + 1) of the counts at every step, added up."""
        return anytime(LogNash(), Total())

    def _served(self, state: State[Shop, jax.Array], action: Any) -> Bool[Array, " stakeholder"]:
        # Compared with every index, not looked up: under vmap a look-up is a gather, and rollouts
        # are a tenth slower with it.
        return state.noise & (jnp.arange(self.num_stakeholders) == action)
