"""Section 4.2.1: to whom a history is unfair, at a time point and overall; an assessment whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import Array, as_array, namespace
from evenhand.errors import BadParameter
from evenhand.fairness.stream import Stream
from evenhand.fairness.trace import Standing, Trace

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from evenhand.fairness.scheme import FairnessScheme


# Section 4.2.1: to whom a trace is unfair, when, and by how much.

# Rounding in a mean of equal numbers is no unfairness: a deviation counts as one only where it
# exceeds this share of the largest status, far below a difference of 1 in totals of 10^12.
ROUNDING = 1e-14


def unfairness(
    statuses: Float[Array, "*batch n"], weights: Float[Array, "*batch n"] | None = None
) -> Float[Array, "*batch n"]:
    """Definition "unfairness to": U_i − mean(U). Negative is unfair to i, positive in its favour.

    With weights (of mean 1) a stakeholder of weight w counts as w equal ones in the mean.

    >>> import numpy as np
    >>> unfairness(np.array([6.0, 8.0, 10.0]))
    array([-2.,  0.,  2.])
    >>> unfairness(np.array([6.0, 9.0]), weights=np.array([0.5, 1.5]))
    array([-2.25,  0.75])
    """
    xp = namespace(statuses)
    # Relative to one of them, equal statuses differ by exactly 0 and large ones lose no digits.
    shifted = statuses - statuses[..., :1]
    counted = shifted if weights is None else weights * shifted
    return shifted - xp.mean(counted, axis=-1, keepdims=True)


def unfair_to(
    statuses: Float[Array, "*batch n"], weights: Float[Array, "*batch n"] | None = None
) -> Bool[Array, "*batch n"]:
    """Definition "unfair to": U_i < mean(U).

    Args:
        statuses: An array, or a list, of one number per stakeholder (on its last axis).
        weights: As how many each counts, of mean 1; all alike by default.

    >>> unfair_to([6, 8, 10]).tolist()
    [True, False, False]
    """
    statuses, weights = _as_arrays(statuses, weights)
    return unfairness(statuses, weights) < -_rounding(statuses)


def unfair_in_favour_of(
    statuses: Float[Array, "*batch n"], weights: Float[Array, "*batch n"] | None = None
) -> Bool[Array, "*batch n"]:
    """Definition "unfair in favor of": U_i > mean(U).

    Args:
        statuses: An array, or a list, of one number per stakeholder (on its last axis).
        weights: As how many each counts, of mean 1; all alike by default.

    >>> unfair_in_favour_of([6, 8, 10]).tolist()
    [False, False, True]
    """
    statuses, weights = _as_arrays(statuses, weights)
    return unfairness(statuses, weights) > _rounding(statuses)


def overall_unfairness(
    assessed: Float[Array, "time n"], weights: Float[Array, "time n"] | None = None
) -> Float[Array, " n"]:
    """Definition "overall unfairness": the sum of unfairness over the assessed time points.

    Args:
        assessed: An array, or a list of lists: for each assessed time point a status for each
            stakeholder.
        weights: As how many each counts, of mean 1; all alike by default.

    >>> overall_unfairness([[6, 8, 10], [9, 9, 9]]).tolist()
    [-2.0, 0.0, 2.0]
    """
    assessed = as_array(assessed, "assessed", axes=2)
    assessed, weights = _as_arrays(assessed, weights)
    return namespace(assessed).sum(unfairness(assessed, weights), axis=0)


def _as_arrays(statuses: Any, weights: Any) -> tuple[Array, Array | None]:
    """Statuses and weights as arrays, whether they were given as such or as lists."""
    weights = None if weights is None else as_array(weights, "weights")
    return as_array(statuses, "statuses"), weights


def _rounding(statuses: Float[Array, "*batch n"]) -> Float[Array, "*batch 1"]:
    xp = namespace(statuses)
    return ROUNDING * xp.max(xp.abs(statuses), axis=-1, keepdims=True)


# A score with its reasons: who stood where at each time point, and to whom it was unfair.


@dataclass(frozen=True, eq=False)
class Assessment:
    """What `scheme.assess(trace)` found. Times are counted from 1, as in the paper.

    >>> from evenhand import Trace, anytime
    >>> result = anytime().assess(Trace(rewards=[[6, 8, 10]], stakeholders=("A", "B", "C")))
    >>> result.unfair_to(1), result.unfair_in_favour_of(1), result.unfairness("A", 1)
    (('A',), ('C',), -2.0)
    """

    score: float
    names: tuple[str, ...]
    statuses: Float[np.ndarray, "time stakeholder"]  # at every time point, assessed or not
    assessed: Bool[np.ndarray, " time"]
    welfare: Float[np.ndarray, " assessment"] | None  # w_t, where the scheme is timepoint-first
    standing: Standing = Standing()  # as how many each counts at every time point

    @property
    def times(self) -> Int[np.ndarray, " assessment"]:
        """The assessed time points t_1, …, t_k."""
        return np.flatnonzero(self.assessed) + 1

    def unfairness(self, stakeholder: int | str, time: int) -> float:
        """Definition "unfairness to": U_i(τ_t) − mean(U(τ_t))."""
        return float(self._judged(unfairness, time, 0.0)[self._index(stakeholder)])

    def unfair_to(self, time: int) -> tuple[str, ...]:
        """Those below the mean at a time point."""
        return self._named(self._judged(unfair_to, time, False))

    def unfair_in_favour_of(self, time: int) -> tuple[str, ...]:
        """Those above the mean at a time point."""
        return self._named(self._judged(unfair_in_favour_of, time, False))

    def overall_unfairness(self) -> dict[str, float]:
        """Definition "overall unfairness": summed over the assessed time points, by stakeholder."""
        standing = self.standing.rows(self.assessed)
        total = standing.judge(unfairness, self.statuses[self.assessed], 0.0).sum(axis=0)
        return dict(zip(self.names, total.tolist(), strict=True))

    def _judged(self, judgment: Any, time: int, absent: float) -> np.ndarray:
        """What a function of statuses says of each at a time point."""
        rows = slice(self._row(time), time)
        standing = self.standing.rows(rows)
        if not standing.anybody:
            return np.full(self.statuses.shape[1], absent)
        return standing.judge(judgment, self.statuses[rows], absent)[0]

    def _row(self, time: int) -> int:
        if not 1 <= time <= len(self.statuses):
            raise BadParameter(
                f"there is no time point {time}: they run from 1 to {len(self.statuses)}."
            )
        return time - 1

    def _index(self, stakeholder: int | str) -> int:
        if isinstance(stakeholder, str):
            if stakeholder not in self.names:
                known = ", ".join(self.names[:10])
                raise BadParameter(f"there is no stakeholder {stakeholder!r}: there are {known}.")
            return self.names.index(stakeholder)
        if not 0 <= stakeholder < len(self.names):
            raise BadParameter(
                f"there is no stakeholder {stakeholder}: they run from 0 to {len(self.names) - 1}."
            )
        return stakeholder

    def _named(self, chosen: Bool[np.ndarray, " stakeholder"]) -> tuple[str, ...]:
        return tuple(name for name, yes in zip(self.names, chosen, strict=True) if yes)


def assess(scheme: FairnessScheme, trace: Trace) -> Assessment:
    """Score a trace and keep what the score was made of."""
    stream = Stream(scheme, trace.num_stakeholders)
    blocks = list(stream.blocks(trace))
    end = stream.end()
    score = stream.score
    if blocks:
        statuses = np.concatenate([block.all_statuses for block in blocks])
    else:
        _, statuses = scheme.status.scan(scheme.status.init(trace.num_stakeholders), trace)
    weights = [block.all_weights for block in blocks if block.all_weights is not None]
    standing = Standing.of(None, np.concatenate(weights) if weights else None)
    assessed = np.concatenate([np.zeros(0, dtype=bool), *(block.assessed for block in blocks)])
    if end is not None:
        assessed[-1] = True
        blocks.append(end)
    welfare = None
    if scheme.welfare is not None:
        welfare = np.concatenate([np.zeros(0), *(block.contributions for block in blocks)])
    names, judged = scheme.status.names(trace.stakeholders), statuses.shape[1]
    if len(names) != judged:  # a function of the trace may judge anyone it likes
        names = tuple(str(i) for i in range(judged))
    return Assessment(score, names, statuses, assessed, welfare, standing)
