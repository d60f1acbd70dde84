"""The lots that were given out: each row of a log that is an event, which somebody got whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.auditing.reading.events import LogEvents
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.roster import Roster
from evenhand.auditing.sources.engines import engine_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Lots:
    """Lots in order of time; equal ones that one stakeholder got at one time are counted.

    A negative lot is a correction of what somebody got before.
    """

    slot: Int[np.ndarray, " lot"]  # the time point, as a place in the history's slots
    who: Int[np.ndarray, " lot"]
    amount: Float[np.ndarray, " lot"]
    copies: Int[np.ndarray, " lot"]

    def within(self, whole: History, history: History, roster: Roster | None) -> Lots:
        """The lots of a part of the history that they are of, while those who got them are there.

        Args:
            whole: The history that they are of.
            history: The part, of the same stakeholders.
            roster: Who is there, and when.
        """
        if history is whole:
            return self
        moments, given = as_numbers(history.slots), as_numbers(whole.slots)[self.slot]
        slot = np.minimum(np.searchsorted(moments, given), len(moments) - 1)
        kept = moments[slot] == given
        if roster is not None and roster.dated:
            first, last = roster.bounds(history.names, history.plain_numbers)
            kept &= (given >= first[self.who]) & (given <= last[self.who])
        return Lots(slot[kept], self.who[kept], self.amount[kept], self.copies[kept])


def read_lots(events: LogEvents, history: History) -> Lots:
    """The lots of a history that was counted from these events; of running totals, its cells."""
    one_row_each = history.events == len(history.slot)
    if events.options.holds_readings or one_row_each:
        return lots_of_cells(history)
    frame = events.frame.filter(~nw.col("amount").is_null())
    if not history.exact:
        frame = frame.with_columns(nw.col("at").dt.date())
    alike = frame.group_by("at", "who", "amount").agg(copies=nw.len())
    found = [
        _known(block["at"], block["who"], block["amount"], block["copies"], history)
        for block in engine_of(frame).blocks(alike, ("at", "who", "amount"), history.events)
    ]
    slot, who, amount, copies = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Lots(slot, who, amount, copies)


def lots_of_cells(history: History) -> Lots:
    """What each got at each time point as one lot."""
    one = np.ones(len(history.slot), dtype=np.int64)
    return Lots(
        np.array(history.slot), np.array(history.who), np.array(history.amount, dtype=float), one
    )


def _known(
    at: np.ndarray,
    names: np.ndarray,
    amount: np.ndarray,
    copies: np.ndarray,
    history: History,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The lots that the history counts, which are those at its time points."""
    moments = as_numbers(history.slots)
    given = as_numbers(at.astype(history.slots.dtype))
    slot = np.minimum(np.searchsorted(moments, given), len(moments) - 1)
    place = {name: k for k, name in enumerate(history.names)}
    # One by one: as text of NumPy's, a name that ends with a NUL would lose it.
    who = np.fromiter((place[str(name)] for name in names), np.int64, len(names))
    kept = (moments[slot] == given) & ~np.isnan(amount)
    return slot[kept], who[kept], amount[kept].astype(float), copies[kept].astype(np.int64)
