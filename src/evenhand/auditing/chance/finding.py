"""What chance alone would have made of a log, as one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.chance.measures import CENTRAL, MeasureFinding
from evenhand.auditing.chance.naming import LEVEL, PersonFinding
from evenhand.auditing.chance.nulls import Null
from evenhand.auditing.chance.power import PowerFinding

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Band:
    """Between what chance leaves each at each assessment: at each time alone, not all at once."""

    low: Float[np.ndarray, "assessment status"]
    high: Float[np.ndarray, "assessment status"]
    names: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        def by_name(values: np.ndarray) -> dict[str, Any]:
            plain = [[None if v != v else v for v in column] for column in values.T.tolist()]
            return dict(zip(self.names, plain, strict=True))

        return {"share_of_draws": CENTRAL, "low": by_name(self.low), "high": by_name(self.high)}


@dataclass(frozen=True, eq=False)
class ChanceFinding:
    """A log beside many histories in which chance alone was at work."""

    null: Null
    draws: int
    seed: int
    measures: tuple[MeasureFinding, ...]
    people: tuple[PersonFinding, ...]  # the furthest behind first; nobody where groups are drawn
    band: Band | None = None
    power: PowerFinding | None = None
    noticed_at_worst: float | None = None  # how often the most extreme disadvantage is noticed
    less_is_better: bool = False

    @property
    def p(self) -> float:
        """How often chance leaves somebody as far behind, or groups as far apart."""
        if self.people:
            return self.people[0].p_among_all
        return self.measures[-1].p

    @property
    def named(self) -> tuple[str, ...]:
        """Those who are further behind than chance explains."""
        return tuple(one.name for one in self.people if one.named)

    def measure(self, name: str) -> MeasureFinding | None:
        """One of the figures, if it is known."""
        return {one.name: one for one in self.measures}.get(name)

    def to_json(self) -> dict[str, Any]:
        from evenhand.auditing.chance.chance_text import CANNOT_TELL, sentences

        return {
            "null": {"name": self.null.name, "sentence": self.null.sentence},
            "draws": self.draws,
            "seed": self.seed,
            "p": self.p,
            "level": LEVEL,
            "named": list(self.named),
            "words": sentences(self),
            "cannot_tell": CANNOT_TELL,
            "measures": [one.to_json() for one in self.measures],
            "stakeholders": [one.to_json() for one in self.people],
            "band": None if self.band is None else self.band.to_json(),
            "power": None if self.power is None else self.power.to_json(),
            "noticed_at_worst": self.noticed_at_worst,
        }


@dataclass(frozen=True)
class NotTested:
    """Why nothing is said of chance."""

    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"left_out": self.reason}
