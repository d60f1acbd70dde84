"""Least served: whoever has received least, per unit of what each is entitled to. The oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand._util.wording import format_number
from evenhand.decide.rules.rule import (
    RULES,
    Entrant,
    Instant,
    Remembered,
    Rule,
    without_last_digits,
)
from evenhand.errors import BadParameter, argument

# Where newcomers begin, by the levels of those who are there and what they are entitled to.
BEGIN_AT: Mapping[str, Callable[[np.ndarray, np.ndarray], Any] | None] = {
    "mean": lambda levels, entitled: (levels * entitled).sum() / entitled.sum(),
    "zero": None,
    "least": lambda levels, entitled: levels.min(),
}


def require_start(newcomers: str) -> None:
    """Refuse a beginning that no rule has."""
    if newcomers not in BEGIN_AT:
        raise BadParameter(
            f"{argument('newcomers')} is {newcomers!r}: a rule lets them begin at one of "
            f"{', '.join(BEGIN_AT)}."
        )


@dataclass(frozen=True)
class ByReceived(Rule):
    """Rules that remember what each has received, and the level at which it began."""

    takes_back = True

    newcomers: str = "mean"

    def __post_init__(self) -> None:
        require_start(self.newcomers)

    def with_newcomers(self, newcomers: str) -> Rule:
        return replace(self, newcomers=newcomers)

    def begin(self, entrant: Entrant) -> Remembered:
        return (0.0, entrant.others.starting_level(self.newcomers))

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0] + amount, memory[1])

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1] + memory[0] / entitlement

    def compared(self, index: float) -> float:
        return without_last_digits(index)  # 0.1 and 0.2 received are as much as 0.3

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        received, start = memory
        words = f"has received {format_number(received)}"
        if entitlement != 1.0:
            words += f", {format_number(received / entitlement)} per unit of its entitlement"
        if start:
            words += f", and began level with others at {format_number(start)}"
        return words


@RULES.register("least_served")
@dataclass(frozen=True)
class LeastServed(ByReceived):
    """Whoever has received least, per unit of what each is entitled to.

    Args:
        newcomers: Where those begin who join later: at the "mean" of those there, so neither ahead
            nor behind, at "zero", or at the "least" of those there.
    """

    in_environments = True

    def describe(self) -> str:
        return "whoever has received least, per unit of what each is entitled to"
