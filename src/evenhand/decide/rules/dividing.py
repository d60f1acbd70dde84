"""Rules that share an amount among all: in proportion to entitlements, or to even out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.decide.rules.least_served import ByReceived
from evenhand.decide.rules.rule import RULES, DividingRule

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class Raising(ByReceived, DividingRule):
    """Rules that raise the lowest levels together: those of all receipts, or all from zero."""

    counts_past: ClassVar[bool] = True

    def shares(
        self,
        amount: float,
        levels: Float[np.ndarray, " eligible"],
        entitlements: Float[np.ndarray, " eligible"],
        room: Float[np.ndarray, " eligible"],
    ) -> Float[np.ndarray, " eligible"]:
        begin = levels if self.counts_past else np.zeros(len(levels))
        return raised(amount, begin, entitlements, room)


@RULES.register("proportional")
@dataclass(frozen=True)
class Proportional(Raising):
    """Everyone at once, in proportion to what each is entitled to; the past does not count.

    Where somebody wants less than its part, the rest is shared among the others in the same way.
    """

    counts_past = False

    def describe(self) -> str:
        return "everyone at once, in proportion to what each is entitled to"


@RULES.register("even_out")
@dataclass(frozen=True)
class EvenOut(Raising):
    """Those furthest behind first, until they are level with the next; then these together.

    So the amount makes the levels (received per unit of entitlement) as even as it can.

    Args:
        newcomers: Where those begin who join later: "mean", "zero" or "least".
    """

    def describe(self) -> str:
        return "those furthest behind first, until all are level"


def raised(
    amount: float,
    levels: Float[np.ndarray, " stakeholder"],
    entitlements: Float[np.ndarray, " stakeholder"],
    room: Float[np.ndarray, " stakeholder"],
) -> Float[np.ndarray, " stakeholder"]:
    """What brings the lowest levels up to one level, as far as an amount and the room allow.

    Each takes e·(λ − level) between 0 and its room; what all take grows with λ along straight
    lines, so λ lies between two of the levels at which somebody begins or has enough.

    >>> raised(3.0, np.array([0.0, 1.0, 5.0]), np.ones(3), np.full(3, np.inf))
    array([2., 1., 0.])
    """
    if amount >= room.sum():
        return np.array(room, dtype=float)
    full = levels + room / entitlements
    bends = np.concatenate((levels, full[np.isfinite(full)]))
    slopes = np.concatenate((entitlements, -entitlements[np.isfinite(full)]))
    order = np.argsort(bends, kind="stable")
    bends, slope = bends[order], np.cumsum(slopes[order])
    taken = np.concatenate(([0.0], np.cumsum(slope[:-1] * np.diff(bends))))
    place = min(int(np.searchsorted(taken, amount, side="right")), len(taken)) - 1
    level = bends[place] + (amount - taken[place]) / slope[place]
    given = np.clip((level - levels) * entitlements, 0.0, room)
    return np.minimum(given * (amount / given.sum()), room)  # the last digit, lost on the way
