"""What chance alone would have done: fair ways to give out the same lots, each in a sentence.

Times, lots, presence, requests and entitlements stay as they were. A correction goes to whoever
drew the lot that it corrects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.auditing.chance.held_fixed import HeldFixed
from evenhand.auditing.chance.sampling import draw_one_each, draw_places
from evenhand.auditing.reading.open_requests import most_with, open_amount
from evenhand.errors import BadParameter, argument

if TYPE_CHECKING:
    from jaxtyping import Float


class Null(ABC):
    """A null hypothesis: who receives what is drawn in a way that treats those eligible alike."""

    name: ClassVar[str]  # as the option takes it
    under: ClassVar[str]  # as a sentence begins: "Under a fair lottery"
    sentence: ClassVar[str]
    draws_lots: ClassVar[bool] = False  # one by one, each with odds of who gets it
    draws_groups: ClassVar[bool] = False  # so that it says nothing of any single member

    @abstractmethod
    def draw(
        self, held: HeldFixed, rng: np.random.Generator, draws: int
    ) -> Float[np.ndarray, "draw interval stakeholder"]:
        """What each receives in each interval of each of many drawn histories.

        Args:
            held: What stays as it was.
            rng: Where chance comes from.
            draws: How many histories.
        """

    def require(self, held: HeldFixed) -> None:
        """Refuse a log of which it makes no sense."""

    def cost(self, held: HeldFixed) -> int:
        """How many values a drawn history takes, about."""
        return len(held.slot) + held.intervals * held.size


@dataclass(frozen=True)
class FairLottery(Null):
    """Each lot goes to one of those eligible, in proportion to entitlement."""

    name = "lottery"
    draws_lots = True
    under = "Under a fair lottery"
    sentence = (
        "Each lot goes to one of those eligible at its time, drawn afresh, with odds in proportion "
        "to entitlement."
    )

    def draw(
        self, held: HeldFixed, rng: np.random.Generator, draws: int
    ) -> Float[np.ndarray, "draw interval stakeholder"]:
        if held.asked is not None:
            return held.receipts(self._drawn_as_asked(held, rng, draws))
        recipients = np.empty((draws, len(held.slot)), dtype=np.int64)
        pattern = held.pattern[held.slot]
        starts = np.flatnonzero(np.append(True, pattern[1:] != pattern[:-1]))
        for start, stop in zip(starts, [*starts[1:], len(pattern)], strict=True):
            shape = (draws, int(stop - start))
            recipients[:, start:stop] = draw_places(held.odds[pattern[start]], shape, rng)
        return held.receipts(recipients)

    def _drawn_as_asked(self, held: HeldFixed, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Lots drawn one after another among those who then still want that much.

        Where nobody wants so much it goes to one who wants less, and where nobody who is there
        wants anything it stays with whoever had it.
        """
        assert held.asked is not None
        recipients = np.empty((draws, len(held.slot)), dtype=np.int64)
        received = np.zeros((draws, held.size))
        rows, back, done = np.arange(draws), held.taken_back, 0
        for lot, (slot, amount) in enumerate(zip(held.slot, held.amount, strict=True)):
            while done < len(back.slot) and back.slot[done] < slot:
                who = recipients[:, back.lot[done]] if back.lot[done] >= 0 else back.who[done]
                received[rows, who] += back.amount[done]
                done += 1
            odds = still_eligible(held, int(slot), float(amount), received)
            who, anybody = draw_one_each(odds, rng)
            recipients[:, lot] = np.where(anybody, who, held.who[lot])
            received[rows, recipients[:, lot]] += amount
        return recipients

    def cost(self, held: HeldFixed) -> int:
        if held.asked is None:
            return super().cost(held)
        return 4 * len(held.slot) * held.size + held.intervals * held.size


def still_eligible(
    held: HeldFixed, slot: int, amount: float, received: Float[np.ndarray, "*draw n"]
) -> Float[np.ndarray, "*draw n"]:
    """The odds of a lot at a time point: of those who want so much, or else of all who want."""
    odds = np.broadcast_to(held.odds[held.pattern[slot]], received.shape)
    if held.asked is None:
        return odds
    asked = held.asked[slot]
    fits = odds * (received + amount <= most_with(asked))
    nobody = fits.sum(axis=-1, keepdims=True) == 0
    return np.where(nobody, odds * (open_amount(asked, received) > 0.0), fits)


@dataclass(frozen=True)
class ShuffledAmounts(Null):
    """Those eligible at a time point get the amounts of that time point in another order."""

    name = "shuffle"
    under = "If it did not matter who is who"
    sentence = (
        "Those eligible at a time point get the amounts of that time point in another order, drawn "
        "afresh at each: it does not matter who is who."
    )

    def require(self, held: HeldFixed) -> None:
        if held.asked is not None:
            raise BadParameter(
                f"{argument('null', self.name)} does not know requests, since an amount may be "
                f"more than another had asked for: use {argument('null', FairLottery.name)}."
            )
        there = np.where(held.odds > 0, held.odds, np.nan)
        if (np.nanmax(there, axis=1) > np.nanmin(there, axis=1)).any():
            raise BadParameter(
                f"{argument('null', self.name)} treats all alike, and here they are entitled to "
                f"different amounts: use {argument('null', FairLottery.name)}."
            )

    def draw(
        self, held: HeldFixed, rng: np.random.Generator, draws: int
    ) -> Float[np.ndarray, "draw interval stakeholder"]:
        found = np.zeros((draws, held.intervals, held.size))
        amounts = held.received_at_slots()
        for slot in np.flatnonzero((amounts != 0).any(axis=1)):
            there = np.flatnonzero(held.odds[held.pattern[slot]] > 0)
            here = np.tile(amounts[slot, there], (draws, 1))
            found[:, held.interval[slot], there] += rng.permuted(here, axis=1)
        return found

    def cost(self, held: HeldFixed) -> int:
        return (len(np.unique(held.slot)) + held.intervals) * held.size


@dataclass(frozen=True)
class DrawnGroups(Null):
    """Members keep what they got, and the groups are drawn."""

    name = "by-group"
    draws_groups = True
    under = "If the groups were drawn by lot"
    sentence = (
        "Everyone keeps what they received, and who belongs to which group is drawn: groups keep "
        "their sizes."
    )

    def draw(
        self, held: HeldFixed, rng: np.random.Generator, draws: int
    ) -> Float[np.ndarray, "draw interval stakeholder"]:
        order = rng.permuted(np.tile(np.arange(held.size), (draws, 1)), axis=1)
        return np.moveaxis(held.as_it_was()[0][:, order], 0, 1)

    def require(self, held: HeldFixed) -> None:
        if held.asked is not None or len(held.odds) > 1 or np.ptp(held.odds) > 0:
            raise BadParameter(
                f"{argument('null', self.name)} exchanges members of groups, which needs members "
                "who are all there all along with equal entitlements and no requests: use "
                f"{argument('null', FairLottery.name)}."
            )


NULLS: dict[str, Null] = {
    null.name: null for null in (FairLottery(), ShuffledAmounts(), DrawnGroups())
}


def chosen_null(name: str | None) -> Null:
    """The null hypothesis of that name; a lottery where none is named."""
    return NULLS[FairLottery.name if name is None else name]
