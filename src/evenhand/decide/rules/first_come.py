"""First come, first served: whoever's oldest request that is not met is the oldest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from evenhand.decide.rules.rule import RULES, Entrant, Instant, Remembered, Rule
from evenhand.decide.rules.spans import span_in_words
from evenhand.fairness.unfairness import ROUNDING


@RULES.register("first_come")
@dataclass(frozen=True)
class FirstCome(Rule):
    """Whoever has the oldest request that is not met. What is given meets the oldest request first.

    The memory is the list of requests (in order of time), how many of them are met, and how much of
    the next one is.
    """

    needs_requests = True

    plain_numbers: bool = field(default=True, init=False, repr=False)

    def fitted(self, plain_numbers: bool) -> Rule:
        fitted = type(self)()
        object.__setattr__(fitted, "plain_numbers", plain_numbers)
        return fitted

    def begin(self, entrant: Entrant) -> Remembered:
        return ((), 0, 0.0)

    def asked(self, memory: Remembered, amount: float, instant: Instant) -> Remembered:
        requests, met, part = memory
        if isinstance(requests, tuple):  # a list can grow without being copied for each request
            requests = list(requests)
        # A memory says how far it has come, so that an older one is not changed by what is added.
        requests.append((instant.time, amount))
        return (requests, met, part)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        requests, met, part = memory
        part += amount
        while met < len(requests) and part >= requests[met][1] * (1.0 - ROUNDING):
            part = max(0.0, part - requests[met][1])
            met += 1
        return (requests, met, part)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        requests, met, _ = memory
        return requests[met][0] if met < len(requests) else math.inf

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        since = self.index(memory, entitlement)
        if since == math.inf:
            return "has no open request"
        return f"asked {span_in_words(instant.time - since, self.plain_numbers)} ago"

    def describe(self) -> str:
        return "whoever asked first"
