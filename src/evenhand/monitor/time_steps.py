"""The steps that a monitor judges: each moment at which something happens, or calendar periods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_timestamps, moment_labels
from evenhand.auditing.questions import MOST_PERIODS, Period, needs_dates
from evenhand.errors import BadLog, BadParameter

if TYPE_CHECKING:
    from jaxtyping import Float

STEPS = 4096  # periods taken at once, however long a gap in the events is


class TimeSteps:
    """From moments to steps, and what a step is called.

    A step has a key: its moment, or the number of its period.
    """

    def __init__(self, period: Period | None) -> None:
        self.period = period
        self.plain_numbers = True  # or dates, as the first events say

    def take_kind(self, plain_numbers: bool, begun: bool) -> None:
        """The first events say whether times are dates or plain numbers."""
        if self.period is not None and plain_numbers:
            raise BadParameter(f"{needs_dates(self.period)}.")
        if begun and plain_numbers != self.plain_numbers:
            kinds = ("dates", "plain numbers")
            raise BadLog(
                f"the times so far are {kinds[self.plain_numbers]}, and these are "
                f"{kinds[plain_numbers]}: give times of one kind."
            )
        self.plain_numbers = plain_numbers

    def keys(self, at: np.ndarray) -> np.ndarray:
        """The step that each moment belongs to."""
        return at if self.period is None else self.period.number(_days(at))

    def is_over(self, key: np.ndarray, last_at: float) -> bool:
        """Whether a step is complete, if nothing more happens at the latest moment."""
        return self.period is None or bool(self.period.last_day(key)[0] <= _days(last_at))

    def moments(self, keys: np.ndarray) -> np.ndarray:
        """When each step is judged."""
        if self.period is not None:
            return (self.period.last_day(keys) + 1).astype("datetime64[us]") - 1
        return keys if self.plain_numbers else as_timestamps(keys)

    def labels(self, keys: np.ndarray) -> list[str]:
        """What each step is called."""
        if self.period is not None:
            return [self.period.label(int(key)) for key in keys]
        return moment_labels(self.moments(keys))

    def refuse_leap(self, keys: np.ndarray) -> None:
        """Refuse to judge more empty periods than make sense, before anything is judged."""
        if self.period is None:
            return
        for k in np.flatnonzero(np.diff(keys) > MOST_PERIODS)[:1]:
            before, after = (self.period.label(int(key)) for key in keys[k : k + 2])
            raise BadLog(
                f"an event in {after} comes {int(keys[k + 1] - keys[k]):,} {self.period.name}s "
                f"after the one before it, in {before}, and at most {MOST_PERIODS:,} are assessed: "
                "fix its time, or ask for longer periods."
            )

    def closed(
        self, keys: np.ndarray, received: Float[np.ndarray, "step n"]
    ) -> Iterator[tuple[np.ndarray, Float[np.ndarray, "step n"]]]:
        """Every step but the last, which is still open, with the empty periods between."""
        if self.period is None:
            yield keys[:-1], received[:-1]
            return
        for k in range(len(keys) - 1):
            gap = np.arange(keys[k], keys[k + 1])
            for start in range(0, len(gap), STEPS):
                some = np.zeros((len(gap[start : start + STEPS]), received.shape[1]))
                if start == 0:
                    some[0] = received[k]
                yield gap[start : start + STEPS], some


def _days(at: Any) -> np.ndarray:
    return as_timestamps(at).astype("datetime64[D]")
