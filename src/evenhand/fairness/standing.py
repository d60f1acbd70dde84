"""Who is there to be judged, and as how many each counts.

Stakeholders who come and go are judged while they are there, and only then. A stakeholder of
weight w counts as w equal ones; of those who are there the weights are scaled to a mean of 1, so
that with equal weights nothing changes. A weight of 0 is as not being there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand._util.numbers import Array, namespace

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Judgment = Callable[[Float[Array, "*batch time n"], Float[Array, "time n"] | None], Array]


def scaled(weights: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """Weights of mean 1: n·e_i / Σe.

    >>> scaled(np.array([1.0, 3.0]))
    array([0.5, 1.5])
    """
    xp = namespace(weights)
    return weights * (weights.shape[-1] / xp.sum(weights, axis=-1, keepdims=True))


class Standing(NamedTuple):
    """At each of some time points: who is there, and the weight of each. None: all, and alike.

    >>> statuses = np.array([[6.0, 8.0, 1.0], [6.0, 8.0, 10.0]])
    >>> present = np.array([[True, True, False], [True, True, True]])
    >>> from evenhand.fairness.unfairness import unfairness
    >>> Standing(present).judge(unfairness, statuses, absent=0.0)
    array([[-1.,  1.,  0.],
           [-2.,  0.,  2.]])
    """

    present: Bool[np.ndarray, "time status"] | None = None
    weights: Float[np.ndarray, "time status"] | None = None

    @classmethod
    def of(
        cls,
        present: Bool[np.ndarray, "time status"] | None,
        weights: Float[np.ndarray, "time status"] | None,
    ) -> Standing:
        """Whoever has no weight is not there."""
        if weights is not None:
            weighs = weights > 0
            present = weighs if present is None else present & weighs
        if present is not None and present.all():
            present = None
        return cls(present, weights)

    @property
    def anybody(self) -> bool:
        """Whether anybody counts; where nobody is there, or has a weight, nothing is assessed."""
        if self.weights is None:
            return self.present is None or bool(self.present.any())
        weighs = self.weights > 0
        return bool((weighs if self.present is None else weighs & self.present).any())

    def rows(self, chosen: slice | np.ndarray) -> Standing:
        """Some of the time points."""
        return Standing(*(None if part is None else part[chosen] for part in self))

    def judge(
        self, judgment: Judgment, statuses: Float[Array, "*batch time status"], absent: float = 0.0
    ) -> Float[Array, "*batch time ..."]:
        """A function of statuses and weights (a welfare, unfairness), taken over those there.

        Where it gives a number for each stakeholder, those who are not there get `absent`.
        """
        xp, axes = namespace(statuses), statuses.ndim
        if self.present is None:
            return xp.asarray(judgment(statuses, self._scaled(slice(None))))
        parts = []
        for rows, mask in self.stretches():
            there = statuses[..., rows, :][..., mask]
            values = xp.asarray(judgment(there, self._scaled(rows, mask)))
            parts.append(_spread(values, mask, absent) if values.ndim == axes else values)
        return xp.concat(parts, axis=axes - 2) if parts else xp.asarray(judgment(statuses, None))

    def stretches(self) -> Iterator[tuple[slice, Bool[np.ndarray, " status"]]]:
        """The longest runs of time points over which the same stakeholders are there."""
        present = self.present
        if present is None:
            return
        changes = np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1
        ends = [*changes.tolist(), len(present)] if len(present) else []
        for start, stop in zip([0, *ends], ends, strict=False):
            yield slice(start, stop), present[start]

    def _scaled(
        self, rows: slice, mask: Bool[np.ndarray, " status"] | None = None
    ) -> Float[np.ndarray, "time n"] | None:
        """The weights of those there, or None where they count alike, as in the paper."""
        if self.weights is None:
            return None
        weights = self.weights[rows] if mask is None else self.weights[rows][:, mask]
        if (weights == weights[:, :1]).all():
            return None
        return scaled(weights)


def _spread(
    values: Float[Array, "*batch time n"], mask: Bool[np.ndarray, " status"], absent: float
) -> Float[Array, "*batch time status"]:
    """The values of those there in their places, and `absent` in all others."""
    xp = namespace(values)
    if xp is not np:  # arrays that cannot be written to
        return xp.where(mask, xp.take(values, np.cumsum(mask) - 1, axis=-1), absent)
    spread = np.full((*values.shape[:-1], len(mask)), absent, dtype=values.dtype)
    spread[..., mask] = values
    return spread
