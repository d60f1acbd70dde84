"""The fair taxi of Fan, Peng, Tian and Fain (2023): one taxi, and origins that wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.envs.environment import Environment, Outcomes, State, require_count
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Final
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import GeometricMean
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

Cell = tuple[int, int]  # row and column, from 0

MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))  # actions 0 to 3: down, up, right, left
PICK, DROP = 4, 5
LARGEST_MAP = 1000  # rows or columns


class Ride(NamedTuple):
    """Where the taxi is, and the number of the origin its passenger is from; −1 when empty."""

    at: Int[Array, " 2"]
    passenger: Int[Array, ""]
    time: Int[Array, ""]


@ENVIRONMENTS.register("taxi")
@dataclass(frozen=True)
class FairTaxi(Environment[Ride, jax.Array]):
    """A grid on which one taxi drives passengers of several origins, each to its own destination.

    It has room for one passenger and begins empty, anywhere with equal chance. A move stops at the
    wall. A passenger always waits at every origin. To deliver pays the passenger's origin `fare`.
    To pick where nobody waits or the taxi is full, and to drop where it is empty or not at the
    passenger's destination, pays every origin `-penalty`; a wrong drop loses the passenger.

    Args:
        origins: The cells where passengers wait, one per stakeholder.
        destinations: The cell that each of them wants to go to.
        size: Rows and columns of the grid.
        horizon: T, the number of decisions.
        fare: What a delivery pays.
        penalty: What a wrong pick or drop costs everybody.

    >>> FairTaxi(horizon=50).num_actions
    6
    """

    options = ("horizon",)
    small = MappingProxyType(
        {"origins": ((0, 0), (0, 2)), "destinations": ((0, 1), (2, 2)), "size": (3, 3)}
    )

    origins: tuple[Cell, ...] = ((0, 0), (0, 5), (3, 2))
    destinations: tuple[Cell, ...] = ((0, 4), (5, 0), (3, 3))
    size: tuple[int, int] = (6, 6)
    horizon: int = 50
    fare: float = 30.0
    penalty: float = 10.0

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        size = _whole_pair(self.size, "size")
        for length in size:
            require_count(length, "size", LARGEST_MAP)
        set_field = object.__setattr__
        set_field(self, "size", size)
        for name in ("origins", "destinations"):
            cells = tuple(_whole_pair(cell, f"a cell of {name}") for cell in getattr(self, name))
            for cell in cells:
                if not (0 <= cell[0] < size[0] and 0 <= cell[1] < size[1]):
                    raise BadParameter(
                        f"{name} has the cell {cell}, which is not on a grid of {size[0]} by "
                        f"{size[1]}: rows and columns are numbered from 0."
                    )
            set_field(self, name, cells)
        if not self.origins or len(self.origins) != len(self.destinations):
            raise UnequalLengths(
                f"there are {len(self.origins)} origins and {len(self.destinations)} "
                "destinations: give each origin one destination."
            )
        if len(set(self.origins)) < len(self.origins):
            raise BadParameter("two origins are one cell: who is picked up there is not said.")
        for name in ("fare", "penalty"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and np.isfinite(value) and value >= 0):
                raise BadParameter(f"{name} is {value!r}: it must be a number of at least 0.")
            set_field(self, name, float(value))

    @property
    def num_stakeholders(self) -> int:
        return len(self.origins)

    @property
    def num_actions(self) -> int:
        return len(MOVES) + 2

    def start(self) -> Ride:
        worlds, _ = self.starts()
        return jax.tree.map(lambda leaf: leaf[0], worlds)

    def starts(self) -> tuple[Ride, Float[Array, " start"]]:
        """Empty, in any cell."""
        rows, columns = self.size
        cells = jnp.stack(jnp.divmod(jnp.arange(rows * columns, dtype=jnp.int32), columns), axis=1)
        number = cells.shape[0]
        zero = jnp.zeros(number, dtype=jnp.int32)
        return Ride(cells.astype(jnp.int32), zero - 1, zero), jnp.full(number, 1.0 / number)

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """Chance lies in the start alone."""
        return jnp.zeros(0)

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.zeros((1, 0)), jnp.ones(1)

    def outcomes(self, world: Ride, noise: jax.Array, action: Any) -> Outcomes[Ride]:
        waiting = self._look(world, action)[0]
        moves = jnp.asarray((*MOVES, (0, 0), (0, 0)), dtype=jnp.int32)
        wall = jnp.asarray(self.size, dtype=jnp.int32) - 1
        at = jnp.clip(world.at + moves[action], 0, wall)
        picked = jnp.where(jnp.any(waiting), jnp.argmax(waiting), -1).astype(jnp.int32)
        passenger = jnp.where(action == DROP, -1, world.passenger)
        passenger = jnp.where((action == PICK) & (world.passenger < 0), picked, passenger)
        after = Ride(at, passenger, world.time + 1)
        return Outcomes(jnp.ones(1), jax.tree.map(lambda leaf: leaf[None], after))

    def rewards(
        self, state: State[Ride, jax.Array], action: Any, world: Ride
    ) -> Float[Array, " stakeholder"]:
        _, arrived, wrong = self._look(state.world, action)
        return self.fare * arrived - self.penalty * wrong

    def observation(self, state: State[Ride, jax.Array]) -> Float[Array, " feature"]:
        """Row and column, each as one of so many, and who is in the taxi."""
        return jnp.concatenate([part.values for part in self.attributes(state)])

    def attributes(self, state: State[Ride, jax.Array]) -> tuple[Attribute, ...]:
        world = state.world
        parts = (
            world.at[0] == np.arange(self.size[0]),
            world.at[1] == np.arange(self.size[1]),
            world.passenger == np.arange(self.num_stakeholders),
        )
        return tuple(Attribute(part.astype(float)) for part in parts)

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return -self.penalty, self.fare

    def table_size(self) -> None:
        return None

    def default_scheme(self) -> FairnessScheme:
        """The geometric mean of the returns at the end."""
        return FairnessScheme(Returns(), TimepointFirst(GeometricMean(), Total()), Final())

    def _look(self, world: Ride, action: Any) -> tuple[Any, Any, Any]:
        """At which origins the taxi is, whose passenger it delivers, and whether it is wrong."""
        waiting = jnp.all(world.at == jnp.asarray(self.origins), axis=-1)
        there = jnp.all(world.at == jnp.asarray(self.destinations), axis=-1)
        carried = jnp.arange(self.num_stakeholders) == world.passenger
        arrived = there & carried & (action == DROP)
        picks = (action == PICK) & ((world.passenger >= 0) | ~jnp.any(waiting))
        drops = (action == DROP) & ~jnp.any(arrived)
        return waiting, arrived, picks | drops


def _whole_pair(value: Any, what: str) -> tuple[int, int]:
    try:
        first, second = value
        if first == int(first) and second == int(second):
            return int(first), int(second)
    except (TypeError, ValueError, OverflowError):
        pass
    raise BadParameter(f"{what} is {value!r}: it must be two whole numbers, row and column.")
