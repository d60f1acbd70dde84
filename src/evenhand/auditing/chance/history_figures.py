"""The figures of many histories at once: the score, and who was how far behind, and how often."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.judging.scorer import mean_status
from evenhand.errors import NegativeStatus, WelfareOverflow
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.stream import Assessed, defined_contributions
from evenhand.fairness.trace import NONE, Standing, Tolerance
from evenhand.fairness.unfairness import ROUNDING, unfairness

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """How histories are judged, the same for all of them."""

    scheme: FairnessScheme
    tolerance: Tolerance
    present: Bool[np.ndarray, "row status"] | None
    weights: Float[np.ndarray, "row status"] | None
    looks: Bool[np.ndarray, " row"]  # the last row may be there for the end alone
    groups: Int[np.ndarray, " status"] | None


@dataclass(frozen=True, eq=False)
class Figures:
    """What was found in each of many histories; a score that is undefined is NaN."""

    score: Float[np.ndarray, " draw"]
    overall: Float[np.ndarray, "draw status"]  # unfairness summed over the assessments
    share_below: Float[np.ndarray, "draw status"]  # of the assessments at which each was there
    group_gap: Float[np.ndarray, " draw"] | None  # between the best and the worst-off at the end
    curves: Float[np.ndarray, "draw look status"] | None = None

    @classmethod
    def joined(cls, parts: list[Figures]) -> Figures:
        """Those of several batches."""
        known: dict[str, Any] = {}
        for one in fields(cls):
            values = [getattr(p, one.name) for p in parts]
            kept = [value for value in values if value is not None]
            known[one.name] = np.concatenate(kept) if kept else None
        return cls(**known)


@np.errstate(all="ignore")
def figures_of(
    statuses: Float[np.ndarray, "draw row status"],
    view: Viewpoint,
    weights: Float[np.ndarray, "draw row status"] | None = None,
    curves: bool = False,
) -> Figures:
    """The figures of histories of which the statuses are known.

    Args:
        statuses: At each row of the viewpoint.
        view: How they are judged.
        weights: As how many each counts, where that differs from history to history.
        curves: Whether to keep the unfairness to each at each look.
    """
    draws, rows, size = statuses.shape
    # Rows of one time follow each other, so that those who are there then are looked up once.
    flat = np.ascontiguousarray(statuses.swapaxes(0, 1)).reshape(rows * draws, size)
    weighed: np.ndarray | None
    if weights is not None:
        weighed = weights.swapaxes(0, 1).reshape(rows * draws, size)
    else:
        weighed = None if view.weights is None else np.repeat(view.weights, draws, axis=0)
    present = None if view.present is None else np.repeat(view.present, draws, axis=0)
    standing = Standing.of(present, weighed)
    gap = None
    if view.groups is not None:
        end = slice((rows - 1) * draws, None)
        gap = _group_gap(flat[end], standing.rows(end), view.groups)
    looked = np.repeat(view.looks, draws)
    if standing.present is not None:  # where nobody counts there is nothing to assess
        looked &= standing.present.any(axis=1)
    if looked.all():
        looked = slice(None)  # type: ignore[assignment]
    chosen, there = flat[looked], standing.rows(looked)
    draw = np.tile(np.arange(draws), rows)[looked]
    deviation = there.judge(unfairness, chosen, np.nan)
    below = _below(chosen, deviation, there, view.tolerance)
    shape = (int(view.looks.sum()), draws, size)
    if len(chosen) == shape[0] * draws:
        sums = (deviation if there.present is None else np.nan_to_num(deviation)).reshape(shape)
        overall, below_sum = sums.sum(axis=0), below.reshape(shape).sum(axis=0)
        judged: Any = shape[0]
        if there.present is not None:
            judged = there.present.reshape(shape).sum(axis=0)
    else:
        overall, below_sum, judged = (np.zeros((draws, size)) for _ in range(3))
        np.add.at(overall, draw, np.nan_to_num(deviation))
        np.add.at(below_sum, draw, below)
        np.add.at(judged, draw, True if there.present is None else there.present)
    kept = None
    if curves and len(chosen) == shape[0] * draws:
        kept = deviation.reshape(shape).swapaxes(0, 1)
    return Figures(
        score=_scores(chosen, there, draw, draws, view.scheme),
        overall=overall,
        share_below=below_sum / np.maximum(judged, 1),
        group_gap=gap,
        curves=kept,
    )


def _below(
    statuses: np.ndarray, deviation: np.ndarray, standing: Standing, tolerance: Tolerance
) -> np.ndarray:
    """Who is below the mean, by more than rounding and than is let pass."""
    size = np.abs(statuses)
    if standing.present is not None:
        size = np.where(standing.present, size, 0.0)
    least = ROUNDING * size.max(axis=1)
    if tolerance != NONE:
        mean = standing.judge(mean_status, statuses, np.nan)
        least = least + tolerance.around(mean)
    return deviation < -least[:, None]


def _scores(
    statuses: np.ndarray, standing: Standing, draw: np.ndarray, draws: int, scheme: FairnessScheme
) -> np.ndarray:
    """The score of each history; NaN for all where it is undefined for one."""
    undefined, each = np.full(draws, np.nan), np.ones(len(statuses), dtype=bool)
    try:
        added = defined_contributions(scheme, Assessed(0, each, statuses, standing))
    except (NegativeStatus, WelfareOverflow):
        return undefined
    order = np.argsort(draw, kind="stable")
    ends = np.searchsorted(draw[order], np.arange(1, draws))
    scores = [scheme.aggregation.fold(part) for part in np.split(added[order], ends)]
    return np.array(scores) if np.isfinite(scores).all() else undefined


def _group_gap(
    statuses: np.ndarray, standing: Standing, groups: Int[np.ndarray, " status"]
) -> Float[np.ndarray, " draw"]:
    """How far the group with the highest mean status is above that with the lowest."""
    weights = np.ones_like(statuses) if standing.weights is None else standing.weights.copy()
    if standing.present is not None:
        weights[~standing.present] = 0.0
    member = (groups[:, None] == np.arange(groups.max() + 1)).astype(float)
    sizes = weights @ member
    means = np.where(sizes > 0, (weights * statuses) @ member / sizes, np.nan)
    return np.nanmax(means, axis=1) - np.nanmin(means, axis=1)
