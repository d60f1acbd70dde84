"""Which way to the best division: by prices, by linear programs, or refused with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.concave_terms import weights_over_time
from evenhand.decide.hindsight.cutting_planes import solve_linear
from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.lot_search import improved, rounded
from evenhand.decide.hindsight.priced import Optimum, is_priced, solve_priced
from evenhand.decide.hindsight.whole_lots import WholeLots
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

if TYPE_CHECKING:
    from jaxtyping import Float

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
