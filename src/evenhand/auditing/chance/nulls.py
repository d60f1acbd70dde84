"""What chance alone would have done: what is held fixed, and fair ways to give it out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand._util.numbers import as_timestamps, moment_label
from evenhand.errors import BadLog, BadParameter, ZeroEntitlement, argument
from evenhand.log.history import Reading, Roster, most_with, open_amount, presence

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from evenhand.log.log import Supply


# Drawing many of a few with given odds: the alias method (Walker 1977), vectorised.


def draw_places(
    odds: Float[np.ndarray, " n"], shape: tuple[int, ...], rng: np.random.Generator
) -> Int[np.ndarray, ...]:
    """Places drawn independently, each in proportion to its odds.

    >>> draw_places(np.array([0.0, 2.0]), (3,), np.random.default_rng(0))
    array([1, 1, 1])
    """
    there = np.flatnonzero(odds > 0)
    chosen = odds[there]
    picked = rng.integers(0, len(there), size=shape)
    if (chosen == chosen[0]).all():
        return there[picked]
    keep, other = _alias_table(chosen)
    return there[np.where(rng.random(shape) < keep[picked], picked, other[picked])]


def _alias_table(
    odds: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """For each place the chance to stay there, and where to go otherwise."""
    size = len(odds)
    keep = odds * (size / odds.sum())
    other = np.arange(size)
    small = np.flatnonzero(keep < 1).tolist()
    large = np.flatnonzero(keep >= 1).tolist()
    while small and large:
        low, high = small.pop(), large[-1]
        other[low] = high
        keep[high] -= 1.0 - keep[low]
        if keep[high] < 1:
            small.append(large.pop())
    keep[small] = 1.0  # left over by rounding
    return keep, other


def draw_one_each(
    odds: Float[np.ndarray, "draw n"], rng: np.random.Generator
) -> tuple[Int[np.ndarray, " draw"], Bool[np.ndarray, " draw"]]:
    """A place for each row, in proportion to the row's odds, and whether the row has any."""
    running = np.cumsum(odds, axis=1)
    aim = rng.random(len(odds)) * running[:, -1]
    place = (running <= aim[:, None]).sum(axis=1)
    return np.minimum(place, odds.shape[1] - 1), running[:, -1] > 0


# In proportion to what a lottery gives out at any moment: the entitlements of those there.


class OddsOverTime:
    """The odds of all stakeholders at any moment: entitlements of those on the roster then."""

    def __init__(
        self,
        names: tuple[str, ...],
        shares: Float[np.ndarray, " stakeholder"] | None = None,
        roster: Roster | None = None,
    ) -> None:
        self.names = names
        self.shares = np.ones(len(names)) if shares is None else np.asarray(shares, dtype=float)
        self.roster = roster if roster is not None and roster.dated else None
        self.plain_numbers = True

    def __call__(
        self, moments: Float[np.ndarray, " moment"]
    ) -> tuple[Float[np.ndarray, "pattern n"], Int[np.ndarray, " moment"]]:
        if self.roster is None:
            return self.shares[None], np.zeros(len(moments), dtype=np.int64)
        times = moments if self.plain_numbers else as_timestamps(moments)
        here = presence(self.roster, self.names, times)
        assert here is not None  # since the roster has dates
        return stretches(np.where(here, self.shares, 0.0))


def stretches(
    rows: Float[np.ndarray, "time n"],
) -> tuple[Float[np.ndarray, "pattern n"], Int[np.ndarray, " time"]]:
    """Rows that follow each other and are equal as one, and which of these each is."""
    changes = np.append(False, (rows[1:] != rows[:-1]).any(axis=1))
    return rows[np.append(0, np.flatnonzero(changes))], np.cumsum(changes)


# What stays as it was in every history that is drawn: lots, times, who was eligible, requests.


@dataclass(frozen=True, eq=False)
class TakenBack:
    """Corrections of earlier lots: each goes to whoever has the lot that it corrects."""

    slot: Int[np.ndarray, " correction"]
    lot: Int[np.ndarray, " correction"]  # its place among the lots; -1 if there is none
    who: Int[np.ndarray, " correction"]  # as in the log, where there is none
    amount: Float[np.ndarray, " correction"]  # below 0


@dataclass(frozen=True, eq=False)
class HeldFixed:
    """Lots one by one in order of time, and the odds of each stakeholder at each time point.

    Time points are added up by interval, which is all that is needed of a drawn history.
    """

    names: tuple[str, ...]
    slot: Int[np.ndarray, " lot"]
    who: Int[np.ndarray, " lot"]  # as in the log
    amount: Float[np.ndarray, " lot"]  # above 0
    taken_back: TakenBack
    odds: Float[np.ndarray, "pattern stakeholder"]  # in proportion to them lots are drawn
    pattern: Int[np.ndarray, " slot"]  # the row of the odds at each time point
    asked: Float[np.ndarray, "slot stakeholder"] | None  # by each time point, if known
    interval: Int[np.ndarray, " slot"]
    intervals: int

    @classmethod
    def of(cls, supply: Supply, interval: np.ndarray, intervals: int) -> HeldFixed:
        """From a supply; refused where something was given out and nobody was eligible."""
        lots, copies = supply.lots, supply.lots.copies
        slot, who, amount = (np.repeat(p, copies) for p in (lots.slot, lots.who, lots.amount))
        given = amount > 0
        odds, pattern = _odds(supply)
        _require_eligible(supply, odds, pattern, np.unique(slot[given]))
        asked = supply.asked()
        return cls(
            names=supply.names,
            slot=slot[given],
            who=who[given],
            amount=amount[given],
            taken_back=_taken_back(slot, who, amount),
            odds=odds,
            pattern=pattern,
            asked=None if asked is None else asked.by(supply.moments),
            interval=interval,
            intervals=intervals,
        )

    @property
    def size(self) -> int:
        return len(self.names)

    def kinds(self) -> Int[np.ndarray, " stakeholder"]:
        """The number of each one's kind: chance treats those alike who are there, entitled and
        asking alike.
        """
        unmatched = self.taken_back.lot < 0
        own = np.bincount(
            self.taken_back.who[unmatched], self.taken_back.amount[unmatched], self.size
        )
        known = [self.odds, own[None], *([] if self.asked is None else [self.asked])]
        columns = np.ascontiguousarray(np.concatenate(known).T)
        return numbered(column.tobytes() for column in columns)

    def with_odds(self, who: int, factor: float) -> HeldFixed:
        """The same with the odds of one stakeholder multiplied, wherever others are eligible."""
        odds = self.odds.copy()
        odds[(odds > 0).sum(axis=1) > 1, who] *= factor
        return replace(self, odds=odds)

    def expected(self) -> Float[np.ndarray, " stakeholder"]:
        """How many lots each would have under a lottery, as far as that is known beforehand."""
        count = np.bincount(self.pattern[self.slot], minlength=len(self.odds))
        total = np.maximum(self.odds.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return count @ (self.odds / total)

    def receipts(
        self, recipients: Int[np.ndarray, "draw lot"]
    ) -> Float[np.ndarray, "draw interval stakeholder"]:
        """What each received in each interval, if each lot went to these; corrections follow."""
        draws, back = len(recipients), self.taken_back
        slot, amount = self.slot, self.amount
        if len(back.slot):
            follows = np.where(back.lot >= 0, recipients[:, back.lot], back.who)
            recipients = np.concatenate((recipients, follows), axis=1)
            slot = np.concatenate((slot, back.slot))
            amount = np.concatenate((amount, back.amount))
        cell = self.interval[slot] * self.size + recipients
        cell += np.arange(draws)[:, None] * (self.intervals * self.size)
        weights = np.broadcast_to(amount, cell.shape).ravel()
        found = np.bincount(cell.ravel(), weights, minlength=draws * self.intervals * self.size)
        return found.reshape(draws, self.intervals, self.size)

    def as_it_was(self) -> Float[np.ndarray, "1 interval stakeholder"]:
        """What each received in each interval."""
        return self.receipts(self.who[None])

    def received_at_slots(self) -> Float[np.ndarray, "slot stakeholder"]:
        """What each received at each time point, corrections included."""
        slots = len(self.interval)
        each = replace(self, interval=np.arange(slots), intervals=slots)
        return each.as_it_was()[0]


def numbered(kinds: Iterable[Hashable]) -> Int[np.ndarray, " item"]:
    """Each different thing as a number from 0.

    >>> numbered("abca").tolist()
    [0, 1, 2, 0]
    """
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(kind, len(known)) for kind in kinds], dtype=np.int64)


def _odds(supply: Supply) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of odds, each for a stretch of time points, and which holds when."""
    present = supply.present()
    entitled = supply.entitled()
    if isinstance(entitled, Reading):
        entitled = np.nan_to_num(entitled.by(supply.moments))
    return stretches(np.where(present, entitled, 0.0))


def _require_eligible(
    supply: Supply, odds: np.ndarray, pattern: np.ndarray, slots: np.ndarray
) -> None:
    anybody: Bool[np.ndarray, " pattern"] = odds.sum(axis=1) > 0
    for slot in slots[~anybody[pattern[slots]]][:1]:
        when = moment_label(supply.moments[slot])
        if supply.present(slice(slot, slot + 1)).any():
            raise ZeroEntitlement(
                f"the entitlements of those who are there at {when} add up to 0, and something "
                f"was given out then: fix {argument('entitlement')}, or the dates of "
                f"{argument('roster')}."
            )
        raise BadLog(
            f"nobody was eligible at {when}, and something was given out then: fix the dates of "
            f"{argument('roster')}."
        )


def _taken_back(slot: np.ndarray, who: np.ndarray, amount: np.ndarray) -> TakenBack:
    """Each correction set against the latest lots of the same stakeholder that are left."""
    number = np.cumsum(amount > 0) - 1  # the place of each lot among those above 0
    left: dict[int, list[list[float]]] = {}  # of each stakeholder: lots and what is left of them
    corrected = set(who[amount < 0].tolist())
    found: list[tuple[int, int, int, float]] = []
    # Of one time point, what was given comes before what was taken back.
    for k in np.lexsort((amount < 0, slot)):
        person, size = int(who[k]), float(amount[k])
        if person not in corrected or size == 0:
            continue
        lots = left.setdefault(person, [])
        if size > 0:
            lots.append([int(number[k]), size])
            continue
        missing = -size
        while missing > 0 and lots:
            taken = min(missing, lots[-1][1])
            found.append((int(slot[k]), int(lots[-1][0]), person, -taken))
            missing -= taken
            lots[-1][1] -= taken
            if lots[-1][1] <= 0:
                lots.pop()
        if missing > 0:
            found.append((int(slot[k]), -1, person, -missing))
    columns = list(zip(*found, strict=True)) if found else [(), (), (), ()]
    slots, lots_of, people = (np.array(column, dtype=np.int64) for column in columns[:3])
    return TakenBack(slots, lots_of, people, np.array(columns[3], dtype=float))


# What chance alone would have done: fair ways to give out the same lots, each in a sentence.
#
# Times, lots, presence, requests and entitlements stay as they were. A correction goes to whoever
# drew the lot that it corrects.


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
