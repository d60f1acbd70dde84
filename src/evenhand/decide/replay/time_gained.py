"""What changed for whom: how much more, and how much sooner, one log gave than another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import DAY, as_numbers
from evenhand._util.wording import format_number
from evenhand.auditing.verdict import Terms
from evenhand.decide.rules.spans import span_in_words

if TYPE_CHECKING:
    from evenhand.decide.replay.replay_supply import Decisions
    from evenhand.log.log import Supply

ALIKE = 1e-9  # of an amount or a time: a difference that is none


@dataclass(frozen=True)
class Gain:
    """What another rule would have changed for one stakeholder.

    `sooner` is how much earlier it would have had what both give it, on average over its units: a
    time in the unit of the log's times (microseconds where they are dates), below 0 if later.
    """

    name: str
    before: float
    after: float
    sooner: float
    area: float  # amount times time: by how much more it would have had all along

    @property
    def shared(self) -> float:
        """What it gets in both."""
        return min(self.before, self.after)

    def sentence(self, unit: str | None, plain_numbers: bool, counted: bool = False) -> str:
        """Such as "Alaska would have had 12,000 doses on average 3 weeks sooner.".

        Args:
            unit: What amounts are counted in, or the column that holds them.
            plain_numbers: Whether times are plain numbers.
            counted: Whether the unit can stand behind a number, whatever its form.
        """
        units = Terms(unit=unit, counted=counted).units[0]
        parts = []
        if self.shared and abs(self.sooner) > 0:
            when = "sooner" if self.sooner > 0 else "later"
            span = span_in_words(abs(self.sooner), plain_numbers)
            much = f"{format_number(self.shared)}{units}"
            parts.append(f"had {much} on average {span} {when}")
        more = self.after - self.before
        if more:
            word = "more" if more > 0 else "less"
            parts.append(f"received {format_number(abs(more))}{'' if parts else units} {word}")
        return f"{self.name} would have {' and '.join(parts) or 'had the same'}."

    def to_json(self, plain_numbers: bool) -> dict[str, Any]:
        return {
            "name": self.name,
            "received": self.before,
            "would_have_received": self.after,
            "sooner": self.sooner if plain_numbers else self.sooner / DAY,  # in days
        }


def gains(supply: Supply, before: Decisions, after: Decisions) -> list[Gain]:
    """What changed for each stakeholder, those for whom most changed first."""
    moments, size = as_numbers(supply.moments), len(supply.names)
    until = moments[-1] - moments

    def sums(given: Decisions) -> tuple[np.ndarray, np.ndarray]:
        return (
            np.bincount(given.who, given.amount, size),
            np.bincount(given.who, given.amount * until[given.slot], size),
        )

    (had, area_had), (gets, area_gets) = sums(before), sums(after)
    gets, area_gets = _unless_alike(gets, had), _unless_alike(area_gets, area_had)
    sooner = _sooner(before, after, moments, size)
    sooner[np.abs(sooner) <= ALIKE * until[0]] = 0.0
    found = [
        Gain(name, *numbers)
        for name, *numbers in zip(
            supply.names,
            had.tolist(),
            gets.tolist(),
            sooner.tolist(),
            (area_gets - area_had).tolist(),
            strict=True,
        )
    ]
    return sorted(found, key=lambda gain: (-abs(gain.area), -abs(gain.after - gain.before)))


def _unless_alike(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Values, or the others where they differ by rounding alone: 5.6e-17 more is no more."""
    alike = np.abs(values - others) <= ALIKE * np.maximum(np.abs(values), np.abs(others))
    return np.where(alike, others, values)


def _sooner(before: Decisions, after: Decisions, moments: np.ndarray, size: int) -> np.ndarray:
    """The mean over the units that both give of when the one gives them minus the other."""
    found = np.zeros(size)
    both = [_curves(one, moments, size) for one in (before, after)]
    for who in range(size):
        (had, at), (gets, then) = (curves[who] for curves in both)
        if not len(had) or not len(gets):
            continue
        shared = min(had[-1], gets[-1])
        if shared <= 0.0:
            continue
        found[who] = (_waited(had, at, shared) - _waited(gets, then, shared)) / shared
    return found


def _waited(totals: np.ndarray, at: np.ndarray, shared: float) -> float:
    """The moments at which the first so many units came, added up over them."""
    reached = np.minimum(totals, shared)
    return float((np.diff(reached, prepend=0.0) * at).sum())


def _curves(
    given: Decisions, moments: np.ndarray, size: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each had received by when."""
    order = np.argsort(given.who, kind="stable")
    amount, at = given.amount[order], moments[given.slot[order]] - moments[0]
    ends = np.searchsorted(given.who[order], np.arange(size), side="right")
    parts = zip(np.split(amount, ends[:-1]), np.split(at, ends[:-1]), strict=True)
    return [(np.cumsum(own), when) for own, when in parts]
