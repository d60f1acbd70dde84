"""Who received how much at each time point: what a log comes down to, before it is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.auditing.reading.growable_column import Column
from evenhand.auditing.reading.timed_amounts import TimedAmounts

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

BLOCK_VALUES = 1 << 20  # rewards made at a time, so that memory does not grow with the history


@dataclass(frozen=True, eq=False)
class History:
    """Events at one time are one time point (a slot); a cell is what one got at one of them.

    Most stakeholders get nothing at most times, so only the cells that occur are kept, in order
    of time. A slot is a time point where the history is `exact`, and otherwise a day, or of very
    many cells a month, by the last day of it at which anything happened. Cells may lie in a file
    (see `growable_column`), and so are looked at in parts.
    """

    names: tuple[str, ...]
    slots: np.ndarray  # moments: datetime64[us] in UTC, or plain numbers
    slot: Int[np.ndarray, " cell"]
    who: Int[np.ndarray, " cell"]
    amount: Float[np.ndarray, " cell"]
    marks: Bool[np.ndarray, " slot"] | None = None  # where the condition `when` holds
    exact: bool = True
    rows: int = 0
    events: int = 0
    beside: Mapping[str, Float[np.ndarray, " cell"]] = field(default_factory=dict)  # of each cell
    begins: np.datetime64 | None = None  # where slots are months: the first day of all

    @property
    def by_month(self) -> bool:
        """Whether days and weeks can no longer be told apart."""
        return self.begins is not None

    @property
    def first(self) -> Any:
        """The moment at which it begins."""
        return self.slots[0] if self.begins is None else self.begins

    @property
    def plain_numbers(self) -> bool:
        return self.slots.dtype.kind != "M"

    def days(self) -> np.ndarray:
        return self.slots.astype("datetime64[D]")

    def totals(self) -> Float[np.ndarray, " stakeholder"]:
        return np.bincount(self.who, weights=self.amount, minlength=len(self.names))

    def ledger(self, name: str) -> TimedAmounts:
        """What the log says beside the amounts, under one of the names of `beside`."""
        at = as_numbers(self.slots)[self.slot]
        return TimedAmounts(at, self.who, self.beside[name], len(self.names))

    def received(self) -> TimedAmounts:
        """The amounts themselves, over time."""
        at = as_numbers(self.slots)[self.slot]
        return TimedAmounts(at, self.who, self.amount, len(self.names))

    def parts(self) -> Iterator[slice]:
        """The cells, some at a time."""
        for start in range(0, len(self.slot), BLOCK_VALUES):
            yield slice(start, start + BLOCK_VALUES)

    def before(self, slot: int) -> History:
        """Without what happened at a slot and after it."""
        cells = int(np.searchsorted(self.slot, slot))
        return replace(
            self,
            slots=self.slots[:slot],
            slot=self.slot[:cells],
            who=self.who[:cells],
            amount=self.amount[:cells],
            marks=None if self.marks is None else self.marks[:slot],
            beside={name: values[:cells] for name, values in self.beside.items()},
        )

    def only_cells(self, kept: Callable[[slice], Bool[np.ndarray, " cell"]]) -> History:
        """Without some of the cells; times at which nothing is left are dropped."""
        slot, who, amount = Column(np.int64), Column(np.int64), Column(np.float64)
        beside = {name: Column(np.float64) for name in self.beside}
        left = np.zeros(len(self.slots), dtype=bool)
        for part in self.parts():
            here = kept(part)
            slot.append(self.slot[part][here])
            who.append(self.who[part][here])
            amount.append(self.amount[part][here])
            for name, column in beside.items():
                column.append(self.beside[name][part][here])
            left[self.slot[part][here]] = True
        if not left.all():
            place, moved = np.cumsum(left) - 1, Column(np.int64)
            old = slot.array()
            for start in range(0, len(old), BLOCK_VALUES):
                moved.append(place[old[start : start + BLOCK_VALUES]])
            slot = moved
        return replace(
            self,
            slots=self.slots[left],
            slot=slot.array(),
            who=who.array(),
            amount=amount.array(),
            marks=None if self.marks is None else self.marks[left],
            beside={name: column.array() for name, column in beside.items()},
        )

    def rewards(
        self, step_of_slot: Int[np.ndarray, " slot"], steps: int
    ) -> Iterator[Float[np.ndarray, "step stakeholder"]]:
        """What each received at each step, in blocks; slots that share a step are added up."""
        size = len(self.names)
        length = max(1, BLOCK_VALUES // size)
        for start in range(0, steps, length):
            stop = min(start + length, steps)
            slots = np.searchsorted(step_of_slot, (start, stop))
            low, high = np.searchsorted(self.slot, slots)
            rewards = np.zeros((stop - start) * size)
            for first in range(low, high, BLOCK_VALUES):
                part = slice(first, min(first + BLOCK_VALUES, high))
                place = (step_of_slot[self.slot[part]] - start) * size + self.who[part]
                rewards += np.bincount(place, weights=self.amount[part], minlength=len(rewards))
            yield rewards.reshape(stop - start, size)

    def fingerprint(self) -> str:
        """A digest of what was judged: names, times and amounts."""
        digest = hashlib.sha256("\0".join(self.names).encode("utf-8", "surrogatepass"))
        beside = (self.beside[name] for name in sorted(self.beside))
        for array in (self.slots, self.slot, self.who, self.amount, *beside):
            for start in range(0, len(array), BLOCK_VALUES):
                digest.update(np.ascontiguousarray(array[start : start + BLOCK_VALUES]).tobytes())
        return digest.hexdigest()
