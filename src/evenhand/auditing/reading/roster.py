"""All who should be served, and from when until when: those who got nothing are not in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.errors import BadRoster

if TYPE_CHECKING:
    from jaxtyping import Bool


@dataclass(frozen=True, eq=False)
class Roster:
    """Names, and the moments between which each is there; infinite where none is given."""

    names: tuple[str, ...]
    first: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)

    @property
    def dated(self) -> bool:
        return bool(self.first or self.last)

    def bounds(self, names: tuple[str, ...], plain_numbers: bool) -> tuple[np.ndarray, np.ndarray]:
        """From and until of each name, as numbers that compare with `as_numbers(moments)`."""
        self._require_kind(plain_numbers)
        kind = np.float64 if plain_numbers else "datetime64[us]"

        def numbers(known: Mapping[str, Any], blank: float) -> np.ndarray:
            return np.array(
                [
                    float(as_numbers(np.asarray(known[name]).astype(kind)))
                    if name in known
                    else blank
                    for name in names
                ]
            )

        return numbers(self.first, -np.inf), numbers(self.last, np.inf)

    def _require_kind(self, plain_numbers: bool) -> None:
        """Refuse dates where times are plain numbers, or the other way round."""
        kinds = ("dates", "plain numbers")
        for known in (self.first, self.last):
            for name, moment in known.items():
                if (np.asarray(moment).dtype.kind != "M") != plain_numbers:
                    raise BadRoster(
                        f"the roster says from when until when {name!r} is there in "
                        f"{kinds[not plain_numbers]}, and the times it is compared with are "
                        f"{kinds[plain_numbers]}: write both in one way."
                    )


def presence(
    roster: Roster | None, names: tuple[str, ...], moments: np.ndarray
) -> Bool[np.ndarray, "step stakeholder"] | None:
    """Who is there at each moment, or None where everyone always is."""
    if roster is None or not roster.dated:
        return None
    first, last = roster.bounds(names, moments.dtype.kind != "M")
    at = as_numbers(moments)[:, None]
    return (at >= first) & (at <= last)
