"""Who is there: stakeholders who come and go are judged while they are there, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.arrays import Array

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def stretches(
    present: Bool[np.ndarray, "time status"],
) -> Iterator[tuple[slice, Bool[np.ndarray, " status"]]]:
    """The longest runs of time points over which the same stakeholders are there."""
    changes = np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1
    ends = [*changes.tolist(), len(present)] if len(present) else []
    for start, stop in zip([0, *ends], ends, strict=False):
        yield slice(start, stop), present[start]


def of_those_present(
    function: Callable[[Float[Array, "time n"]], Float[Array, "time ..."]],
    statuses: Float[np.ndarray, "time status"],
    present: Bool[np.ndarray, "time status"] | None,
    absent: float,
) -> Float[np.ndarray, "time ..."]:
    """A function of status vectors (a welfare, unfairness), taken over those who are there.

    Where it gives a number for each stakeholder, those who are not there get `absent`.

    >>> from evenhand.fairness.unfairness import unfairness
    >>> statuses = np.array([[6.0, 8.0, 1.0], [6.0, 8.0, 10.0]])
    >>> present = np.array([[True, True, False], [True, True, True]])
    >>> of_those_present(unfairness, statuses, present, absent=0.0)
    array([[-1.,  1.,  0.],
           [-2.,  0.,  2.]])
    """
    if present is None or present.all():
        return np.asarray(function(statuses))
    parts = []
    for rows, mask in stretches(present):
        values = np.asarray(function(statuses[rows][:, mask]))
        if values.ndim == 2:
            spread = np.full((len(values), len(mask)), absent, dtype=values.dtype)
            spread[:, mask] = values
            values = spread
        parts.append(values)
    return np.concatenate(parts)
