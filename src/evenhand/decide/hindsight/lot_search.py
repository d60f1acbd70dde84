"""Lots given out one by one, as near to a divisible allocation as they come; then improved.

What is found here is an allocation, and no proof: the proof is somebody else's bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.whole_lots import WholeLots
from evenhand.log.requests import most_with

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    Allocation = Float[np.ndarray, "point stakeholder"]
    Owners = Int[np.ndarray, " lot"]  # to whom each lot goes


def rounded(division: Division, lots: WholeLots, like: Allocation) -> Owners | None:
    """Every lot to whoever lacks most of a divisible allocation by then; None if one is left."""
    wanted = np.cumsum(like, axis=0)
    had, found = np.zeros(len(division.names)), np.zeros(len(lots.point), dtype=np.int64)
    for place, (point, size) in enumerate(zip(lots.point, lots.size, strict=True)):
        able = division.eligible[point]
        if division.asked is not None:
            able = able & (had + size <= most_with(division.asked[point]))
        if not able.any():
            return None
        found[place] = np.argmax(np.where(able, wanted[point] - had, -np.inf))
        had[found[place]] += size
    return found


def improved(
    division: Division,
    lots: WholeLots,
    start: Owners,
    value: Callable[[Allocation], float],
    seconds: float,
) -> Owners:
    """Lots moved, or exchanged at their point, as long as that is worth more.

    Args:
        division: What is divided.
        lots: What is given out.
        start: To whom each lot goes, to begin with.
        value: What an allocation is worth.
        seconds: After how long to stop.
    """
    shape = division.eligible.shape
    best, worth = start, value(lots.allocation(start, shape))
    deadline, gained = time.monotonic() + seconds, True
    while gained:
        gained = False
        for other in _neighbours(division, lots, best):
            if time.monotonic() > deadline:
                return best
            allocation = lots.allocation(other, shape)
            found = value(allocation)
            if found > worth + 1e-12 * max(1.0, abs(worth)) and _fits(division, allocation):
                best, worth, gained = other, found, True
                break
    return best


def _neighbours(division: Division, lots: WholeLots, owners: Owners) -> Iterator[Owners]:
    """One lot to somebody else, or two unlike lots of a point exchanged."""
    for place, point in enumerate(lots.point):
        for who in np.flatnonzero(division.eligible[point]):
            if who != owners[place]:
                other = owners.copy()
                other[place] = who
                yield other
        for second in range(place + 1, len(lots.point)):
            if lots.point[second] != point:
                break
            if lots.size[second] != lots.size[place] and owners[second] != owners[place]:
                other = owners.copy()
                other[[place, second]] = owners[[second, place]]
                yield other


def _fits(division: Division, allocation: Allocation) -> bool:
    """Whether nobody has more than it asked for at any time."""
    if division.asked is None:
        return True
    over = np.cumsum(allocation, axis=0) > most_with(division.asked)
    return not bool((over & division.eligible).any())
