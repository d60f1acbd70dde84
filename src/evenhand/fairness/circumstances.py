"""What is known of each stakeholder at a moment, beside what it received.

A trace that carries circumstances can be judged by rates, requests and entitlements that change
(see `status.beside`). Those of many moments are arrays [time, stakeholder], a row for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Circumstances:
    """At one moment or at many: what each may claim by then. None where it is not known."""

    entitled: Float[np.ndarray, "*time stakeholder"] | None = None  # to how much, at that moment
    chances: Float[np.ndarray, "*time stakeholder"] | None = None  # that it had so far
    asked: Float[np.ndarray, "*time stakeholder"] | None = None  # for how much, so far
    credit: Float[np.ndarray, "*time stakeholder"] | None = None  # with which it began
    level: Float[np.ndarray, "*time stakeholder"] | None = None  # at which it stands
    time_points: Float[np.ndarray, "*time stakeholder"] | None = None  # it was there at, so far

    @classmethod
    def stacked(cls, moments: Sequence[Circumstances]) -> Circumstances:
        """Those of many moments, from those of each."""
        parts = moments[0]._known()
        return cls(**{part: np.stack([getattr(one, part) for one in moments]) for part in parts})

    def __len__(self) -> int:
        return max(len(part) for part in self._known().values())

    def __getitem__(self, rows: int | slice | np.ndarray) -> Circumstances:
        return Circumstances(**{name: part[rows] for name, part in self._known().items()})

    def _known(self) -> dict[str, np.ndarray]:
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: part for name, part in parts.items() if part is not None}
