"""What was given out at each time point, and who could have received it.

This is what stays fixed whenever somebody asks what else could have happened: whether chance would
have done the same, how much fairer it could have been, what another rule would have done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.auditing.log import Log
from evenhand.auditing.reading.lots import Lots, lots_of_cells
from evenhand.auditing.reading.roster import Roster, presence
from evenhand.auditing.reading.timed_amounts import Reading, TimedAmounts

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class Supply:
    """The time points of a log, the lots of each, and what is known of the stakeholders at each.

    Eligible at a time point is who is present then and, where requests are known, had asked by then
    for more than it had received before. What somebody had received depends on how the lots were
    shared, so `asked` is given here and set against receipts by whoever shares them.
    """

    names: tuple[str, ...]
    moments: np.ndarray  # of the time points: datetime64[us] in UTC, or plain numbers
    lots: Lots
    roster: Roster | None = None
    shares: Float[np.ndarray, " stakeholder"] | None = None  # entitlements that never change
    beside: Mapping[str, TimedAmounts] = field(default_factory=dict)  # asked, entitled

    @classmethod
    def of(cls, log: Log) -> Supply:
        """The supply of a log; what each got at a time point is one lot, unless rows were kept."""
        known = {part: log.beside.get(part) for part in ("asked", "entitled")}
        return cls(
            names=log.history.names,
            moments=log.history.slots,
            lots=lots_of_cells(log.history) if log.lots is None else log.lots,
            roster=log.roster,
            shares=log.shares,
            beside={part: k for part, k in known.items() if isinstance(k, TimedAmounts)},
        )

    def amounts(self) -> Float[np.ndarray, " time"]:
        """All that was given out at each time point."""
        given = self.lots.amount * self.lots.copies
        return np.bincount(self.lots.slot, weights=given, minlength=len(self.moments))

    def present(self, times: slice = slice(None)) -> Bool[np.ndarray, "time stakeholder"]:
        """Who is there at each time point, by the roster."""
        moments = self.moments[times]
        here = presence(self.roster, self.names, moments)
        return np.ones((len(moments), len(self.names)), dtype=bool) if here is None else here

    def bounds(self) -> tuple[Float[np.ndarray, " stakeholder"], Float[np.ndarray, " stakeholder"]]:
        """From when and until when each is there by the roster, as numbers."""
        if self.roster is not None and self.roster.dated:
            return self.roster.bounds(self.names, self.moments.dtype.kind != "M")
        size = len(self.names)
        return np.full(size, -np.inf), np.full(size, np.inf)

    def asked(self) -> Reading | None:
        """What each has asked for up to each moment, where requests are known."""
        return self.beside["asked"].totals() if "asked" in self.beside else None

    def entitled(self) -> Reading | Float[np.ndarray, " stakeholder"]:
        """What each is entitled to: at each moment where that changes, 1 where nothing is said."""
        if "entitled" in self.beside:
            return self.beside["entitled"].levels()
        return np.ones(len(self.names)) if self.shares is None else self.shares
