"""Stakeholders who are alike taken as one, so that the work depends on how many kinds there are.

Whoever is entitled to e counts as e equal stakeholders, and among equal ones no symmetric concave
welfare is the worse for sharing evenly (Jensen). So those who could take supply at the same points,
count at the same assessments and differ in size alone are as good as one of their size together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.division import Division, Newcomers

if TYPE_CHECKING:
    from jaxtyping import Float, Int

DIGITS = 10  # to which figures must agree to be alike; what differs by rounding is the same


@dataclass(frozen=True, eq=False)
class Merged:
    """A division of kinds of stakeholders, and the share of each stakeholder in its kind."""

    division: Division
    kind: Int[np.ndarray, " stakeholder"]
    share: Float[np.ndarray, " stakeholder"]

    def spread(self, allocation: Float[np.ndarray, "point kind"]) -> np.ndarray:
        """The same allocation for stakeholders."""
        return allocation[:, self.kind] * self.share


def merge_alike(division: Division, sizes_matter: bool = True) -> Merged:
    """A division of kinds.

    Args:
        division: Of stakeholders.
        sizes_matter: Whether those who weigh other than by their size must be kept apart; not where
            the welfare is that of the worst-off, which asks for no weights.
    """
    size = _sizes(division)
    kind, first = _kinds(division, size, sizes_matter)
    count = len(first)
    total = np.bincount(kind, weights=size, minlength=count)
    share = size / total[kind]
    weight = np.zeros((len(division.after), count))
    np.add.at(weight.T, kind, division.weight.T)
    asked = None
    if division.asked is not None:
        asked = np.zeros((len(division.supply), count))
        np.add.at(asked.T, kind, division.asked.T)
    merged = replace(
        division,
        names=tuple(division.names[place] for place in first),
        eligible=division.eligible[:, first],
        asked=asked,
        slope=division.slope[:, first] * share[first],
        start=division.start[:, first],
        weight=weight,
        joins=tuple(_merge_join(join, kind, share) for join in division.joins),
    )
    return Merged(merged, kind, share)


def _sizes(division: Division) -> Float[np.ndarray, " stakeholder"]:
    """The size of each: one over its steepest slope."""
    steepest = np.abs(division.slope).max(axis=0, initial=0.0)
    return 1.0 / np.where(steepest > 0, steepest, 1.0)


def _kinds(
    division: Division, size: Float[np.ndarray, " stakeholder"], sizes_matter: bool
) -> tuple[Int[np.ndarray, " stakeholder"], Int[np.ndarray, " kind"]]:
    """The kind of each stakeholder, and the first of each kind."""
    joined = np.zeros(len(division.names), dtype=np.int64)
    for number, join in enumerate(division.joins):
        joined[join.who] = number + 1
    counted = division.weight * division.slope if sizes_matter else division.weight > 0
    parts = [
        division.eligible,
        joined[None],
        _rounded(division.slope * size),
        _rounded(division.start),
        _rounded(counted) if sizes_matter else counted,
        division.counted,
    ]
    if division.asked is not None:
        parts.append(_rounded(division.asked / size))
    columns = [np.ascontiguousarray(part.T).view(np.uint8) for part in parts]
    rows = np.ascontiguousarray(np.concatenate(columns, axis=1))
    keys = rows.view(np.dtype((np.void, rows.shape[1])))[:, 0]
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return kind, first


def _rounded(values: np.ndarray) -> np.ndarray:
    """To so many digits, whatever the unit; 0 is one number."""
    with np.errstate(divide="ignore"):
        scale = 10.0 ** (DIGITS - np.ceil(np.log10(np.abs(values))))
    known = np.isfinite(scale) & (values != 0)
    return np.where(known, np.rint(values * np.where(known, scale, 1.0)) / scale, 0.0) + 0.0


def _merge_join(join: Newcomers, kind: np.ndarray, share: np.ndarray) -> Newcomers:
    kinds, first, place = np.unique(kind[join.there], return_index=True, return_inverse=True)
    mean = None
    if join.mean is not None:
        mean = np.bincount(place, weights=join.mean, minlength=len(kinds))
    return replace(
        join,
        who=np.unique(kind[join.who]),
        there=kinds,
        slope=join.slope[first] * share[join.there][first],
        start=join.start[first],
        mean=mean,
    )
