"""First come, first served: whoever's oldest request that is not met is the oldest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evenhand.decide.rules.rule import RULES, Entrant, Instant, Remembered, TimedRule
from evenhand.log.requests import open_amount


@RULES.register("first_come")
@dataclass(frozen=True)
class FirstCome(TimedRule):
    """Whoever has the oldest request that is not met. What is given meets the oldest request first.

    The memory is the requests that are not met (in order of time), and how much of the first is.
    """

    needs_requests = True

    def begin(self, entrant: Entrant) -> Remembered:
        return ((), 0.0)

    def asked(self, memory: Remembered, amount: float, instant: Instant) -> Remembered:
        requests, part = memory
        return ((*requests, (instant.time, amount)), part)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        requests, part = memory
        part += amount
        met = 0
        while met < len(requests) and not open_amount(requests[met][1], part):
            part = max(0.0, part - requests[met][1])
            met += 1
        # What is given to somebody who asked for nothing more does not count for later requests.
        return (requests[met:], part if met < len(requests) else 0.0)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        requests, _ = memory
        return requests[0][0] if requests else math.inf

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        since = self.index(memory, entitlement)
        if since == math.inf:
            return "has no open request"
        return f"asked {self.since(since, instant)} ago"

    def describe(self) -> str:
        return "whoever asked first"
