"""What stays as it was in every history that is drawn: lots, times, who was eligible, requests."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.moments import moment_label
from evenhand.auditing.chance.odds_over_time import stretches
from evenhand.auditing.judging.supply import Supply
from evenhand.auditing.reading.timed_amounts import Reading
from evenhand.errors import BadLog, ZeroEntitlement, argument

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


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
