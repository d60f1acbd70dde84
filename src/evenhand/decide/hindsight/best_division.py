"""Which way to the best division: by prices, by linear programs, or refused with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.concave_terms import weights_over_time
from evenhand.decide.hindsight.cutting_planes import solve_linear
from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.priced import Optimum, is_priced, solve_priced
from evenhand.errors import BadParameter, argument
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

MOST_WORK = 3e10  # kinds of stakeholders times points squared, for one Newton step
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
    if over_time is not None and is_priced(welfare) and not division.joins:
        found = solve_priced(division, welfare, over_time)
    else:
        found = solve_linear(division, aggregation, over_time)
    if isinstance(welfare, Nash):
        return Optimum(found.allocation, _from_logarithm(found.bound, over_time))
    return found


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


def refused(why: str) -> BadParameter:
    return BadParameter(
        f"the best there was cannot be found for this score ({why}): choose another welfare, such "
        f"as log_nash, rawls or gini, or leave {argument('best')} out."
    )
