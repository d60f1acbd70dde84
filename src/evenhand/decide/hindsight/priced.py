"""The best division where a price per point sets stakeholders apart: how each welfare is put."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.assessment_models import (
    AssessmentModel,
    MinusVariance,
    SumOfTerms,
    WorstOff,
)
from evenhand.decide.hindsight.concave_terms import concave_term
from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.interior_point import InteriorPoint
from evenhand.decide.hindsight.merge_alike import merge_alike
from evenhand.fairness.welfare import NegativeVariance, Rawls, Welfare

if TYPE_CHECKING:
    from jaxtyping import Float

MOST_STEPS = 120
MOST_WORK = 2e9  # kinds of stakeholders times points squared: a Newton step of some 10 s
TOLERANCE = 1e-7  # relative gap at which it is done
PATIENCE = 8  # steps without any gain


@dataclass(frozen=True, eq=False)
class Optimum:
    """An allocation, and what no allocation can be worth more than."""

    allocation: Float[np.ndarray, "point stakeholder"]
    bound: float


def is_priced(welfare: Welfare | None) -> bool:
    """Whether a welfare can be put so."""
    return concave_term(welfare) is not None or isinstance(welfare, Rawls | NegativeVariance)


def solve_priced(
    division: Division,
    welfare: Welfare,
    over_time: Float[np.ndarray, " assessment"],
    tolerance: float = TOLERANCE,
) -> Optimum:
    """The best division for a weighted sum over time of a welfare.

    Args:
        division: Without newcomers who begin at what others had.
        welfare: One for which `is_priced` holds; of Nash welfare its logarithm is taken.
        over_time: What each assessment counts.
        tolerance: The relative gap at which it is good enough.
    """
    division = division.at(over_time > 0)
    over_time = over_time[over_time > 0]
    merged = merge_alike(division, sizes_matter=not isinstance(welfare, Rawls))
    kinds = merged.division
    kinds.require_work(len(kinds.names) * len(kinds.supply) ** 2, MOST_WORK)
    model, constant = _model(kinds, welfare, over_time)
    method = InteriorPoint(kinds, model)
    best, worth, bound, waited = kinds.even(), -np.inf, np.inf, 0
    for _ in range(MOST_STEPS):
        with np.errstate(all="ignore"):
            try:
                method.step()
            except np.linalg.LinAlgError:
                break
            ceiling, found = method.bound() + constant, method.value() + constant
        waited += 1
        if np.isfinite(ceiling) and ceiling < bound:
            bound, waited = ceiling, 0
        if np.isfinite(found) and found > worth:
            best, worth, waited = method.allocation(), found, 0
        if bound - worth <= tolerance * max(abs(bound), 1e-9) or waited >= PATIENCE:
            break
    return Optimum(merged.spread(kinds.within_requests(best)), bound)


def _model(
    kinds: Division, welfare: Welfare, over_time: Float[np.ndarray, " assessment"]
) -> tuple[AssessmentModel, float]:
    """The model of a welfare, and what is added to it: terms that no allocation can change."""
    term, factor = concave_term(welfare), over_time[:, None]
    if term is not None:
        counts = factor * term.factor(kinds.weight)
        reached = np.concatenate((np.zeros((1, len(kinds.names))), np.cumsum(kinds.eligible, 0)))
        free = (reached[kinds.after] > 0) & (counts > 0)
        fixed = (counts > 0) & ~free
        constant = float(np.sum(counts[fixed] * term.value(kinds.start[fixed])))
        return SumOfTerms(term, counts, free), constant
    if isinstance(welfare, NegativeVariance):
        total = np.maximum(kinds.weight.sum(axis=1, keepdims=True), 1e-300)
        return MinusVariance(factor * kinds.weight / total), 0.0
    return WorstOff(over_time, kinds.counted), 0.0
