"""The best division by linear programs, one after the other, until the last is met.

Every program is larger than what is asked for, so that its value is a bound; what its solution is
really worth is a score. Where they agree, that is the best.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.linear_model import LinearModel
from evenhand.decide.hindsight.linear_welfares import linear_welfare
from evenhand.decide.hindsight.merge_alike import merge_alike
from evenhand.decide.hindsight.priced import Optimum
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.welfare import Nash, Parity, Rawls

if TYPE_CHECKING:
    from jaxtyping import Float

MOST_ROUNDS = 60
TOLERANCE = 1e-7
SECONDS = 300.0


def solve_linear(
    division: Division,
    aggregation: TimepointFirst,
    over_time: Float[np.ndarray, " assessment"] | None,
    seconds: float = SECONDS,
) -> Optimum:
    """The best division for a weighted sum over time of a welfare, or for its worst assessment.

    Args:
        division: What is divided.
        aggregation: The score; of Nash welfare its logarithm is made best, and the bound is of it.
        over_time: What each assessment counts; None: only the worst does.
        seconds: After how long to stop with what was found.
    """
    welfare = aggregation.welfare
    grouped = isinstance(welfare, Parity) and welfare.groups is not None
    merged = None if grouped else merge_alike(division, not isinstance(welfare, Rawls))
    model = LinearModel(division if merged is None else merged.division)
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
    best, worth, bound = division.even(), -np.inf, np.inf
    deadline = time.monotonic() + seconds
    for _ in range(MOST_ROUNDS):
        found = model.solve(max(deadline - time.monotonic(), 1.0))
        if found.values is None:
            break
        bound = min(bound, found.bound)
        allocation = model.allocation(found.values)
        allocation = allocation if merged is None else merged.spread(allocation)
        value = division.score(allocation, aggregation)
        if isinstance(welfare, Nash):
            value = float(np.log(value)) if value > 0 else -np.inf
        if value > worth:
            best, worth = allocation, value
        close = bound - worth <= TOLERANCE * max(abs(bound), 1e-9)
        if close or time.monotonic() > deadline or not part.cut(found.values):
            break
    return Optimum(best, bound)
