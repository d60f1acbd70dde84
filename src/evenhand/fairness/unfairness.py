"""Section 4.2.1: to whom a trace is unfair, when, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand._util.numbers import Array, as_array, namespace

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

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
