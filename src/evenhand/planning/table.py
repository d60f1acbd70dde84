"""The reachable augmented states as a table, and the index of its rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import KDTree

from evenhand.errors import CannotPlan, NegativeStatus, TooLarge
from evenhand.planning.model import Model

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, UInt


# Rows of numbers, numbered as they are found: a hash finds the number of a row again.

# Numbers closer than this are one number: sums of logarithms differ by rounding alone.
RESOLUTION = 2.0**-32


class RowIndex:
    """Finds the number of a row by a hash of it; equal hashes of unequal rows are noticed."""

    def __init__(self, width: int) -> None:
        draws = np.random.default_rng(1).integers(0, 2**63, width, dtype=np.uint64)
        self._weights = draws * np.uint64(2) + np.uint64(1)
        self._hashes = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)
        self._rows = np.zeros((0, width))

    def hashes(self, rows: Float[np.ndarray, "row column"]) -> UInt[np.ndarray, " row"]:
        cells = np.rint(np.where(np.isinf(rows), 1e9, rows) / RESOLUTION).astype(np.int64)
        bits = cells.view(np.uint64)
        bits ^= bits >> np.uint64(32)  # whole numbers have their bits high up, where few multiply
        return bits @ self._weights

    def find(self, rows: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
        """The number of each row, or −1 where it has none."""
        return self._look_up(self.hashes(rows), rows)

    def number(self, rows: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
        """The number of each row; rows that are new are given the next numbers."""
        hashes, first, inverse = np.unique(
            self.hashes(rows), return_index=True, return_inverse=True
        )
        _require_alike(rows, rows[first][inverse])
        numbers = self._look_up(hashes, rows[first])
        new = numbers < 0
        if new.any():
            numbers[new] = len(self._numbers) + np.arange(np.count_nonzero(new))
            places = np.searchsorted(self._hashes, hashes[new])
            self._hashes = np.insert(self._hashes, places, hashes[new])
            self._numbers = np.insert(self._numbers, places, numbers[new])
            self._rows = np.concatenate((self._rows, rows[first][new]))
        return numbers[inverse]

    def number_in_order(self, rows: Float[np.ndarray, "row column"]) -> None:
        """Number distinct rows 0, 1, 2, … as they come."""
        hashes = self.hashes(rows)
        self._numbers = np.argsort(hashes)
        self._hashes, self._rows = hashes[self._numbers], rows

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def rows(self) -> Float[np.ndarray, "state column"]:
        return self._rows

    def _look_up(
        self, hashes: UInt[np.ndarray, " row"], rows: Float[np.ndarray, "row column"]
    ) -> Int[np.ndarray, " row"]:
        if not len(self._hashes):
            return np.full(len(hashes), -1)
        places = np.searchsorted(self._hashes, hashes)
        places[places == len(self._hashes)] = 0
        known = self._hashes[places] == hashes
        numbers = np.where(known, self._numbers[places], -1)
        _require_alike(rows[known], self._rows[numbers[known]])
        return numbers


def _require_alike(
    rows: Float[np.ndarray, "row column"], others: Float[np.ndarray, "row column"]
) -> None:
    with np.errstate(invalid="ignore"):
        if not ((np.abs(rows - others) <= 4 * RESOLUTION) | (rows == others)).all():
            raise CannotPlan(
                "two states have the same hash, which is a coincidence of one in billions: "
                "change any number of the problem slightly, or report it."
            )


# Every augmented state that a problem can reach, numbered, with what follows each.
#
# States are numbered in the order in which they are first reached, so that those reachable within t
# steps are the first `within[t]`: backward induction works on prefixes.

NEAR = 1e-5  # a row of float32 numbers is this near, relative to the largest, to what it means
MAX_CLOSED = 300_000  # states without a horizon, after which they are taken to have no end
MEMORY_LIMIT = 5_368_709_120  # bytes that a plan may take by default: 5 GB
Progress = Callable[[int, int], None]  # how many steps are done, of how many


@dataclass(frozen=True, eq=False)
class StateTable:
    """The reachable states of a model and their successors, for effects and outcomes flattened."""

    model: Model
    horizon: int | None  # None where the states are closed under every decision
    rows: Float[np.ndarray, "state column"]
    within: list[int]  # how many states are reachable within t steps
    following: Int[np.ndarray, "effect outcome state"]
    probability: Float[np.ndarray, "effect outcome state"]
    pay: Float[np.ndarray, "effect state"]  # expected over outcomes, before the last step
    last_pay: Float[np.ndarray, "effect state"]  # the same at the last step
    index: RowIndex = field(repr=False)

    @property
    def num_states(self) -> int:
        return len(self.rows)

    @property
    def num_starts(self) -> int:
        """An episode begins in one of the first so many states."""
        return len(self.model.start_chance)

    def expected(self, values: Float[np.ndarray, " state"]) -> float:
        """The mean of the values of the states that an episode begins in."""
        return float(values[: self.num_starts] @ self.model.start_chance)

    def first_layer(self) -> Bool[np.ndarray, " state"]:
        """Which states an episode may begin in."""
        here = np.zeros(self.num_states, dtype=bool)
        here[: self.num_starts] = self.model.start_chance > 0
        return here

    def find(self, rows: Float[np.ndarray, "row column"]) -> Int[np.ndarray, " row"]:
        """The numbers of the states with these rows, which need not be in canonical order."""
        rows = self.model.order(rows)
        found = self.index.find(rows)
        missed = found < 0
        if missed.any():
            # A run in float32 comes near the state it is in, and not quite to it.
            distance, nearest = self._nearest.query(_finite(rows[missed]))
            close = distance <= NEAR * np.maximum(1.0, np.abs(_finite(rows[missed])).max(axis=1))
            found[missed] = np.where(close, nearest, -1)
        if (found < 0).any():
            raise CannotPlan(
                "a state was asked for that this problem cannot reach: it belongs to another "
                "problem, or to a policy that leaves the table."
            )
        return found

    @cached_property
    def _nearest(self) -> KDTree:
        return KDTree(_finite(self.rows))

    def after(self, here: Bool[np.ndarray, " state"], time: int) -> Bool[np.ndarray, " state"]:
        """Which states can be reached at step `time` + 1 from these at step `time`."""
        there = np.zeros_like(here)
        from_here = np.flatnonzero(here[: self.within[time]])
        possible = self.probability[:, :, from_here] > 0
        there[self.following[:, :, from_here][possible]] = True
        return there


def _finite(rows: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "row column"]:
    """The rows with a large number for ∞, which the worst so far is before anything happened."""
    return np.where(np.isinf(rows), 1e9, rows)


def tabulate(
    model: Model,
    horizon: int | None,
    memory_limit: float = MEMORY_LIMIT,
    progress: Progress | None = None,
    beyond: int = 0,
) -> StateTable:
    """Every state reachable within the horizon (and `beyond` steps more), or until none is new.

    Args:
        model: The problem as rows.
        horizon: The number of decisions; None for as many as it takes until no state is new.
        memory_limit: How many bytes the table may take.
        progress: Called with how many steps are done, of how many.
        beyond: How many steps to go past the horizon, for memories that are only imagined.
    """
    table = _reach(model, horizon, memory_limit, progress, beyond)
    if _depends_on_time(table):
        model = replace(model, keep_time=True)
        table = _reach(model, horizon, memory_limit, progress, beyond)
    _require_effects(table)
    _require_defined(table)
    return table


def _reach(
    model: Model,
    horizon: int | None,
    memory_limit: float,
    progress: Progress | None,
    beyond: int,
) -> StateTable:
    """The table of a model, layer by layer."""
    index = RowIndex(model.start.shape[1])
    index.number_in_order(model.start)
    within, pieces = [len(index)], []
    done = 0
    depth = None if horizon is None else horizon + beyond
    while done < len(index) and (depth is None or len(within) <= depth):
        rows = index.rows[done:]
        after, pay, probability = model.expand(rows, 0)
        last_pay = pay if horizon is None else model.expand(rows, horizon - 1).pay
        _require_probabilities(probability)
        probability[:, ~model.possible_effects] = 0.0
        possible = probability > 0
        following = np.zeros(probability.shape, dtype=np.int64)
        following[possible] = index.number(model.order(after[possible]))
        # What cannot happen leads where something can: 0 times the score of nothing is no number.
        following = np.where(possible, following, following.max(axis=-1, keepdims=True))
        pieces.append(
            (
                following.astype(np.int32),
                probability,
                _expected(pay, probability),
                _expected(last_pay, probability),
            )
        )
        done += len(rows)
        within.append(len(index))
        if horizon is not None and progress:
            progress(len(within) - 1, horizon)
        _require_room(model, index, within, depth, memory_limit)
    while depth is not None and len(within) <= depth:  # closed before the horizon
        within.append(len(index))
    joined = [np.concatenate(part) for part in zip(*pieces, strict=True)]
    following, probability, pay, last_pay = (
        np.ascontiguousarray(np.moveaxis(part, 0, -1)) for part in joined
    )
    return StateTable(
        model, horizon, index.rows, within, following, probability, pay, last_pay, index
    )


def _expected(
    pay: Float[np.ndarray, "state effect outcome"],
    probability: Float[np.ndarray, "state effect outcome"],
) -> Float[np.ndarray, "state effect"]:
    return (np.where(probability > 0, pay, 0.0) * probability).sum(axis=-1)


def _require_probabilities(probability: Float[np.ndarray, "state effect outcome"]) -> None:
    sums = probability.sum(axis=-1)
    if not (probability.min() >= 0 and np.abs(sums - 1.0).max() <= 1e-6):  # or no number
        state, effect = np.unravel_index(np.abs(sums - 1.0).argmax(), sums.shape)
        raise CannotPlan(
            f"the outcomes of effect {effect} in state {state} have probabilities that sum to "
            f"{sums[state, effect]:g}: they must be at least 0 and sum to 1."
        )


def bytes_a_state(model: Model, horizon: int | None) -> int:
    """The memory that one state takes in a table and in the values of every step."""
    outcomes = model.expand(model.start, 0).probability.shape[-1]
    columns = model.start.shape[1]
    # A state has a value at every step by which it can be reached: a third of them, or fewer.
    values = 8 * (horizon or 6) // 3
    return model.num_effects * (12 * outcomes + 16) + 16 * columns + 16 + values


def _require_room(
    model: Model, index: RowIndex, within: list[int], horizon: int | None, memory_limit: float
) -> None:
    """Refuse, as early as possible, a problem with more states than there is room for."""
    if horizon is None and len(index) > MAX_CLOSED:
        raise TooLarge(
            f"there is no end of new states: {len(index):,} were found and each leads to more, so "
            "the problem cannot be planned without a horizon. Give it one, or a status with "
            "finitely many values, such as Window."
        )
    each = bytes_a_state(model, horizon)
    expected = estimate_states(within, horizon)
    if max(expected, len(index)) * each <= memory_limit:
        return
    if horizon is not None and expected < 2 * memory_limit / each and len(index) < expected / 2:
        return  # an extrapolation this close is not worth a refusal yet
    raise TooLarge(
        f"the problem has about {expected:.2g} states, which would take "
        f"{expected * each / 2**30:,.0f} GB (the limit is {memory_limit / 2**30:.1f} GB): plan for "
        "fewer stakeholders, for stakeholders that are alike, or for a shorter horizon, or use a "
        "learner."
    )


def estimate_states(within: list[int], horizon: int | None) -> float:
    """How many states there will be, from how their number has grown so far."""
    steps, found = len(within) - 1, within[-1]
    if horizon is None or steps >= horizon or steps < 6 or found == within[-2]:
        return found
    # Counts grow like a power of the number of steps; the power is read off the last half.
    power = math.log(found / within[steps // 2]) / math.log((steps + 1) / (steps // 2 + 1))
    return found * ((horizon + 1) / (steps + 1)) ** power


def _require_effects(table: StateTable) -> None:
    """Check on some states that pairs of noise and action declared alike are alike."""
    model = table.model
    if model.environment.effects() is None or not model.merge_effects:
        return
    rng = np.random.default_rng(0)
    rows = table.rows[rng.integers(len(table.pay.T), size=8)]
    drawn = np.unique(rng.integers(model.effects.size, size=256))
    noise_of, action_of = np.unravel_index(drawn, model.effects.shape)
    pairs, declared = model.expand_pairs(rows, noise_of, action_of), model.expand(rows, 0)
    for one, merged in zip(pairs, declared, strict=True):
        if _apart(one, merged[:, model.effects[noise_of, action_of]]):
            raise CannotPlan(
                f"{type(model.environment).__name__}.effects says that some pairs of noise and "
                "action do the same, and they do not: correct it, or return None. (A status, "
                "filter or memory that looks at the action itself has the same effect.)"
            )


def _depends_on_time(table: StateTable) -> bool:
    """Whether what follows a state depends on the step number, beyond whether it is the last."""
    horizon, model = table.horizon, table.model
    if horizon is None or model.keep_time:
        return False
    rng = np.random.default_rng(0)
    rows = table.rows[rng.integers(len(table.pay.T), size=16)]
    first = model.expand(rows, 0)
    times = range(1, horizon - 1)
    for time in times if len(times) <= 64 else rng.choice(times, 64, replace=False):
        if any(_apart(a, b) for a, b in zip(model.expand(rows, int(time)), first, strict=True)):
            return True
    last = model.expand(rows, horizon - 1)  # where pay may differ, but not where things go
    return _apart(last.rows, first.rows) or _apart(last.probability, first.probability)


def _apart(some: np.ndarray, others: np.ndarray) -> bool:
    """Whether two arrays differ by more than rounding; no number is like no number."""
    return not np.allclose(some, others, rtol=1e-9, atol=1e-9, equal_nan=True)


def _require_defined(table: StateTable) -> None:
    """Refuse a welfare that is undefined for some status that can come about."""
    for pay in (table.pay, table.last_pay):
        if np.isinf(pay).any():
            _, state = np.argwhere(np.isinf(pay))[0]
            welfare = table.model.problem.scheme.welfare
            raise NegativeStatus(
                f"{type(welfare).__name__} is undefined for a status that can follow "
                f"{np.round(table.rows[state], 6).tolist()}: choose another welfare such as Rawls."
            )
