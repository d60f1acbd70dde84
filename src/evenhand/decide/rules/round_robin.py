"""Round robin: everyone in a fixed order, again and again; who cannot take its turn misses it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evenhand.decide.rules.rule import RULES, Entrant, Instant, Remembered, Rule

LAP = float(1 << 31)  # room for so many stakeholders in a round


@RULES.register("round_robin")
@dataclass(frozen=True)
class RoundRobinRule(Rule):
    """Everyone in the order of joining, again and again; who is not eligible misses its turn.

    The memory is the place and the turn to come: round times so many places, plus the place.
    """

    def begin(self, entrant: Entrant) -> Remembered:
        return self.caught_up(
            (entrant.place, float(entrant.place)), entrant.entitlement, entrant.others.front
        )

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        return self.caught_up(memory, entrant.entitlement, entrant.others.front)

    def caught_up(self, memory: Remembered, entitlement: Any, front: float) -> Remembered:
        place, turn = memory
        if turn >= front:
            return memory
        return (place, place + LAP * math.ceil((front - place) / LAP))

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0], memory[1] + LAP)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1]

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        return memory[1] // LAP

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"is due in round {int(memory[1] // LAP) + 1}, at place {int(memory[0]) + 1}"

    def describe(self) -> str:
        return "everyone in the order of joining, again and again"
