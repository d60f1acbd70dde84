"""How much evidence a log can hold: how far behind would somebody have to be for it to show?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.chance.held_fixed import HeldFixed
from evenhand.auditing.chance.naming import LEVEL

if TYPE_CHECKING:
    from jaxtyping import Float

CERTAINTY = 0.8  # with which it is to be noticed
TRIED = 199  # histories for each size of a disadvantage
GRID = 20  # sizes of a disadvantage
EXTREME = 0.0  # whoever never gets anything; of harms, EXTREME_HARM times the odds
EXTREME_HARM = 20.0

Behind = Callable[[HeldFixed, int], "Float[np.ndarray, 'draw status']"]


@dataclass(frozen=True)
class PowerFinding:
    """The least disadvantage that a log would show, of a typical stakeholder."""

    name: str
    lots: float  # that it would have under a fair lottery
    odds: float | None  # the factor on its odds from which on it would be noticed; None: none is
    lots_then: float | None
    certainty: float  # with which it is noticed at these odds, or at the most extreme ones

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def threshold(furthest: Float[np.ndarray, " draw"]) -> float:
    """How far behind somebody must be for chance to get there in at most `LEVEL` of cases."""
    hits = int(np.floor(LEVEL * (1 + len(furthest)))) - 1
    if hits < 0:  # too few draws to name anybody
        return np.inf
    descending = np.sort(furthest)[::-1]
    return float(np.nextafter(descending[min(hits, len(furthest) - 1)], np.inf))


def typical(held: HeldFixed) -> int:
    """The place of a stakeholder in the middle, by the lots that a lottery would give it."""
    expected = held.expected()
    there = np.flatnonzero(expected > 0)
    order = there[np.argsort(expected[there], kind="stable")]
    return int(order[len(order) // 2])


def noticed(
    held: HeldFixed, who: int, factor: float, behind: Behind, least: float, draws: int
) -> float:
    """How often somebody is noticed when the odds of one are multiplied."""
    found = behind(held.with_odds(who, factor), draws)
    return float((found.max(axis=1) >= least).mean())


def extreme(less_is_better: bool) -> float:
    """The odds of the most extreme disadvantage."""
    return EXTREME_HARM if less_is_better else EXTREME


def find_power(held: HeldFixed, behind: Behind, least: float, less_is_better: bool) -> PowerFinding:
    """The least disadvantage that is noticed, found by halving a grid of sizes.

    Args:
        held: What stays as it was.
        behind: How far each is behind in so many histories drawn with given odds.
        least: How far behind is noticed.
        less_is_better: Whether a disadvantage is to get more.
    """
    who = typical(held)
    lots = float(held.expected()[who])

    def factor_of(step: int) -> float:
        factor = 1.0 - step / GRID
        if not less_is_better:
            return factor
        return 1.0 / factor if factor > 0 else EXTREME_HARM

    def seen(step: int) -> float:
        return noticed(held, who, factor_of(step), behind, least, TRIED)

    low, high, certainty = 0, GRID, seen(GRID)
    name = held.names[who]
    if certainty < CERTAINTY:
        return PowerFinding(name, lots, None, None, certainty)
    while high - low > 1:
        middle = (low + high) // 2
        share = seen(middle)
        if share >= CERTAINTY:
            high, certainty = middle, share
        else:
            low = middle
    factor = factor_of(high)
    then = float(held.with_odds(who, factor).expected()[who])
    return PowerFinding(name, lots, factor, then, certainty)
