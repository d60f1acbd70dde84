"""A deadline: jobs that come again and again, and are worth nothing unless done in time."""

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
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

LONGEST = 1_000_000  # steps of a period


class Workshop(NamedTuple):
    """The work done on each user's present job, how many steps it has until it is due, the step."""

    work: Int[Array, " user"]
    left: Int[Array, " user"]
    time: Int[Array, ""]


@ENVIRONMENTS.register("jobs")
@dataclass(frozen=True)
class Jobs(Environment[Workshop, jax.Array]):
    """A deadline: users share one machine, and each has a job that must be done in time.

    User i has a new job at every `periods`[i]-th step, which takes `work`[i] steps of the machine
    and is due when the next one comes: then what was done of it is lost. A user receives 1 for
    each job that is done in time. Before each step it is seen whether the machine runs (with the
    chance of `uptime`); the action says for whom. A job that cannot be done in time any more is
    not worked on. There is too much work for all: looking ahead, one leaves out jobs by turns.

    Args:
        periods: After how many steps each user's next job comes.
        work: How many steps of the machine a job of each takes, at most its period.
        uptime: The chance that the machine runs in a step.
        horizon: T.
    """

    serves_by_number = True

    periods: tuple[int, ...] = (3, 4, 6)
    work: tuple[int, ...] = (2, 2, 3)
    uptime: float = 0.8
    horizon: int = 12

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        size = as_float64(self.periods, "periods").size
        if not size:
            raise UnequalLengths("periods is empty: there must be at least one user.")
        for name in ("periods", "work"):
            values = one_each(getattr(self, name), size, name, 1, LONGEST)
            if any(value != int(value) for value in values):
                raise BadParameter(f"{name} is {getattr(self, name)}: steps are whole numbers.")
            object.__setattr__(self, name, tuple(int(value) for value in values))
        for i, (period, work) in enumerate(zip(self.periods, self.work, strict=True)):
            if work > period:
                raise BadParameter(
                    f"a job of {i} takes {work} steps and is due after {period}: it can never be "
                    "done; give it less work, or a longer period."
                )
        object.__setattr__(self, "uptime", one_each(self.uptime, 1, "uptime", 0.0, 1.0)[0])

    @property
    def num_stakeholders(self) -> int:
        return len(self.periods)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    def start(self) -> Workshop:
        none = jnp.zeros(self.num_stakeholders, dtype=jnp.int32)
        left = jnp.asarray(self.periods, dtype=jnp.int32)
        return Workshop(none, left, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """Whether the machine runs."""
        return jax.random.uniform(key) < self.uptime

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.asarray([True, False]), jnp.asarray([self.uptime, 1.0 - self.uptime])

    def effects(self) -> Int[np.ndarray, "noise action"]:
        """While the machine stands still, all choices are the same."""
        size = self.num_stakeholders
        return np.stack((np.arange(size), np.full(size, size)))

    def outcomes(self, world: Workshop, noise: jax.Array, action: Any) -> Outcomes[Workshop]:
        """One outcome: chance lies in the machine alone."""
        due = world.left == 1
        work = jnp.where(due, 0, self._worked(State(world, noise), action))
        left = jnp.where(due, jnp.asarray(self.periods), world.left - 1)
        after = Workshop(
            work.astype(world.work.dtype), left.astype(world.left.dtype), world.time + 1
        )
        return Outcomes(jnp.ones(1), jax.tree.map(lambda leaf: leaf[None], after))

    def rewards(
        self, state: State[Workshop, jax.Array], action: Any, world: Workshop
    ) -> Float[Array, " stakeholder"]:
        """1 for whoever's job is done with this step."""
        worked = self._worked(state, action)
        done = (worked == jnp.asarray(self.work)) & (worked > state.world.work)
        return done.astype(float)

    def present(self, state: State[Workshop, jax.Array]) -> Bool[Array, " stakeholder"]:
        """Whose job can be worked on: the machine runs, and it can still be done in time."""
        missing = jnp.asarray(self.work) - state.world.work
        return state.noise & (missing > 0) & (missing <= state.world.left)

    def observation(self, state: State[Workshop, jax.Array]) -> Float[Array, " feature"]:
        """The share of each job that is left, of its time that is left, and if the machine runs."""
        work = 1.0 - state.world.work / jnp.asarray(self.work)
        time = state.world.left / jnp.asarray(self.periods)
        return jnp.concatenate((work, time, state.noise[None]))

    def feature_layout(self) -> FeatureLayout:
        return FeatureLayout.in_blocks(self.num_stakeholders, features=2, shared=1)

    def exchangeable(self) -> Labels:
        return by_value(zip(self.periods, self.work, strict=True))

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def table_size(self) -> int:
        size = 1
        for period, work in zip(self.periods, self.work, strict=True):
            size *= period * (work + 1) * (self.horizon // period + 1)
        return size

    def _worked(self, state: State[Workshop, jax.Array], action: Any) -> Int[Array, " user"]:
        """The work done on each job after this step, before those that are due are taken away."""
        chosen = jnp.arange(self.num_stakeholders) == action
        return state.world.work + (self.present(state) & chosen)
