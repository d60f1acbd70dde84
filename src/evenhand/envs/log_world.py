"""A world made from a log: its rows resampled in blocks, its supply given out anew."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import Array
from evenhand._util.wording import short_repr
from evenhand.envs.environment import Environment, Outcomes, State, require_count
from evenhand.errors import BadParameter, TooLarge, argument
from evenhand.fairness.filters import FILTERS, Filter
from evenhand.fairness.groups import Labels, by_value
from evenhand.fairness.scheme import FairnessScheme, from_toml
from evenhand.fairness.status import STATUSES, PerEntitlement, Returns, Status
from evenhand.fairness.trace import Step
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Attribute, Full, Memory, OfStatus
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, PRNGKeyArray


# The rows of a log as an environment has them: lots in order of time, in blocks.

# What learning can take. A table of time points and stakeholders is a constant of the compiled
# loop, and the values of each are asked at each step.
MOST_STAKEHOLDERS_LEARNED = 200
MOST_LOTS = 50_000
MOST_CELLS = 2_000_000  # time points times stakeholders


class LogTables(NamedTuple):
    """The same as arrays, with what follows from them."""

    lots: Float[np.ndarray, " row"]
    slots: Int[np.ndarray, " row"]
    phases: Int[np.ndarray, " slot"]
    begins_slot: Bool[np.ndarray, " row"]
    ends_block: Bool[np.ndarray, " row"]
    assessed_rows: Bool[np.ndarray, " row"]  # the last of each time point that is assessed
    asks: Float[np.ndarray, "slot stakeholder"]  # for how much is asked at each time point
    mean_lot: float
    lots_differ: bool


@dataclass(frozen=True, kw_only=True)
class LogRows:
    """Lots in order of time, and what is known of each time point and stakeholder.

    Args:
        names: The stakeholders.
        lots: The amount of each lot; 0 for a time point at which nothing was given out.
        slots: The time point of each lot, counted from 0.
        blocks: The first lot of each block.
        phases: The part of a block in which each time point lies, such as the day of the week.
        num_phases: How many parts a block has.
        assessed: Whether each time point is assessed.
        by_request: Whether only those are eligible who asked for more than they received.
        requests: Who asked for how much: triples of a time point, a stakeholder and an amount.
        stays: The first and last time point at which each stakeholder is there; nothing: all are,
            always.
        origin: The moment at which the first block begins, as a number.
        block: How long a block is, in the unit of moments as numbers.
        plain_numbers: Whether moments are plain numbers, and not dates in microseconds.
        last: The last moment that the rows are from, as a number.
    """

    names: tuple[str, ...]
    lots: tuple[float, ...]
    slots: tuple[int, ...]
    blocks: tuple[int, ...]
    phases: tuple[int, ...]
    num_phases: int
    assessed: tuple[bool, ...]
    by_request: bool = False
    requests: tuple[tuple[int, int, float], ...] = ()
    stays: tuple[tuple[int, int], ...] = ()
    origin: float = 0.0
    block: float = 1.0
    plain_numbers: bool = True
    last: float = 0.0

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        if not isinstance(self.names, Sequence) or not all(
            isinstance(name, str) for name in self.names
        ):
            raise BadParameter(f"names is {short_repr(self.names)}: it must be texts.")
        set_field(self, "names", tuple(self.names))
        for name, kind in (("lots", float), ("slots", int), ("blocks", int), ("phases", int)):
            set_field(self, name, _numbers(getattr(self, name), kind, name))
        set_field(self, "assessed", tuple(map(bool, _numbers(self.assessed, int, "assessed"))))
        set_field(self, "requests", _rows(self.requests, 3, "requests"))
        set_field(self, "stays", tuple((int(a), int(b)) for a, b in _rows(self.stays, 2, "stays")))
        numbers = (self.origin, self.block, self.num_phases, self.last)
        _numbers(numbers, float, "origin, block, num_phases and last")
        require_learnable(len(self.names), len(self.lots), len(self.phases))
        self._require_fit()

    def _require_fit(self) -> None:
        """Refuse parts that do not fit together, as in a file that was tampered with."""
        slots, lots = np.asarray(self.slots), np.asarray(self.lots)
        starts = np.asarray(self.blocks)
        number = len(self.phases)
        steps = np.diff(slots, prepend=-1)
        wrong = {
            "names": len(set(self.names)) != len(self.names),
            "lots": bool((lots < 0).any()),
            "slots": len(slots) != len(lots) or not np.isin(steps, (0, 1)).all() or steps[0] != 1,
            "phases": number != slots[-1] + 1
            or not all(0 <= phase < self.num_phases for phase in self.phases),
            "assessed": len(self.assessed) != number,
            "blocks": not len(starts)
            or starts[0] != 0
            or not (np.diff(starts) > 0).all()
            or starts[-1] >= len(lots)
            or not (steps[starts] == 1).all(),
            "requests": not all(
                0 <= slot < number and 0 <= who < len(self.names) and amount > 0
                for slot, who, amount in self.requests
            ),
            "stays": bool(self.stays) and len(self.stays) != len(self.names),
            "block": not self.block > 0,
        }
        for name, holds in wrong.items():
            if holds:
                raise BadParameter(f"{name} does not fit the other parts of this world.")

    @cached_property
    def tables(self) -> LogTables:
        slots, lots = np.asarray(self.slots, np.int32), np.asarray(self.lots, np.float32)
        begins = np.diff(slots, prepend=-1) == 1
        ends_slot = np.append(begins[1:], True)
        ends_block = np.zeros(len(slots), dtype=bool)
        ends_block[[*(start - 1 for start in self.blocks[1:]), len(slots) - 1]] = True
        asks = np.zeros((len(self.phases) if self.by_request else 0, len(self.names)), np.float32)
        for slot, who, amount in self.requests:
            asks[int(slot), int(who)] += amount
        given = lots[lots > 0]
        return LogTables(
            lots,
            slots,
            np.asarray(self.phases, np.int32),
            begins,
            ends_block,
            ends_slot & np.asarray(self.assessed)[slots],
            asks,
            float(given.mean()) if len(given) else 1.0,
            bool(len(given)) and bool((lots != lots[0]).any()),
        )

    def assessed_ahead(self, discount: float) -> Float[np.ndarray, " row"]:
        """The discounted number of assessments from each row on, of an episode without end.

        Within a block it is known what comes; behind it a block begins that is drawn.
        """
        table, starts = self.tables, list(self.blocks)
        ahead = np.zeros(len(self.lots))
        one = np.ones(len(self.lots))  # what 1 at the end of the block is worth at each row
        for row in range(len(self.lots) - 1, -1, -1):
            last = table.ends_block[row]
            ahead[row] = table.assessed_rows[row] + (0.0 if last else discount * ahead[row + 1])
            one[row] = discount * (1.0 if last else one[row + 1])
        new_block = ahead[starts].mean() / (1.0 - one[starts].mean())
        return ahead + one * new_block

    def phase_at(self, moment: float) -> int:
        """The part of a block in which a moment lies, also one that the world was not made of."""
        share = ((moment - self.origin) / self.block) % 1.0
        return min(int(share * self.num_phases + 1e-9), self.num_phases - 1)


def require_learnable(stakeholders: int, lots: int, time_points: int) -> None:
    """Refuse a log that is larger than learning can take, before anything is made of it."""
    limits = (
        ("stakeholders", stakeholders, MOST_STAKEHOLDERS_LEARNED),
        ("lots", lots, MOST_LOTS),
        ("time points times stakeholders", time_points * stakeholders, MOST_CELLS),
    )
    for what, number, most in limits:
        if number > most:
            raise TooLarge(
                f"the log has {number:,} {what}, and a policy is learned from at most {most:,}: "
                f"take fewer of them ({argument('only')}, {argument('where')}, "
                f"{argument('since')}), or a coarser log."
            )
    if not stakeholders or not lots:
        raise BadParameter("a world needs stakeholders and lots to give out.")


def _numbers(values: Any, kind: type, what: str) -> tuple[Any, ...]:
    """Finite numbers as a tuple of one kind."""
    try:
        found = tuple(kind(value) for value in values)
        good = all(np.isfinite(found)) and all(
            one == value for one, value in zip(found, values, strict=True)
        )
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise BadParameter(f"{what} is {short_repr(values)}: it must be numbers.")
    return found


def _rows(values: Any, width: int, what: str) -> tuple[tuple[Any, ...], ...]:
    """Rows of so many finite numbers each."""
    try:
        rows = tuple(tuple(row) for row in values)
    except TypeError:
        rows = ((),)
    if any(len(row) != width for row in rows):
        raise BadParameter(f"{what} is {short_repr(values)}: it must be rows of {width} numbers.")
    _numbers(list(itertools.chain.from_iterable(rows)), float, what)
    return rows


# Decision 19: the days of a log as an environment: supply and requests, resampled in blocks.
#
# The rows of a log are its lots in order of time, the largest of a time point first; a block is a
# run of them, such as a week. An episode is a sequence of blocks, each drawn with equal chances
# whenever the one before has come to its end (the block bootstrap), so that what belongs together
# within a block stays together: which lots come on which day, and who asks when.
#
# Each decision gives one lot to one stakeholder, by the rules of a replay: a lot goes to somebody
# who is there and wants it whole; where nobody does it is split; what nobody wants is left over.
# All that is there is given out: to choose somebody who cannot take the lot is to choose the next
# who can.

ROUNDING = 1e-5  # of an amount: sums of float32 do not come out even
MOST_TO_PLAN = 200  # time points times blocks times stakeholders, beyond which planning is hopeless


class Position(NamedTuple):
    """Where an episode stands in the rows of the log."""

    row: Int[Array, ""]  # the lot to be given; −1 where a new block begins
    left: Float[Array, ""]  # of a lot that was split; 0 where it is whole
    asked: Float[Array, " stakeholder"]  # for how much each has asked, where requests are known
    wanted: Float[Array, " stakeholder"]  # how much of that it has not received
    assessed: Bool[Array, ""]  # whether the step that led here ended an assessed time point
    time: Int[Array, ""]


class Situation(NamedTuple):
    """What there is to decide, as whoever decides sees it."""

    amount: Float[Array, ""]  # of the lot
    eligible: Bool[Array, " stakeholder"]  # who may be given it
    wanted: Float[Array, " stakeholder"]  # how much each still wants, where requests are known
    phase: Int[Array, ""]  # the part of the block, such as the day of the week


def _position(part: Any, step: Step) -> Position:
    """Where a step led, for a part of a scheme that makes sense in such a world alone."""
    world = getattr(step.next_state, "world", None)
    if not isinstance(world, Position):
        raise _of_logs_alone(part)
    return world


def _rows_of(part: Any, environment: Any) -> LogRows:
    """The rows of a world that is made from a log."""
    if not isinstance(environment, LogRows):
        raise _of_logs_alone(part)
    return environment


def _of_logs_alone(part: Any) -> BadParameter:
    return BadParameter(
        f"{type(part).__name__} is for worlds that are made from logs, whose states it looks "
        "at: choose another."
    )


@FILTERS.register("time_point_ends")
@dataclass(frozen=True)
class TimePointEnds(Filter[tuple[()]]):
    """Of a world made from a log: after the last lot of each time point that is assessed there."""

    symmetric = True

    def init(self) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], step: Step) -> tuple[tuple[()], Bool[Array, ""]]:
        return state, _position(self, step).assessed

    def assessments_ahead(self, environment: Any, state: Any, discount: float) -> Any:
        ahead = _rows_of(self, environment).assessed_ahead(discount)
        return jnp.asarray(ahead, dtype=jnp.float32)[environment.row(state)]

    def usual_assessments_ahead(self, environment: Any, discount: float) -> float:
        return float(_rows_of(self, environment).assessed_ahead(discount).mean())

    def describe(self) -> str:
        return "after the last lot of each time point that is assessed in the log"


@STATUSES.register("unmet")
@dataclass(frozen=True)
class Unmet(Status[Array]):
    """Of a world made from a log: minus what each has asked for and not received yet."""

    symmetric = True

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros(num_stakeholders)

    def update(self, state: Array, step: Step) -> Array:
        wanted = _position(self, step).wanted
        if wanted.shape != state.shape:
            raise BadParameter("this world has no requests, and so nothing that is not met.")
        return -wanted

    def value(self, state: Array) -> Float[Array, " status"]:
        return state

    def describe(self) -> str:
        return "minus what it has asked for and not received yet"


@ENVIRONMENTS.register("log_world")
@dataclass(frozen=True, kw_only=True)
class LogWorld(LogRows, Environment[Position, Any]):
    """The days of a log, resampled in blocks: made by `evenhand train LOG`.

    Args:
        horizon: How many decisions an episode has.
        scheme: How it is judged, as a scheme file has it.

    The others are those of `LogRows`.
    """

    serves_by_number = True
    certain_outcomes = True
    goes_on = True  # as the log does

    scheme: str
    horizon: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count(self.horizon, "horizon")
        _ = self._scheme  # which is refused here if it is none

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept: the tables are long, and a compiled function is looked up by it."""
        return hash((self.names, self.lots, self.slots, self.blocks, self.horizon, self.scheme))

    @cached_property
    def _scheme(self) -> FairnessScheme:
        return from_toml(self.scheme)

    @property
    def num_stakeholders(self) -> int:
        return len(self.names)

    @property
    def num_actions(self) -> int:
        return len(self.names)

    def start(self) -> Position:
        size = self.num_stakeholders if self.by_request else 0
        nothing = jnp.zeros(size)
        none = jnp.zeros((), dtype=jnp.int32)
        return Position(none - 1, jnp.zeros(()), nothing, nothing, jnp.zeros((), bool), none)

    def draw(self, key: PRNGKeyArray) -> Int[Array, ""]:
        """The block that begins, if one begins: looked at nowhere else."""
        return jax.random.randint(key, (), 0, len(self.blocks), dtype=jnp.int32)

    def noises(self) -> tuple[Int[Array, " block"], Float[Array, " block"]] | None:
        number = len(self.blocks)
        if len(self.phases) * number * self.num_stakeholders > MOST_TO_PLAN:
            return None
        return jnp.arange(number, dtype=jnp.int32), jnp.full(number, 1.0 / number)

    def situation(self, state: State[Position, Any]) -> Situation:
        """What there is to decide. Where the noise is a situation itself, it is that one: a log
        that is replayed says it from outside.
        """
        if isinstance(state.noise, Situation):
            return state.noise
        world, table = state.world, self.tables
        row = self.row(state)
        slot = jnp.asarray(table.slots)[row]
        amount = jnp.where(world.left > 0, world.left, jnp.asarray(table.lots)[row])
        wanted = world.wanted + self._newly_asked(world, row, slot)
        eligible = self._there(slot) & (amount > 0)
        if self.by_request:
            some = wanted > ROUNDING
            whole = some & (wanted >= amount * (1.0 - ROUNDING))
            eligible = eligible & jnp.where(jnp.any(eligible & whole), whole, some)
        return Situation(amount, eligible, wanted, jnp.asarray(table.phases)[slot])

    def outcomes(self, world: Position, noise: Any, action: Any) -> Outcomes[Position]:
        """One outcome: chance lies in which block begins."""
        state = State(world, noise)
        now = self.situation(state)
        given = self._given(now, action)
        wanted = now.wanted - given if self.by_request else world.wanted
        after = world._replace(wanted=wanted, time=world.time + 1)
        if not isinstance(noise, Situation):
            after = self._moved(state, now, after)
        return Outcomes(jnp.ones(1), jax.tree.map(lambda leaf: leaf[None], after))

    def _moved(self, state: State[Position, Any], now: Situation, after: Position) -> Position:
        """The position behind a lot, or before what is left of it."""
        world, table = state.world, self.tables
        row = self.row(state)
        slot = jnp.asarray(table.slots)[row]
        asked = world.asked + self._newly_asked(world, row, slot)
        rest = jnp.zeros(())
        if self.by_request:
            taken = jnp.sum(now.wanted - after.wanted)
            rest = now.amount - taken
            wanting = jnp.any(self._there(slot) & (after.wanted > ROUNDING))
            rest = jnp.where((rest > ROUNDING * now.amount) & wanting, rest, 0.0)
        done = rest == 0
        following = jnp.where(jnp.asarray(table.ends_block)[row], -1, row + 1)
        return after._replace(
            row=jnp.where(done, following, row).astype(jnp.int32),
            left=rest,
            asked=asked,
            assessed=done & jnp.asarray(table.assessed_rows)[row],
        )

    def rewards(
        self, state: State[Position, Any], action: Any, world: Position
    ) -> Float[Array, " stakeholder"]:
        return self._given(self.situation(state), action)

    def _given(self, now: Situation, action: Any) -> Float[Array, " stakeholder"]:
        """What each is given: the lot, or as much of it as is wanted, to one who is eligible."""
        size = self.num_stakeholders
        places = jnp.arange(size)
        after_chosen = jnp.where(now.eligible, (places - action) % size, size)
        served = now.eligible & (places == jnp.argmin(after_chosen))
        amount = jnp.minimum(now.amount, now.wanted) if self.by_request else now.amount
        return jnp.where(served, amount, 0.0)

    def row(self, state: State[Position, Any]) -> Int[Array, ""]:
        """Which lot is to be given: the next of the block, or the first of a new one."""
        first = jnp.asarray(self.blocks, dtype=jnp.int32)[state.noise]
        return jnp.where(state.world.row < 0, first, state.world.row)

    def _newly_asked(self, world: Position, row: Any, slot: Any) -> Float[Array, " stakeholder"]:
        """What is asked for at a time point, once it has come to its first lot."""
        if not self.by_request:
            return world.wanted
        arrives = jnp.asarray(self.tables.begins_slot)[row] & (world.left == 0)
        return jnp.where(arrives, jnp.asarray(self.tables.asks)[slot], 0.0)

    def _there(self, slot: Any) -> Bool[Array, " stakeholder"]:
        if not self.stays:
            return jnp.ones(self.num_stakeholders, dtype=bool)
        first, last = jnp.asarray(self.stays).T
        return (slot >= first) & (slot <= last)

    def present(self, state: State[Position, Any]) -> Bool[Array, " stakeholder"]:
        return self.situation(state).eligible

    def observation(self, state: State[Position, Any]) -> Float[Array, " feature"]:
        parts = (jnp.ravel(part.values) for part in self.attributes(state))
        return jnp.concatenate([part.astype(float) for part in parts])

    def attributes(self, state: State[Position, Any]) -> tuple[Attribute, ...]:
        """Who may be served, and what else differs from one time to another."""
        now, table = self.situation(state), self.tables
        parts = [Attribute(now.eligible, whole=True)]
        if self.by_request:
            parts.append(Attribute(jnp.log1p(now.wanted / table.mean_lot), 0.0, 10.0))
        if table.lots_differ:
            parts.append(Attribute((now.amount / table.mean_lot)[None], shared=True))
        if self.num_phases > 1:
            phase = jnp.arange(self.num_phases) == now.phase
            parts.append(Attribute(phase, whole=True, shared=True))
        return tuple(parts)

    def feature_layout(self) -> FeatureLayout:
        phases = self.num_phases if self.num_phases > 1 else 0
        return FeatureLayout.in_blocks(
            self.num_stakeholders, 1 + self.by_request, self.tables.lots_differ + phases
        )

    def bounds(self) -> tuple[float, float]:
        return 0.0, np.inf

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, max(self.lots)

    def exchangeable(self) -> Labels:
        """Those who ask for the same at the same times and are there at the same times."""
        asks = self.tables.asks.T.tolist() if self.by_request else [()] * len(self.names)
        stays = self.stays or ((),) * len(self.names)
        own = zip(map(tuple, asks), stays, strict=True)
        labels = by_value(own)
        entitled = self._scheme.status.exchangeable(len(self.names))
        return by_value(zip(labels, entitled, strict=True))

    @property
    def entitlements(self) -> tuple[float, ...]:
        status = self._scheme.status
        if isinstance(status, PerEntitlement) and status.per_stakeholder:
            return status.entitlements
        return super().entitlements

    def table_size(self) -> None:
        return None

    def default_scheme(self) -> FairnessScheme:
        return self._scheme

    def planning_memory(self) -> Memory | None:
        """All that each has received, or what a status of that carries."""
        status = self._scheme.status
        if status == Returns():
            return Full()
        return OfStatus(status) if status.is_sum else None
