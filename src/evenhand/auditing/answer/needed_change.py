"""The smallest change: the least that would have had to go to others to reach a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand._util.wording import format_number

NAMED = 3  # who would have had most more, and most less, in a sentence


@dataclass(frozen=True)
class NeededChange:
    """How much of what was given out would have had to go to others at its time, and for what.

    `amount` is that of an allocation that was found, and less than `least` does not suffice.
    """

    aim: str  # what is to be reached, in words
    threshold: float
    amount: float
    least: float
    total: float  # given out in all
    by_stakeholder: tuple[tuple[str, float], ...]  # how much more or less each would have had

    @property
    def gap(self) -> float:
        return max(self.amount - self.least, 0.0)

    def sentence(self) -> str:
        """What a verdict says of it."""
        if self.amount <= 1e-9 * self.total:
            return f"For {self.aim} nothing would have had to go to others: it is reached."
        words = (
            f"For {self.aim}, {format_number(self.amount)} of {format_number(self.total)} would "
            "have had to go to others at its time"
        )
        if self.gap > 1e-4 * self.amount:
            words += f" (at least {format_number(self.least)})"
        more = [(name, change) for name, change in self.by_stakeholder if change > 0][:NAMED]
        if not more:
            return f"{words}."
        shown = ", ".join(f"{name} ({format_number(change, True)})" for name, change in more)
        return f"{words}, most of it to {shown}."

    def to_json(self) -> dict[str, Any]:
        return {
            "aim": self.aim,
            "threshold": self.threshold,
            "amount": self.amount,
            "least": self.least,
            "gap": self.gap,
            "total": self.total,
            "by_stakeholder": dict(self.by_stakeholder),
        }
