"""Virtual time: least served, where whoever comes back does not make up for its absence.

This is the virtual token counter of fair serving, and start-time fair queueing before it: without
the lift, somebody who was away would be served alone until it had caught up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand._util.wording import format_number
from evenhand.decide.rules.rule import (
    RULES,
    Entrant,
    Instant,
    Remembered,
    Rule,
    without_last_digits,
)


@RULES.register("virtual_time")
@dataclass(frozen=True)
class VirtualTime(Rule):
    """Whoever's counter is lowest; who joins or comes back is lifted to the lowest of those there.

    The counter grows by what was received, per unit of what each is entitled to. If nobody else is
    there, it is lifted to the counter of whoever was served last, as it stood then.
    """

    def begin(self, entrant: Entrant) -> Remembered:
        return self.back((0.0,), entrant)

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        least = entrant.others.least_index()
        return (max(memory[0], entrant.others.front if least is None else least),)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0] + amount / entitlement,)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[0]

    def compared(self, index: float) -> float:
        return without_last_digits(index)  # two thirds and three are as much as five thirds

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"stands at {format_number(memory[0])} on its counter"

    def describe(self) -> str:
        return (
            "whoever's counter of what it received is lowest, where those who come back are lifted "
            "to the lowest of those there"
        )
