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
from evenhand.decide.hindsight.linear_welfares import LinearWelfare, linear_welfare
from evenhand.decide.hindsight.merge_alike import Merged, merge_alike
from evenhand.decide.hindsight.priced import Optimum
from evenhand.decide.hindsight.whole_lots import WholeLots
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.welfare import Nash, Parity, Rawls

if TYPE_CHECKING:
    from jaxtyping import Float

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
