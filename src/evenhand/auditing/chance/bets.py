"""Bets against a lottery: a test martingale for each stakeholder, in memory that does not grow.

Under a lottery each lot goes to somebody with probability p. A bet says that the odds are ρ times
as large: it multiplies by ρ^w / (1 − p + pρ^w) when the lot comes, and by 1 / (1 − p + pρ^w) when
it does not, where w ≥ 0 is the size of the lot beside those before it. Whatever p, ρ and w are,
so long as they are known before the lot is drawn, the mean of that factor is 1: what is won is a
nonnegative martingale, and by Ville's inequality it ever reaches 1/α with probability at most α.
Averages of martingales are martingales, so bets on many ρ, many stakeholders and many beginnings
are held at once, each with a part of the capital of 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int

# The odds that are bet on, and how much on each: somebody may be a little behind, or far.
FACTORS = np.array([0.8, 0.6, 0.4, 0.2])
STAKES = np.array([0.25, 0.35, 0.3, 0.1])
REFERENCE = 1  # the bet by which it is said since when
EIGHTHS = 8  # sizes of lots are rounded to eighths of the mean size, and
LARGEST = 4 * EIGHTHS  # cut off at four times it, so that no single lot decides
AT_START = 0.75  # of the capital is bet from the first lot on, the rest bit by bit later


class BetTable(NamedTuple):
    """What the bets subtract for a lot of each size, for each different probability."""

    cost: Float[np.ndarray, "size p bet"]
    place: Int[np.ndarray, " unit"]  # of each unit's probability among the different ones


class Bets:
    """What was won on the units of one kind: stakeholders, or groups of them.

    Args:
        unit: The unit of each stakeholder.
        size: How many units there are.
        mass: The part of the capital of 1 that is theirs.
        less_is_better: Whether to be behind is to receive more.
    """

    def __init__(
        self, unit: Int[np.ndarray, " stakeholder"], size: int, mass: float, less_is_better: bool
    ) -> None:
        self.unit = unit
        self.size = size
        self.steps = np.log(1 / FACTORS if less_is_better else FACTORS)  # log ρ of each bet
        self._capital = np.log(mass / size * STAKES)
        self.won = np.tile(self._capital + np.log(AT_START), (size, 1))  # logarithms
        self.height = np.zeros(size)  # what the reference bet won since it stood lowest
        self.since = np.full(size, np.nan)  # when that was

    def table(self, odds: Float[np.ndarray, " stakeholder"]) -> BetTable:
        """The costs under given odds of the stakeholders."""
        p = np.bincount(self.unit, odds / odds.sum(), minlength=self.size)
        different, place = np.unique(np.minimum(p, 1.0), return_inverse=True)
        tilt = np.exp(self.steps * np.arange(LARGEST + 1)[:, None] / EIGHTHS)
        p = different[None, :, None]
        return BetTable(np.log1p(p * (tilt[:, None] - 1.0)), place)

    def begin(self, at: float) -> None:
        """Nobody has been behind for longer than since the first lot."""
        self.since = np.where(np.isnan(self.since), at, self.since)

    def begin_again(self, share: float) -> None:
        """Put a share of the capital on bets that begin now."""
        self.won = np.logaddexp(self.won, self._capital + np.log(share))

    def bound(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> Float[np.ndarray, "unit bet"]:
        """At most so much is won at any time during some lots.

        A bet on fewer lots wins with every lot and loses with its own, and a bet on more the other
        way round: the bound takes what is won and leaves out what is lost.
        """
        gained, spent = self._sums(table, who, size)
        return self.won + np.maximum(gained, 0.0) + np.maximum(-spent, 0.0)

    def take(
        self,
        table: BetTable,
        at: Float[np.ndarray, " lot"],
        who: Int[np.ndarray, " lot"],
        size: Int[np.ndarray, " lot"],
        ends: Int[np.ndarray, " end"],
    ) -> None:
        """Take some lots into account.

        Args:
            table: What they cost.
            at: When each was given out, in order.
            who: The stakeholder who got each.
            size: Of each, in eighths of the mean size.
            ends: After how many of them a time point is over.
        """
        gained, spent = self._sums(table, who, size)
        self.won = self.won + gained - spent
        first, last = (int(ends[0]), int(ends[-1])) if len(ends) else (0, 0)
        if len(ends):
            self._rise(table, who[:first], size[:first])
            self.settle(float(at[first - 1]))
            if last > first:
                part = slice(first, last)
                self._follow(table, at[part], self.unit[who[part]], size[part], ends - first)
        self._rise(table, who[last:], size[last:])

    def settle(self, at: float) -> None:
        """A time point is over: whoever stands no higher than at its lowest begins anew."""
        low = self.height <= 0
        self.since[low], self.height[low] = at, 0.0

    def _rise(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> None:
        gained, spent = self._sums(table, who, size)
        self.height = self.height + (gained - spent)[:, REFERENCE]

    def _sums(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> tuple[np.ndarray, np.ndarray]:
        counts = np.bincount(size, minlength=LARGEST + 1).astype(float)
        spent = np.tensordot(counts, table.cost, 1)[table.place]
        received = np.bincount(self.unit[who], size / EIGHTHS, minlength=self.size)
        return received[:, None] * self.steps, spent

    def at_each(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> Float[np.ndarray, "lot unit bet"]:
        """What will have been won after each of some lots."""
        received = np.zeros((len(who), self.size))
        received[np.arange(len(who)), self.unit[who]] = size / EIGHTHS
        spent = np.cumsum(table.cost[size], axis=0)[:, table.place]
        return self.won + np.cumsum(received, axis=0)[..., None] * self.steps - spent

    def _follow(
        self,
        table: BetTable,
        at: Float[np.ndarray, " lot"],
        unit: Int[np.ndarray, " lot"],
        size: Int[np.ndarray, " lot"],
        ends: Int[np.ndarray, " end"],
    ) -> None:
        """Keep up since when each has been behind: since the reference bet stood lowest.

        Only ends of time points count, so that the order within one does not. A bet on fewer lots
        stands lowest after a time point at which its unit received some, and a bet on more before
        one; so only these are looked at. Of several lots of a unit at one time point, one gives
        what is right and the others too high a value, which does no harm to the lowest.
        """
        step = self.steps[REFERENCE]
        cost = np.cumsum(table.cost[size, :, REFERENCE], axis=0)
        point = np.searchsorted(ends, np.arange(len(at)), side="right")  # from 1: 0 is before
        order = np.argsort(unit, kind="stable")
        own, sizes, after = unit[order], size[order] / EIGHTHS, point[order]
        first = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        lengths = np.diff(np.append(first, len(own)))
        sums = np.cumsum(sizes)
        received = sums - np.repeat(sums[first] - sizes[first], lengths)
        if step > 0:
            received, after = received - sizes, after - 1
        spent = np.where(after > 0, cost[ends[after] - 1, table.place[own]], 0.0)
        height = self.height[own] + step * received - spent
        lowest, units = np.minimum.reduceat(height, first), own[first]
        is_lowest = height <= np.repeat(lowest, lengths)
        last = np.maximum.reduceat(np.where(is_lowest, after, -1), first)
        new = (lowest <= 0) & (last > 0)
        self.since[units[new]] = at[ends[last[new]] - 1]
        floor = np.zeros(self.size)
        floor[units] = np.minimum(lowest, 0.0)
        total = np.bincount(unit, size / EIGHTHS, minlength=self.size)
        self.height = self.height + step * total - cost[-1, table.place] - floor
        self.settle(float(at[-1]))

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return {"won": self.won, "height": self.height, "since": self.since}

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where others of the same units stopped."""
        self.won, self.height = snapshot["won"], snapshot["height"]
        self.since = np.array(snapshot["since"], dtype=float)
