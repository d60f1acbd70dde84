"""Who has the least index among very many, in two tiers: a small heap in front of an array.

The heap holds all whose index is at most a threshold. Whoever is served usually leaves it, which
costs a write to the array. When it is empty, the threshold rises so that it holds the next few
thousand: one pass over the array for thousands of decisions. A heap of a million would instead wait
for memory at each of its twenty levels.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Iterable

import numpy as np

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
