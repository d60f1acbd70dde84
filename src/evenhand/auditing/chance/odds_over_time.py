"""In proportion to what a lottery gives out at any moment: the entitlements of those there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.moments import as_timestamps
from evenhand.auditing.reading.roster import Roster, presence

if TYPE_CHECKING:
    from jaxtyping import Float, Int


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
