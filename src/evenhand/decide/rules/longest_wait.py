"""Longest wait: whoever has waited longest, however much it has received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.decide.rules.rule import RULES, Entrant, Instant, Remembered, TimedRule

LATER = 2.0**-20  # of a turn, for each moment between two turns


@RULES.register("longest_wait")
@dataclass(frozen=True)
class LongestWait(TimedRule):
    """Whoever has waited longest since it was last served, joined, or asked again.

    However much is given at a time counts alike: this rule shares turns, not amounts. Of those who
    were last served at one moment, the one whose turn came first waits longest.
    """

    in_environments = True

    def begin(self, entrant: Entrant) -> Remembered:
        # After whoever was served last and whoever came before, and before whoever is served next.
        time, turn = entrant.instant
        return (time, turn - 0.5 + min(entrant.others.moment_of_turn() * LATER, 0.25))

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        return self.begin(entrant) if entrant.asked else memory

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (instant.time, instant.turn)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1]

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        return memory[0] - instant.time

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"has waited {self.since(memory[0], instant)}"

    def describe(self) -> str:
        return "whoever has waited longest"
