"""The state of a rule at work: who is there, who has what, and a heap by priority."""

from __future__ import annotations

import contextlib
import heapq
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from evenhand.decide.rules.built_in import BEGIN_AT
from evenhand.decide.rules.rule import (
    DividingRule,
    Entrant,
    InOrder,
    Instant,
    Remembered,
    Rule,
    TieBreak,
)
from evenhand.log.history import most_with, open_amount

# Who has the least index among very many, in two tiers: a small heap in front of an array.
#
# The heap holds all whose index is at most a threshold. Whoever is served usually leaves it, which
# costs a write to the array. When it is empty, the threshold rises so that it holds the next few
# thousand: one pass over the array for thousands of decisions. A heap of a million would instead
# wait for memory at each of its twenty levels.

Entry = tuple[float, float, int]  # index, number that breaks ties, place
LEAST_IN_FRONT = 4096  # of so many a heap alone is as quick
PART_IN_FRONT = 32  # of more, one in so many


class PriorityHeap:
    """Places by index; of equal ones, by a number that breaks ties.

    >>> heap = PriorityHeap()
    >>> for place, index in enumerate([2.0, 1.0, 3.0]):
    ...     heap.put(place, index, place)
    >>> heap.first()
    1
    >>> heap.put(1, 9.0, 1)
    >>> heap.drop(0)
    >>> heap.first()
    2
    """

    def __init__(self) -> None:
        self._index, self._tie = array("d"), array("d")
        self._holds = bytearray()
        # Some entries are outdated: they are dropped when they are met.
        self._front: list[Entry] = []
        self._threshold = math.inf
        self._most_in_front = LEAST_IN_FRONT

    def put(self, place: int, index: float, tie: float) -> None:
        """Set the index of a place."""
        if place >= len(self._holds):
            self._grow(place + 1)
        self._index[place], self._tie[place], self._holds[place] = index, tie, 1
        if index <= self._threshold:
            front = self._front
            if front and front[0][2] == place:
                heapq.heapreplace(front, (index, tie, place))
            else:
                heapq.heappush(front, (index, tie, place))
                if len(front) > self._most_in_front:
                    self._refill()

    def set_entry(self, place: int, entry: Entry | None) -> None:
        """Put a place back as it was."""
        if entry is None:
            self.drop(place)
        else:
            self.put(place, entry[0], entry[1])

    def drop(self, place: int) -> None:
        """Take a place out, if it is in."""
        if place < len(self._holds):
            self._holds[place] = 0

    def holds(self, place: int) -> bool:
        return place < len(self._holds) and self._holds[place] == 1

    def __len__(self) -> int:
        return self._holds.count(1)

    def entry(self, place: int) -> Entry | None:
        return (self._index[place], self._tie[place], place) if self.holds(place) else None

    def first(self) -> int | None:
        """The place of the least index; None if there is none."""
        index, tie, holds = self._index, self._tie, self._holds
        while True:
            front = self._front
            while front:
                top = front[0]
                place = top[2]
                if holds[place] and index[place] == top[0] and tie[place] == top[1]:
                    return place
                heapq.heappop(front)
            if not self._refill():
                return None

    def first_where(self, fits: Callable[[int], bool]) -> int | None:
        """The place of the least index of those that fit."""
        aside: list[Entry] = []
        found = self.first()
        while found is not None and not fits(found):
            aside.append(heapq.heappop(self._front))
            self._holds[found] = 0
            found = self.first()
        for index, tie, place in aside:
            self.put(place, index, tie)
        return found

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The index and the tie of every place, and whether it is in."""
        # Copies: an array that somebody looks into cannot grow.
        index, tie = np.array(self._index), np.array(self._tie)
        return index, tie, np.array(self._holds, dtype=bool)

    def _grow(self, size: int) -> None:
        more = size - len(self._holds)
        self._index.extend([0.0] * more)
        self._tie.extend([0.0] * more)
        self._holds.extend(bytes(more))

    def _refill(self) -> bool:
        """Put the next few into the heap; whether there are any."""
        holds = np.frombuffer(self._holds, dtype=np.uint8).astype(bool)
        places = np.flatnonzero(holds)
        index = np.frombuffer(self._index)[places]
        wanted = max(LEAST_IN_FRONT, len(places) // PART_IN_FRONT)
        self._threshold = math.inf
        if len(places) > wanted:
            self._threshold = float(np.partition(index, wanted)[wanted])
            near = index <= self._threshold
            places, index = places[near], index[near]
        tie = np.frombuffer(self._tie)[places]
        order = np.lexsort((tie, index))  # a sorted list is a heap
        columns = (index[order].tolist(), tie[order].tolist(), places[order].tolist())
        self._front = list(zip(*columns, strict=True))
        self._most_in_front = 4 * len(places) + LEAST_IN_FRONT
        return bool(len(places))


class Standings:
    """Who comes before whom, of those in a heap, or of some of them, at one moment.

    Args:
        heap: All of them.
        some: The places that count, if not all.
    """

    def __init__(self, heap: PriorityHeap, some: Iterable[int] | None = None) -> None:
        self._index, self._tie, self._counts = heap.columns()
        if some is not None:
            chosen = np.zeros(len(self._counts), dtype=bool)
            chosen[list(some)] = True
            self._counts &= chosen

    def __len__(self) -> int:
        return int(self._counts.sum())

    def first(self) -> int:
        """The place of the least index; there must be one."""
        places = np.flatnonzero(self._counts)
        least = places[self._index[places] == self._index[places].min()]
        return int(least[np.argmin(self._tie[least])])  # the first of several

    def rank(self, place: int) -> int | None:
        """How many come before a place, and one; None if it does not count."""
        if place >= len(self._counts) or not self._counts[place]:
            return None
        index, tie = self._index[place], self._tie[place]
        places = np.arange(len(self._index))
        even = self._index == index
        before = (self._index < index) | (even & (self._tie < tie))
        before |= even & (self._tie == tie) & (places < place)
        return int((before & self._counts).sum()) + 1


# A rule at work: who is there, what is remembered of each, and who is next.
#
# Stakeholders are numbered in the order of joining. `Allocator` is the same with names, events and
# reasons, for those who decide live.


class RuleState:
    """What a rule has to know, kept up to date one event at a time.

    Args:
        rule: Who is next.
        ties: How ties are broken.
        by_request: Whether only those are eligible who asked for more than they received.
    """

    def __init__(self, rule: Rule, ties: TieBreak | None = None, by_request: bool = False) -> None:
        self.rule, self.ties = rule, ties or InOrder()
        self.by_request = by_request
        # Most rules have nothing that others being chosen could outdate: that need not be asked.
        self._outdates = type(rule).caught_up is not Rule.caught_up
        self.time, self.turn = 0.0, 0
        self.front = 0.0  # the index of whoever was chosen last
        self.memory: list[Remembered] = []
        self.entitlement: list[float] = []
        self.received: list[float] = []
        self.asked: list[float] = []
        self.there = bytearray()  # on the roster
        self.paused = bytearray()
        self.heap = PriorityHeap()
        # A turn, the last moment of it at which somebody came, and its number.
        self.moments = (0, 0.0, 0)
        self._starts: dict[str, float] = {}  # levels of those there, until something changes
        self._starting = (0.0, 0)  # when these were taken
        # While something is tried: what was remembered, received and asked for, and the entry of
        # the heap.
        self._before: dict[int, tuple[Remembered, float, float, Entry | None]] | None = None

    @property
    def instant(self) -> Instant:
        return Instant(self.time, self.turn)

    # Who is there.

    def require_entrant(self, number: int | None) -> None:
        """Refuse one more whom the rule could not decide on (see `add`). Most can on anybody."""

    def add(self, entitlement: float = 1.0, number: int | None = None) -> int:
        """Somebody joins: the place that it has from now on.

        Args:
            entitlement: What it is entitled to.
            number: Which of all stakeholders it is, for a rule that knows them apart; in the order
                of joining by default.
        """
        place = len(self.memory)
        start = self.rule.begin(Entrant(place, entitlement, self.instant, self))
        if self.by_request:  # which is eligible once it asks
            start = self.rule.away(start, self.instant)
        self.memory.append(start)
        self.entitlement.append(entitlement)
        self.received.append(0.0)
        self.asked.append(0.0)
        self.there.append(1)
        self.paused.append(0)
        if not self.by_request:
            self._put(place)
        return place

    def pause(self, place: int) -> None:
        """Somebody is not eligible until it resumes."""
        self._mark(self.paused, place, 1)

    def resume(self, place: int) -> None:
        self._mark(self.paused, place, 0)

    def leave(self, place: int) -> None:
        """Somebody is no longer on the roster."""
        self._mark(self.there, place, 0)

    def entitle(self, place: int, entitlement: float) -> None:
        """Somebody is entitled to another amount from now on."""
        before, self.entitlement[place] = self.entitlement[place], entitlement
        self.memory[place] = self.rule.entitled(self.memory[place], before, entitlement, self.front)
        self._starts.clear()
        if self.heap.holds(place):
            self._put(place)

    def ask(self, place: int, amount: float, since: float | None = None) -> None:
        """Somebody asks for so much more.

        Args:
            place: Who asks.
            amount: How much more it asks for.
            since: When it asked, if that was before it joined.
        """
        was = self.heap.holds(place)
        instant = self.instant if since is None else Instant(since, self.turn)
        self.memory[place] = self.rule.asked(self.memory[place], amount, instant)
        self.asked[place] += amount
        if was:
            self._put(place)
        elif self.eligible(place):
            self._return(place, asked=True)

    def eligible(self, place: int) -> bool:
        """Whether somebody is there, not paused, and, where requests count, wants more."""
        here = bool(self.there[place]) and not self.paused[place]
        return here and (not self.by_request or self.room(place) > 0.0)

    def room(self, place: int) -> float:
        """How much more somebody wants: ∞ where requests do not count."""
        if not self.by_request:
            return math.inf
        room: float = open_amount(self.asked[place], self.received[place])
        return room

    # Who is next.

    def first(self, amount: float = 1.0, among: Iterable[int] | None = None) -> int | None:
        """Whoever is next, of those who can take the amount whole; None if nobody can."""
        if among is not None:
            able = [place for place in self._caught_up(among) if self.fits(place, amount)]
            return min(able, key=self.heap.entry, default=None)  # type: ignore[arg-type]
        if not self.by_request:
            return self._front(self.heap.first) if self._outdates else self.heap.first()
        return self._front(lambda: self.heap.first_where(lambda place: self.fits(place, amount)))

    def order(self, among: Iterable[int] | None = None) -> list[int]:
        """All who are eligible, whoever is next first."""
        return sorted(self._caught_up(among), key=self.heap.entry)  # type: ignore[arg-type]

    def ranked(self, among: Iterable[int] | None = None) -> Standings:
        """The same without sorting, for those who ask about one of very many."""
        if among is None and not self._outdates:
            return Standings(self.heap)
        return Standings(self.heap, self._caught_up(among))

    def shares(self, amount: float, among: Iterable[int] | None = None) -> list[tuple[int, float]]:
        """What each is given of an amount, by a rule that divides."""
        rule = self.rule
        assert isinstance(rule, DividingRule)
        places = self._held(among)
        levels = np.array([rule.index(self.memory[k], self.entitlement[k]) for k in places])
        entitled = np.array([self.entitlement[k] for k in places])
        room = np.array([self.room(k) for k in places])
        given = rule.shares(amount, levels, entitled, room) if places else np.zeros(0)
        return [(k, float(part)) for k, part in zip(places, given, strict=True) if part > 0.0]

    def fits(self, place: int, amount: float) -> bool:
        """Whether somebody wants as much as an amount, where requests count."""
        if not self.by_request:
            return True
        fits: bool = self.received[place] + amount <= most_with(self.asked[place])
        return fits

    def compared_index(self, place: int) -> float:
        """The index of somebody as it is compared with others."""
        rule = self.rule
        return rule.compared(rule.index(self.memory[place], self.entitlement[place]))

    def _front(self, first: Callable[[], int | None]) -> int | None:
        """The first whose index is not outdated by what others were chosen for meanwhile."""
        while (place := first()) is not None and not self._is_caught_up(place):
            pass
        return place

    def _is_caught_up(self, place: int) -> bool:
        memory = self.memory[place]
        current = self.rule.caught_up(memory, self.entitlement[place], self.front)
        if current is memory:
            return True
        self._keep(place)
        self.memory[place] = current
        self._put(place)
        return False

    def _held(self, among: Iterable[int] | None) -> list[int]:
        """Those who are eligible, of all or of some."""
        everyone = range(len(self.memory)) if among is None else among
        return [place for place in everyone if self.heap.holds(place)]

    def _caught_up(self, among: Iterable[int] | None) -> list[int]:
        able = self._held(among)
        for place in able:
            self._is_caught_up(place)
        return able

    # What is given.

    def give(self, place: int, amount: float, among: Iterable[int] | None = None) -> None:
        """Somebody receives an amount above 0, of those who could take it."""
        entitlement = self.entitlement[place]
        if among is not None and self.rule.counts_turns:
            self._excuse(set(among))
        if self.heap.holds(place):
            self.front = self.rule.index(self.memory[place], entitlement)
        self._receive(place, amount)
        self.turn += 1

    def give_all(self, shares: Iterable[tuple[int, float]]) -> None:
        """Several receive something in one turn."""
        for place, amount in shares:
            self._receive(place, amount)
        self.turn += 1

    def _excuse(self, able: set[int]) -> None:
        """Whoever is not among these could not take this turn, and so is not passed over."""
        for place in range(len(self.memory)):
            if place not in able and self.heap.holds(place):
                self._keep(place)
                self.memory[place] = self.rule.excused(self.memory[place])
                self._put(place)

    @contextlib.contextmanager
    def trial(self) -> Iterator[None]:
        """Whatever is chosen and given meanwhile is undone in the end."""
        now = self.time, self.turn, self.front, self.moments
        starts = self.starts
        self._before = {}
        try:
            yield
        finally:
            for place, (memory, received, asked, entry) in self._before.items():
                self.memory[place] = memory
                self.received[place], self.asked[place] = received, asked
                self.heap.set_entry(place, entry)
            self._before = None
            self.time, self.turn, self.front, self.moments = now
            self.starts = starts

    @contextlib.contextmanager
    def facing(self, amount: float | None) -> Iterator[None]:
        """While somebody asks who stands where, if so much were to be given whole.

        No rule minds, but a policy does: what it is worth to choose somebody depends on the lot.
        None is what was given last or is usual.
        """
        yield

    def set_aside(self, place: int) -> None:
        """While something is tried: somebody is not chosen again."""
        self._keep(place)
        self.heap.drop(place)

    def _keep(self, place: int) -> None:
        if self._before is not None and place not in self._before:
            received, asked = self.received[place], self.asked[place]
            self._before[place] = (self.memory[place], received, asked, self.heap.entry(place))

    def _receive(self, place: int, amount: float) -> None:
        self._keep(place)
        memory = self.rule.served(
            self.memory[place], amount, self.entitlement[place], Instant(self.time, self.turn)
        )
        self.memory[place] = memory
        self.received[place] += amount
        if self.by_request and self.asked[place] < self.received[place]:
            # What is given unasked counts as asked for then, and leaves later requests as they are.
            self.asked[place] = self.received[place]
        if self._starts:
            self._starts.clear()
        if not self.heap.holds(place):
            return
        if self.by_request and not self.room(place):
            self.heap.drop(place)
            self.memory[place] = self.rule.away(memory, Instant(self.time, self.turn + 1))
            return
        self._put(place)

    # What those who join are told (see `Others`).

    def moment_of_turn(self) -> int:
        turn, time, count = self.moments
        if turn != self.turn:
            self.moments = (self.turn, self.time, 0)
        elif time != self.time:
            self.moments = (turn, self.time, count + 1)
        return self.moments[2]

    def least_index(self) -> float | None:
        first = self._front(self.heap.first)
        return (
            None if first is None else self.rule.index(self.memory[first], self.entitlement[first])
        )

    @property
    def starts(self) -> dict[str, float]:
        """Where those who join at this very moment begin, as far as somebody asked already.

        It is part of the state: the mean of those there, worked out again with those who joined at
        it, can differ in its last digit, and a tie would be broken by that.
        """
        return dict(self._starts) if self._starting == (self.time, self.turn) else {}

    @starts.setter
    def starts(self, starts: Mapping[str, float]) -> None:
        self._starts, self._starting = dict(starts), (self.time, self.turn)

    def starting_level(self, newcomers: str) -> float:
        """Where newcomers begin, whoever else joined at this very moment."""
        begin = BEGIN_AT[newcomers]
        if begin is None:
            return 0.0
        if self._starting != (self.time, self.turn):
            self._starts.clear()
            self._starting = (self.time, self.turn)
        if newcomers not in self._starts:
            here, levels, entitled = self.levels()
            self._starts[newcomers] = float(begin(levels, entitled)) if here else 0.0
        return self._starts[newcomers]

    def levels(self) -> tuple[list[int], np.ndarray, np.ndarray]:
        """Those who are there, the level of each, and what each is entitled to."""
        level, memory, entitled, now = self.rule.level, self.memory, self.entitlement, self.instant
        here = [k for k in range(len(memory)) if self.there[k]]
        levels = np.array([level(memory[k], entitled[k], now) for k in here])
        return here, levels, np.array([entitled[k] for k in here])

    def _mark(self, column: bytearray, place: int, mark: int) -> None:
        """Change what may make somebody eligible, or no longer so."""
        was = self.heap.holds(place)
        column[place] = mark
        if was and not self.eligible(place):
            self.heap.drop(place)
            self.memory[place] = self.rule.away(self.memory[place], self.instant)
        elif not was and self.eligible(place):
            self._return(place)
        self._starts.clear()

    def _return(self, place: int, asked: bool = False) -> None:
        entrant = Entrant(place, self.entitlement[place], self.instant, self, asked)
        self.memory[place] = self.rule.back(self.memory[place], entrant)
        self._put(place)

    def _put(self, place: int) -> None:
        self.heap.put(place, self.compared_index(place), self.ties.number(place, self.turn))
