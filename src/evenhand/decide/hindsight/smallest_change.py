"""The least that would have had to go to others for a score, or the worst-off, to reach something.

A linear program, one after the other as in `cutting_planes`: each asks for less than is needed, so
that its value is a bound. What falls short of the threshold is mixed with the best there was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.checks import is_finite_number
from evenhand._util.wording import format_number
from evenhand.auditing.answer import Answer, NeededChange
from evenhand.decide.hindsight.best_division import MOST_ROUNDS, best_division, require_concave
from evenhand.decide.hindsight.best_of_log import look_back
from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.linear import LinearModel, LinearWelfare, linear_welfare
from evenhand.errors import BadParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.temporal import Last
from evenhand.fairness.welfare import Nash, Rawls
from evenhand.log.options import AuditOptions, with_keywords

if TYPE_CHECKING:
    from jaxtyping import Float

    Allocation = Float[np.ndarray, "point stakeholder"]

MOST_CELLS = 60_000  # points times stakeholders
CLOSE = 1e-6  # of the amount: how near to the bound is near enough
REACHED = 1e-9  # of the threshold: what is missing by rounding is not missing

Refusal = Callable[[float, float], BadParameter]


@dataclass(frozen=True, kw_only=True)
class ChangeOptions(AuditOptions):
    """The keyword arguments of `smallest_change`; one of these two is needed."""

    reach: float | None = None  # the score to be reached
    raise_worst_to: float | None = None  # the status of the worst-off at the last assessment


def _smallest_change(log: Any, options: ChangeOptions) -> NeededChange:
    """The least of a log's supply that would have had to go to others to reach a threshold.

    Times, supply, eligibility and requests are held fixed, as in `best_there_was`.

    Args:
        log: As in `audit`.
        reach: The score to be reached; or
        raise_worst_to: the status that the worst-off is to have at the last assessment.

    Every other argument is one of `audit`. What only an audit has a use for, such as `min_score`,
    is refused.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"month": [1, 2, 3, 4], "to": ["A", "A", "A", "B"], "doses": 20})
    >>> found = smallest_change(
    ...     log, raise_worst_to=35, stakeholder="to", time="month", amount="doses"
    ... )
    >>> round(found.amount, 6)
    15.0
    """
    options.require_no_audit("the smallest change")
    return change_with(log, options, options.reach, options.raise_worst_to)


smallest_change = with_keywords(_smallest_change, ChangeOptions)


def with_change(
    answer: Answer, log: Any, options: AuditOptions, reach: float | None, raise_worst_to: Any
) -> Answer:
    """An answer that also says what would have had to change."""
    change = change_with(log, options, reach, raise_worst_to)
    return replace(answer, needed=change, verdict=f"{answer.verdict} {change.sentence()}")


def change_with(
    log: Any, options: AuditOptions, reach: float | None, raise_worst_to: float | None
) -> NeededChange:
    """The same, with the options as one object."""
    if (reach is None) == (raise_worst_to is None):
        raise BadParameter(
            f"say what is to be reached: a score with {argument('reach')}, or a status of the "
            f"worst-off with {argument('raise_worst_to')}, and not both."
        )
    _require_finite("reach", reach)
    _require_finite("raise_worst_to", raise_worst_to)
    _, scheme, hindsight = look_back(log, options)
    division, aggregation = hindsight.division, scheme.aggregation
    _require_small(division)
    if reach is not None:
        threshold, aim = float(reach), f"a score of {format_number(reach)}"
        refused = partial(_not_reached, f"{aim} could not have been reached")
    else:
        assert raise_worst_to is not None
        aggregation = TimepointFirst(Rawls(), Last())
        less, wanted = scheme.status.negated, format_number(raise_worst_to)
        aim = f"the worst-off to have {wanted} at the end"
        threshold = float(-raise_worst_to if less else raise_worst_to)
        sentence = f"the worst-off could not have had {wanted} at the end"
        refused = partial(_not_reached, sentence, less_is_better=less)
    found, least = least_moved(division, hindsight.actual, aggregation, threshold, refused)
    change = (found - hindsight.actual).sum(axis=0)
    order = np.argsort(-change, kind="stable")
    return NeededChange(
        aim=aim,
        threshold=threshold,
        amount=_moved(found, hindsight.actual),
        least=least,
        total=float(division.supply.sum()),
        by_stakeholder=tuple((division.names[i], float(change[i])) for i in order),
    )


def _require_finite(name: str, value: Any) -> None:
    if value is not None and not is_finite_number(value):
        raise BadParameter(f"{argument(name)} is {value!r}: it must be a finite number.")


def _not_reached(
    what: str, highest: float, bound: float, less_is_better: bool = False
) -> BadParameter:
    """The refusal of a threshold beyond the best there was.

    Args:
        what: What could not have been, in words.
        highest: The best score there was.
        bound: What no score exceeds.
        less_is_better: Whether the threshold is a status of which less is better, and the score
            its negative.
    """
    sign, beyond, give = (-1.0, "below", "higher") if less_is_better else (1.0, "above", "lower")
    best, limit = format_number(sign * highest), format_number(sign * bound)
    return BadParameter(
        f"{what}: the best there was is {best} (and nothing lies {beyond} {limit}), so give a "
        f"{give} threshold."
    )


def _require_small(division: Division) -> None:
    cells = division.eligible.size
    if cells > MOST_CELLS:
        raise BadParameter(
            f"the smallest change of {len(division.names):,} stakeholders at "
            f"{len(division.supply):,} points of time takes too long (at most {MOST_CELLS:,} "
            f"together): look less often with {argument('every')}, or judge groups."
        )


def least_moved(
    division: Division,
    actual: Allocation,
    aggregation: Any,
    threshold: float,
    refused: Refusal = partial(_not_reached, "the threshold could not have been reached"),
) -> tuple[Allocation, float]:
    """An allocation that reaches a threshold with the least moved, and what is moved at least.

    Args:
        division: What is divided.
        actual: How it was.
        aggregation: The score.
        threshold: To be reached.
        refused: The error where it is beyond the best there was, of that best and its bound.
    """
    over_time = require_concave(division, aggregation)
    enough = threshold - REACHED * max(abs(threshold), 1.0)
    if division.score(actual, aggregation) >= enough:
        return actual, 0.0
    best = best_division(division, aggregation)
    highest = division.score(best.allocation, aggregation)
    if highest < enough:
        raise refused(highest, best.bound)
    model = LinearModel(division)
    part = linear_welfare(model, aggregation.welfare)
    assert part is not None
    _reach(model, part, over_time, _in_program(aggregation, threshold, over_time))
    model.keep_near(actual)
    found, least = best.allocation, 0.0
    for _ in range(MOST_ROUNDS):
        solved = model.solve()
        if solved.values is None:
            break
        least = max(least, -solved.bound)
        near = model.allocation(solved.values)
        near = _mixed(division, near, best.allocation, aggregation, enough)
        found = min(found, near, key=lambda one: _moved(one, actual))
        if _moved(found, actual) - least <= CLOSE * least or not part.cut(solved.values):
            break
    return found, min(least, _moved(found, actual))


def _in_program(aggregation: TimepointFirst, threshold: float, over_time: Any) -> float:
    """The threshold as the program knows it: of a product, that of its logarithm."""
    if not isinstance(aggregation.welfare, Nash):
        return threshold
    counts = 1.0 if over_time is None else float(over_time.max())
    return counts * float(np.log(threshold / counts))


def _reach(model: LinearModel, part: LinearWelfare, over_time: Any, threshold: float) -> None:
    """Have the sum over time, or every assessment where the worst counts, reach a threshold."""
    rows = np.arange(len(part.values)) if over_time is None else np.zeros(len(part.values), int)
    factor = 1.0 if over_time is None else over_time
    model.rows([(rows, part.values, factor)], threshold, np.inf, int(rows.max()) + 1)


def _moved(allocation: Allocation, actual: Allocation) -> float:
    """How much goes to others."""
    return float(np.abs(allocation - actual).sum()) / 2.0


def _mixed(
    division: Division, near: Allocation, best: Allocation, aggregation: Any, enough: float
) -> Allocation:
    """As little of the best as makes enough: scores are concave, so that halving finds it."""
    low, high = 0.0, 1.0
    if division.score(near, aggregation) >= enough:
        return near
    for _ in range(60):
        middle = (low + high) / 2.0
        score = division.score(near + middle * (best - near), aggregation)
        low, high = (low, middle) if score >= enough else (middle, high)
    return near + high * (best - near)
