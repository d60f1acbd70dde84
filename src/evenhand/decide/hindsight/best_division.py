"""The best division, by whichever method fits, with a certified gap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.division import Division, Merged, WholeLots, merge_alike
from evenhand.decide.hindsight.linear import (
    LinearModel,
    LinearWelfare,
    linear_welfare,
    weights_over_time,
)
from evenhand.decide.hindsight.priced import Optimum, is_priced, solve_priced
from evenhand.errors import NoBestKnown, argument
from evenhand.fairness.aggregation import Aggregation, TimepointFirst
from evenhand.fairness.temporal import Worst
from evenhand.fairness.welfare import (
    AlphaFair,
    Average,
    GeneralisedGini,
    GiniWelfare,
    LogNash,
    Nash,
    NegativeVariance,
    Parity,
    Rawls,
    Utilitarian,
)
from evenhand.log.history import most_with

if TYPE_CHECKING:
    from jaxtyping import Float


# The best division by linear programs, one after the other, until the last is met.
#
# Every program is larger than what is asked for, so that its value is a bound; what its solution is
# really worth is a score. Where they agree, that is the best.

MOST_ROUNDS = 60
MOST_CELLS = 150_000  # points times those who could take something
TOLERANCE = 1e-7
STUCK = 1e-6  # a bound that falls by less, of itself, need not be followed with broken lots
SECONDS = 300.0


def solve_linear(
    division: Division,
    aggregation: TimepointFirst,
    over_time: Float[np.ndarray, " assessment"] | None,
    seconds: float = SECONDS,
    lots: WholeLots | None = None,
    start: Float[np.ndarray, "point stakeholder"] | None = None,
) -> Optimum:
    """The best division for a weighted sum over time of a welfare, or for its worst assessment.

    Args:
        division: What is divided.
        aggregation: The score; of Nash welfare its logarithm is made best, and the bound is of it.
        over_time: What each assessment counts; None: only the worst does.
        seconds: After how long to stop with what was found.
        lots: What cannot be divided, if anything.
        start: An allocation that is kept to, if nothing else is found.
    """
    model, part, merged = _program(division, aggregation, over_time, lots)
    is_product = isinstance(aggregation.welfare, Nash)
    best, worth, bound = division.even() if start is None else start, -np.inf, np.inf
    deadline, relaxed = time.monotonic() + seconds, lots is not None
    for _ in range(MOST_ROUNDS):
        found = model.solve(max(deadline - time.monotonic(), 1.0), relaxed)
        stuck = bound - found.bound <= STUCK * abs(bound) if np.isfinite(bound) else False
        bound = min(bound, found.bound)
        if found.values is None:
            break
        allocation = model.whole_allocation(found.values)
        if allocation is not None:
            allocation = allocation if merged is None else merged.spread(allocation)
            value = division.score(allocation, aggregation)
            if is_product:
                value = float(np.log(value)) if value > 0 else -np.inf
            if value > worth:
                best, worth = allocation, value
        close = bound - worth <= TOLERANCE * max(abs(bound), 1e-9)
        if close or time.monotonic() > deadline:
            break
        met = not part.cut(found.values)
        if relaxed and (met or stuck):
            relaxed = False  # the program with broken lots is met: from now on they are whole
        elif met:
            break
    return Optimum(best, bound)


def _program(
    division: Division,
    aggregation: TimepointFirst,
    over_time: Float[np.ndarray, " assessment"] | None,
    lots: WholeLots | None,
) -> tuple[LinearModel, LinearWelfare, Merged | None]:
    """The first program, the welfare in it, and the kinds that it is of."""
    welfare = aggregation.welfare
    grouped = isinstance(welfare, Parity) and welfare.groups is not None
    merged = None
    if lots is None and not grouped:
        merged = merge_alike(division, not isinstance(welfare, Rawls))
    kinds = division if merged is None else merged.division
    kinds.require_work(int(kinds.eligible.sum()), MOST_CELLS)
    model = LinearModel(kinds)
    if lots is not None:
        model.keep_whole(lots)
    part = linear_welfare(model, welfare)
    assert part is not None
    if over_time is None:
        (worst,) = model.columns(1)
        every = np.arange(len(part.values))
        model.rows(
            [(every, part.values, 1.0), (every, np.array([worst]), -1.0)], 0.0, np.inf, len(every)
        )
        model.maximise(np.array([worst]), 1.0)
    else:
        model.maximise(part.values, over_time)
    return model, part, merged


# Lots given out one by one, as near to a divisible allocation as they come; then improved.
#
# What is found here is an allocation, and no proof: the proof is somebody else's bound.

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    Allocation = Float[np.ndarray, "point stakeholder"]
    Owners = Int[np.ndarray, " lot"]  # to whom each lot goes


def rounded(division: Division, lots: WholeLots, like: Allocation) -> Owners | None:
    """Every lot to whoever lacks most of a divisible allocation by then; None if one is left."""
    wanted = np.cumsum(like, axis=0)
    had, found = np.zeros(len(division.names)), np.zeros(len(lots.point), dtype=np.int64)
    for place, (point, size) in enumerate(zip(lots.point, lots.size, strict=True)):
        able = division.eligible[point]
        if division.asked is not None:
            able = able & (had + size <= most_with(division.asked[point]))
        if not able.any():
            return None
        found[place] = np.argmax(np.where(able, wanted[point] - had, -np.inf))
        had[found[place]] += size
    return found


def improved(
    division: Division,
    lots: WholeLots,
    start: Owners,
    value: Callable[[Allocation], float],
    seconds: float,
) -> Owners:
    """Lots moved, or exchanged at their point, as long as that is worth more.

    Args:
        division: What is divided.
        lots: What is given out.
        start: To whom each lot goes, to begin with.
        value: What an allocation is worth.
        seconds: After how long to stop.
    """
    shape = division.eligible.shape
    best, worth = start, value(lots.allocation(start, shape))
    deadline, gained = time.monotonic() + seconds, True
    while gained:
        gained = False
        for other in _neighbours(division, lots, best):
            if time.monotonic() > deadline:
                return best
            allocation = lots.allocation(other, shape)
            found = value(allocation)
            if found > worth + 1e-12 * max(1.0, abs(worth)) and _fits(division, allocation):
                best, worth, gained = other, found, True
                break
    return best


def _neighbours(division: Division, lots: WholeLots, owners: Owners) -> Iterator[Owners]:
    """One lot to somebody else, or two unlike lots of a point exchanged."""
    for place, point in enumerate(lots.point):
        for who in np.flatnonzero(division.eligible[point]):
            if who != owners[place]:
                other = owners.copy()
                other[place] = who
                yield other
        for second in range(place + 1, len(lots.point)):
            if lots.point[second] != point:
                break
            if lots.size[second] != lots.size[place] and owners[second] != owners[place]:
                other = owners.copy()
                other[[place, second]] = owners[[second, place]]
                yield other


def _fits(division: Division, allocation: Allocation) -> bool:
    """Whether nobody has more than it asked for at any time."""
    if division.asked is None:
        return True
    over = np.cumsum(allocation, axis=0) > most_with(division.asked)
    return not bool((over & division.eligible).any())


# Which way to the best division: by prices, by linear programs, or refused with the reason.

MOST_LOT_COLUMNS = 20_000  # lots of a size at a point times those who could take them
SECONDS_FOR_LOTS, SECONDS_FOR_SEARCH = 60.0, 5.0
KNOWN = (
    *(Utilitarian, Average, Rawls, Nash, LogNash, GeneralisedGini, GiniWelfare, AlphaFair),
    *(Parity, NegativeVariance),
)
REFUSALS = {
    "Jain": "Jain's index is a ratio, whose sum over time has many peaks",
    "Equality": "equality is 0 or 1 and says nothing of what lies between",
}


def best_division(division: Division, aggregation: Aggregation) -> Optimum:
    """The best division of divisible supply, and a bound, both in units of the score."""
    over_time = require_concave(division, aggregation)
    assert isinstance(aggregation, TimepointFirst)
    welfare = aggregation.welfare
    if not division.supply.any():
        return _nothing_to_divide(division, aggregation)
    if over_time is not None and is_priced(welfare) and not division.joins:
        found = solve_priced(division, welfare, over_time)
    else:
        found = solve_linear(division, aggregation, over_time)
    if isinstance(welfare, Nash):
        return Optimum(found.allocation, _from_logarithm(found.bound, over_time))
    return found


def best_in_lots(
    division: Division,
    aggregation: Aggregation,
    lots: WholeLots,
) -> Optimum:
    """The best division in which no lot is divided: exact where it closes, else as far as found.

    Lots of one size and a welfare that is a sum of terms make a flow with convex costs, of which a
    linear program finds the best in whole lots; all else is an integer program, given up after a
    while. Where that is too large, lots are given out along the best divisible allocation.
    """
    over_time = require_concave(division, aggregation)
    assert isinstance(aggregation, TimepointFirst)
    divisible = best_division(division, aggregation)
    if not division.supply.any():
        return divisible

    shape, bound = division.eligible.shape, divisible.bound

    def value(allocation: Float[np.ndarray, "point stakeholder"]) -> float:
        return division.score(allocation, aggregation)

    starts = (lots.who, rounded(division, lots, divisible.allocation))
    allocations = [(lots.allocation(who, shape), who) for who in starts if who is not None]
    _, owners = max(allocations, key=lambda pair: value(pair[0]))
    owners = improved(division, lots, owners, value, SECONDS_FOR_SEARCH)
    best = lots.allocation(owners, shape)
    columns = int(division.eligible[lots.batches()[0]].sum())
    if columns <= MOST_LOT_COLUMNS and bound - value(best) > 1e-9 * max(abs(bound), 1e-9):
        exact = solve_linear(division, aggregation, over_time, SECONDS_FOR_LOTS, lots, best)
        ceiling = exact.bound
        if isinstance(aggregation.welfare, Nash):
            ceiling = _from_logarithm(ceiling, over_time)
        bound = min(bound, ceiling)
        best = max(best, exact.allocation, key=value)
    return Optimum(best, bound)


def _nothing_to_divide(division: Division, aggregation: Aggregation) -> Optimum:
    """Where nothing was given out there is one allocation, which is the best."""
    nothing = np.zeros(division.eligible.shape)
    return Optimum(nothing, division.score(nothing, aggregation))


def _from_logarithm(bound: float, over_time: Float[np.ndarray, " assessment"] | None) -> float:
    """A bound of a product, by one of its logarithm; over time one assessment counts."""
    counts = 1.0 if over_time is None else float(over_time.max())
    return counts * float(np.exp(bound / counts))


def require_concave(
    division: Division, aggregation: Aggregation
) -> Float[np.ndarray, " assessment"] | None:
    """What each assessment counts, or None where the worst one does; refused where it is hard."""
    if not isinstance(aggregation, TimepointFirst):
        raise refused("the score is not a welfare at each time, put together over time")
    welfare, temporal = aggregation.welfare, aggregation.temporal
    over_time = weights_over_time(temporal, len(division.after))
    if over_time is None and not isinstance(temporal, Worst):
        raise refused(f"over time, {temporal.describe()}")
    name = type(welfare).__name__
    if not isinstance(welfare, KNOWN):
        raise refused(REFUSALS.get(name, f"{welfare.describe()} is not known to be concave"))
    if isinstance(welfare, Nash) and over_time is not None and (over_time > 0).sum() > 1:
        raise refused("a sum of products over time has many peaks: take log_nash")
    if isinstance(welfare, Parity | NegativeVariance) and any(
        j.mean is None for j in division.joins
    ):
        raise refused(
            f"newcomers begin where the worst-off stood ({argument('newcomers', 'least')}), and "
            "more for somebody can make it worse"
        )
    return over_time


def refused(why: str) -> NoBestKnown:
    """The error for a score whose best cannot be found, with the reason."""
    return NoBestKnown(
        f"the best there was cannot be found for this score ({why})",
        f"choose another welfare, such as log_nash, rawls or gini, or leave {argument('best')} out",
    )
