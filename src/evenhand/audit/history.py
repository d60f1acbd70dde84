"""Who received how much at each time point: what a log comes down to, before it is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.trace import Trace

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

BLOCK_VALUES = 1 << 20  # rewards made at a time, so that memory does not grow with the history


@dataclass(frozen=True, eq=False)
class History:
    """Events at one time are one time point (a slot); a cell is what one got at one of them.

    Most stakeholders get nothing at most times, so only the cells that occur are kept, in order
    of time. A slot is a time point where the history is `exact`, and otherwise a day.
    """

    names: tuple[str, ...]
    slots: np.ndarray  # moments: datetime64[us] in UTC, or plain numbers
    slot: Int[np.ndarray, " cell"]
    who: Int[np.ndarray, " cell"]
    amount: Float[np.ndarray, " cell"]
    marks: Bool[np.ndarray, " slot"] | None = None  # where --when holds
    exact: bool = True
    rows: int = 0
    events: int = 0

    @property
    def plain_numbers(self) -> bool:
        return self.slots.dtype.kind != "M"

    def days(self) -> np.ndarray:
        return self.slots.astype("datetime64[D]")

    def totals(self) -> Float[np.ndarray, " stakeholder"]:
        return np.bincount(self.who, weights=self.amount, minlength=len(self.names))

    def only_cells(self, kept: Bool[np.ndarray, " cell"]) -> History:
        """Without some of the cells; a time at which nothing is left is no time point."""
        slot = self.slot[kept]
        left = np.unique(slot)
        return replace(
            self,
            slots=self.slots[left],
            slot=np.searchsorted(left, slot),
            who=self.who[kept],
            amount=self.amount[kept],
            marks=None if self.marks is None else self.marks[left],
        )

    def traces(self, step_of_slot: Int[np.ndarray, " slot"], steps: int) -> Iterator[Trace]:
        """The history as a trace, in blocks; slots that share a step are added up."""
        size = len(self.names)
        length = max(1, BLOCK_VALUES // size)
        step = step_of_slot[self.slot]
        for start in range(0, steps, length):
            stop = min(start + length, steps)
            low, high = np.searchsorted(step, (start, stop))
            place = (step[low:high] - start) * size + self.who[low:high]
            rewards = np.bincount(
                place, weights=self.amount[low:high], minlength=(stop - start) * size
            )
            yield Trace(rewards=rewards.reshape(stop - start, size), stakeholders=self.names)

    def fingerprint(self) -> str:
        """A digest of what was judged: names, times and amounts."""
        digest = hashlib.sha256("\0".join(self.names).encode("utf-8", "surrogatepass"))
        for array in (self.slots, self.slot, self.who, self.amount):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
