"""A supply decided by a rule: what was given out, at the same times, to whoever is next."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.decide.replay.stakeholder_changes import Members
from evenhand.decide.rules.rule import Foreseen, Rule
from evenhand.decide.rules.rule_state import RuleState
from evenhand.decide.rules.ties import TieBreak
from evenhand.errors import BadParameter, argument
from evenhand.log.log import Supply

if TYPE_CHECKING:
    from jaxtyping import Float, Int

MOST_AHEAD = 20_000_000  # pairs of a lot and a stakeholder that a rule looks at ahead


@dataclass(frozen=True, eq=False)
class Decisions:
    """Who got what at each time point, in order of time, and what nobody could take."""

    slot: Int[np.ndarray, " decision"]
    who: Int[np.ndarray, " decision"]
    amount: Float[np.ndarray, " decision"]
    left_over: Float[np.ndarray, " time"]
    words: str | None = None  # what the rule could keep, where it looks ahead

    def cells(self, size: int) -> Decisions:
        """With what each got at each time point added up."""
        key, place = np.unique(self.slot * size + self.who, return_inverse=True)
        amount = np.bincount(place, weights=self.amount, minlength=len(key))
        return Decisions(key // size, key % size, amount, self.left_over, self.words)


def state_for(rule: Rule, supply: Supply, ties: TieBreak | None = None) -> RuleState:
    """The state of a rule before a supply, in which nobody has joined yet."""
    by_request = "asked" in supply.beside
    if rule.needs_requests and not by_request:
        raise BadParameter(
            f"{rule.describe()} needs requests: say with {argument('asked')} or "
            f"{argument('requests')} who asked for how much, or choose another rule."
        )
    rule.require_supply(len(supply.names), np.repeat(supply.lots.amount, supply.lots.copies))
    return rule.fitted(supply.moments.dtype.kind != "M").new_state(ties, by_request)


def decide_supply(supply: Supply, rule: Rule, ties: TieBreak | None = None) -> Decisions:
    """Every lot of a supply given to whoever is next by a rule.

    At one time point the largest lot is given first. A rule that divides shares what there is at a
    time point in all, in whole units where the lots are whole. A lot that nobody wants whole is
    split: whoever is next takes what it wants, and so on; what nobody wants is left over.

    Args:
        supply: What was given out when, and who was there.
        rule: Who is next.
        ties: How ties are broken; by the order of joining by default.
    """
    state = state_for(rule, supply, ties)
    members = Members(supply, state)
    taken = Taken(members)
    whole = bool((supply.lots.amount == np.rint(supply.lots.amount)).all())
    left_over = np.zeros(len(supply.moments))
    moments = as_numbers(supply.moments).tolist()
    ahead = None if state.by_request else foreseen(rule, supply)
    known = iter(() if ahead is None or ahead.served is None else ahead.served)
    for slot, amounts in _lots_by_slot(supply):
        members.until(moments[slot])
        if rule.divides:
            left_over[slot] = divide(state, sum(amounts), whole, taken)
        else:
            ones = itertools.islice(known, len(amounts))
            planned = [members.place[who] if who >= 0 else -1 for who in ones]
            left_over[slot] = give_lots(state, amounts, taken, planned)
        taken.end(slot)
    return replace(taken.decisions(left_over), words=ahead and ahead.words)


def foreseen(rule: Rule, supply: Supply) -> Foreseen | None:
    """What a rule makes of knowing who will be there at each lot to come; None: nothing."""
    turns = int(supply.lots.copies[supply.lots.amount > 0].sum())
    if not rule.counts_turns or turns * len(supply.names) > MOST_AHEAD:
        return None
    slots = [slot for slot, amounts in _lots_by_slot(supply) for _ in amounts]
    return rule.foresee(supply.present()[slots])


class Taken:
    """What was given, in compact arrays."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self.place, self.amount = array("q"), array("d")
        self._slots: list[tuple[int, int]] = []  # a time point, and how many decisions there were

    def end(self, slot: int) -> None:
        self._slots.append((slot, len(self.place)))

    def decisions(self, left_over: np.ndarray) -> Decisions:
        ends = np.array([end for _, end in self._slots], dtype=np.int64)
        slots = np.array([slot for slot, _ in self._slots], dtype=np.int64)
        who = np.array(self._members.who, dtype=np.int64)
        place = np.frombuffer(self.place, dtype=np.int64) if len(self.place) else ends[:0]
        return Decisions(
            np.repeat(slots, np.diff(ends, prepend=0)),
            who[place],
            np.array(self.amount, dtype=float),
            left_over,
        )


def lots_in_order(
    supply: Supply,
) -> tuple[Int[np.ndarray, " lot"], Float[np.ndarray, " lot"]]:
    """The time point and the amount of each lot, in the order in which they are given out."""
    lots = supply.lots
    order = np.lexsort((-lots.amount, lots.slot))
    kept = order[lots.amount[order] > 0]
    copies = lots.copies[kept]
    return np.repeat(lots.slot[kept], copies), np.repeat(lots.amount[kept], copies)


def _lots_by_slot(supply: Supply) -> Iterator[tuple[int, list[float]]]:
    """The lots of each time point that has any, the largest first."""
    slot, amount = lots_in_order(supply)
    starts = np.flatnonzero(np.diff(slot, prepend=-1)).tolist()
    for start, stop in itertools.pairwise([*starts, len(slot)]):
        yield int(slot[start]), amount[start:stop].tolist()


def give_lots(
    state: RuleState, amounts: list[float], taken: Taken, planned: Sequence[int] = ()
) -> float:
    """Lots to whoever is next, or to whom it is planned; what is left over."""
    first, give = state.first, state.give
    note_place, note_amount = taken.place.append, taken.amount.append
    left = 0.0
    for turn, amount in enumerate(amounts):
        place = planned[turn] if planned else first(amount)
        if place is None or place < 0:
            left += _split(state, amount, taken)
            continue
        give(place, amount)
        note_place(place)
        note_amount(amount)
    return left


def _split(state: RuleState, amount: float, taken: Taken) -> float:
    """A lot that nobody can take whole, in parts; what is left over."""
    while amount > 0.0 and (place := state.first(0.0)) is not None:
        part = min(amount, state.room(place))
        state.give(place, part)
        taken.place.append(place)
        taken.amount.append(part)
        amount -= part
    return amount


def divide(state: RuleState, amount: float, whole: bool, taken: Taken) -> float:
    """An amount shared among all; what is left over."""
    shares = state.shares(amount)
    if whole:
        index, memory, entitled = state.rule.index, state.memory, state.entitlement
        shares = in_whole_units(shares, [index(memory[k], entitled[k]) for k, _ in shares])
    state.give_all(shares)
    for place, part in shares:
        taken.place.append(place)
        taken.amount.append(part)
    left = amount - sum(part for _, part in shares)
    return left if left > 1e-9 * amount else 0.0


def in_whole_units(shares: list[tuple[int, float]], levels: list[float]) -> list[tuple[int, float]]:
    """Shares in whole units, of the same sum: those with the largest remainder get one more.

    Of equal remainders, those at the lowest level: else the first would always be rounded up.

    >>> in_whole_units([(0, 1.5), (1, 0.5), (2, 1.0)], [3.0, 2.0, 0.0])
    [(0, 1.0), (1, 1.0), (2, 1.0)]
    """
    parts = np.array([part for _, part in shares])
    down = np.floor(parts + 1e-9)
    short = round(float(parts.sum() - down.sum()))
    order = np.lexsort((levels, np.round(down - parts, 9)))
    down[order[:short]] += 1.0
    return [(place, part) for (place, _), part in zip(shares, down.tolist(), strict=True) if part]
