"""Section 4 (waiting time as a status): patients of several classes, one treatment per step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import Array, as_float64, namespace
from evenhand.envs.environment import Environment, Outcomes, State, one_each, require_count, subsets
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.groups import Labels, by_value
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.status import StateStatus
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls, Welfare
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, PRNGKeyArray


class Lists(NamedTuple):
    """How many wait in each class, and the two totals that their mean wait is made of.

    Each patient's own wait is not kept. Within a class the one who has waited longest is treated;
    but a step adds one to the total for everyone still waiting, no matter who left, so the queue's
    length determines what the totals become, and so the status.
    """

    queue: Int[Array, " group"]
    waited: Int[Array, " group"]  # steps waited so far, by those waiting and those treated
    patients: Int[Array, " group"]  # all who ever joined the list
    time: Int[Array, ""]


@ENVIRONMENTS.register("waiting_list")
@dataclass(frozen=True)
class WaitingList(Environment[Lists, jax.Array]):
    """Section 4: stakeholders are classes of patients, each with its own arrivals and urgency.

    Before each step a patient of class i arrives with probability `arrivals`[i], which is seen,
    and joins the queue; at a full queue (of `capacity`) the patient is turned away, and is in no
    total: `turned_away` shows them. The action treats the longest-waiting patient of one class,
    perhaps one who has just come and so waits 0 steps; in an empty class there is nobody to treat
    and the step is lost. Then everyone still waiting has waited one step more.
    """

    serves_by_number = True

    arrivals: tuple[float, ...] = (0.4, 0.25, 0.15, 0.1)
    urgencies: float | tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    capacity: int | tuple[int, ...] = 8
    horizon: int = 52

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        size = as_float64(self.arrivals, "arrivals").size
        if not size:
            raise UnequalLengths("arrivals is empty: there must be at least one class of patients.")
        largest = float(np.iinfo(np.int32).max // self.horizon)  # the total wait is an int32
        capacity = one_each(self.capacity, size, "capacity", 1, largest)
        if any(places != int(places) for places in capacity):
            raise BadParameter(f"capacity is {self.capacity}: places are whole numbers.")
        set_field = object.__setattr__
        set_field(self, "arrivals", one_each(self.arrivals, size, "arrivals", 0.0, 1.0))
        set_field(self, "urgencies", one_each(self.urgencies, size, "urgencies", 0.0, np.inf))
        set_field(self, "capacity", tuple(int(places) for places in capacity))

    @property
    def num_stakeholders(self) -> int:
        return len(self.arrivals)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    def start(self) -> Lists:
        none = jnp.zeros(self.num_stakeholders, dtype=jnp.int32)
        return Lists(none, none, none, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """In which classes a patient arrives."""
        chances = jnp.asarray(self.arrivals)
        return jax.random.uniform(key, chances.shape) < chances

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return subsets(self.arrivals)

    def outcomes(self, world: Lists, noise: jax.Array, action: Any) -> Outcomes[Lists]:
        """One outcome: chance lies in the arrivals alone."""
        state = State(world, noise)
        waiting = self.waiting(state)
        queue = waiting - self._treated(waiting, action)
        after = Lists(
            queue,
            world.waited + queue,
            world.patients + (waiting - world.queue),
            world.time + 1,
        )
        return Outcomes(jnp.ones(1), jax.tree.map(lambda leaf: leaf[None], after))

    def rewards(
        self, state: State[Lists, jax.Array], action: Any, world: Lists
    ) -> Float[Array, " stakeholder"]:
        """1 for the class of the patient treated."""
        return self._treated(self.waiting(state), action).astype(float)

    def observation(self, state: State[Lists, jax.Array]) -> Float[Array, " feature"]:
        """How many wait in each class, how many ever came, and the mean wait of these.

        Those just come are counted, with a wait of 0. The more a mean is of, the less a step moves
        it: with that number what is seen says what every choice leads to.
        """
        waiting = self.waiting(state)
        ever = state.world.patients + (waiting - state.world.queue)
        mean = state.world.waited / jnp.maximum(ever, 1)
        return jnp.concatenate((waiting, mean, ever))

    def waiting(self, state: State[Lists, jax.Array]) -> Int[Array, " group"]:
        """How many may be treated: the queues with those who have just arrived."""
        return state.world.queue + (state.noise & ~self.turned_away(state))

    def turned_away(self, state: State[Lists, jax.Array]) -> Bool[Array, " group"]:
        """In which classes the patient who has just arrived finds the queue full."""
        return state.noise & (state.world.queue >= jnp.asarray(self.capacity))

    def negated_mean_wait(self, state: State[Lists, jax.Array]) -> Float[Array, " group"]:
        """Minus the mean wait of those waiting and treated so far; 0 where there are none."""
        waited, patients = state.world.waited, state.world.patients
        xp = namespace(patients)
        # Cast first: whole numbers divided by whole numbers are rounded to float32.
        return -(xp.astype(waited, float) / xp.maximum(patients, 1))

    def urgent_mean_wait(self, state: State[Lists, jax.Array]) -> Float[Array, " group"]:
        """Minus the mean wait times the urgency of the class."""
        waits = self.negated_mean_wait(state)
        return waits * namespace(waits).asarray(self.urgencies, dtype=waits.dtype)

    def feature_layout(self) -> FeatureLayout:
        return FeatureLayout.in_blocks(self.num_stakeholders, features=3)

    def exchangeable(self) -> Labels:
        own = zip(self.arrivals, self.urgencies, self.capacity, strict=True)  # type: ignore[arg-type]
        return by_value(own)

    def present(self, state: State[Lists, jax.Array]) -> Bool[Array, " stakeholder"]:
        return self.waiting(state) > 0

    def bounds(self) -> tuple[float, list[float]]:
        """Who waits, for how long on average, and how many there ever were."""
        places = [float(most) + 1.0 for most in self.capacity]  # type: ignore[union-attr]
        longest, most_ever = float(self.horizon), float(self.horizon) + 1.0
        size = self.num_stakeholders
        return 0.0, [*places, *[longest] * size, *[most_ever] * size]

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def table_size(self) -> None:
        return None

    def default_scheme(self) -> FairnessScheme:
        return self.waiting_scheme()

    def waiting_scheme(self, welfare: Welfare = Rawls()) -> FairnessScheme:
        """The mean wait of the class that waits longest, at every step: nobody is left behind."""
        return anytime(welfare, Total(), StateStatus(self.negated_mean_wait))

    def urgency_scheme(self, welfare: Welfare = Rawls()) -> FairnessScheme:
        """The same with waits weighed by urgency: a step costs an urgent patient more."""
        return anytime(welfare, Total(), StateStatus(self.urgent_mean_wait))

    def _treated(self, waiting: Int[Array, " group"], action: Any) -> Bool[Array, " group"]:
        return (waiting > 0) & (jnp.arange(self.num_stakeholders) == action)
