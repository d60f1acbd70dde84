"""Half-life: whoever used least lately; what was received counts half after each half-life.

So do Slurm and Kueue count usage. All decay alike, so the order of two changes only when one of
them receives something: the index is the logarithm of what was received, as of a fixed moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand._util.numbers import namespace
from evenhand._util.wording import format_number
from evenhand.decide.rules.least_served import require_start
from evenhand.decide.rules.rule import RULES, Entrant, Instant, Remembered, Rule
from evenhand.log.waits import limit_in_words, read_limit


@RULES.register("half_life")
@dataclass(frozen=True)
class HalfLife(Rule):
    """Whoever has received least lately: amounts count half after each half-life.

    Args:
        half_life: A time such as "7d", "2w" or "12h"; or a number, in days where times are dates.
        newcomers: Where those begin who join later: "mean", "zero" or "least".
    """

    parameter = "half_life"
    in_environments = True

    half_life: float | str
    newcomers: str = "mean"
    unit: float | None = field(default=None, init=False, repr=False)  # a half-life, of such times

    def __post_init__(self) -> None:
        require_start(self.newcomers)
        read_limit(self.half_life, isinstance(self.half_life, int | float), "the half-life")

    def fitted(self, plain_numbers: bool) -> Rule:
        fitted = replace(self)
        unit = read_limit(self.half_life, plain_numbers, "the half-life")
        object.__setattr__(fitted, "unit", unit)
        return fitted

    @property
    def _unit(self) -> float:
        return float(self.half_life) if self.unit is None else self.unit

    @property
    def _in_words(self) -> str:
        words = limit_in_words(self.half_life)
        # A number alone is in days where times are dates, which is known once the rule is fitted.
        in_days = self.unit is not None and words == str(self.half_life).strip()
        if in_days and self.unit != float(words):
            return limit_in_words(f"{words}d")
        return words

    def with_newcomers(self, newcomers: str) -> Rule:
        return replace(self, newcomers=newcomers)

    def begin(self, entrant: Entrant) -> Remembered:
        start = entrant.others.starting_level(self.newcomers) * entrant.entitlement
        return (_log2(start) + entrant.instant.time / self._unit if start > 0 else -math.inf,)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (_log2_of_sum(memory[0], _log2(amount) + instant.time / self._unit),)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[0] - _log2(entitlement)

    def compared(self, index: float) -> float:
        return round(index, 9)  # of a logarithm: less than a billionth of what was received

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        return 2.0 ** (self.index(memory, entitlement) - instant.time / self._unit)

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        now = format_number(self.level(memory, 1.0, instant))
        words = f"has {now} left of what it received, which halves every {self._in_words}"
        if entitlement != 1.0:
            share = format_number(self.level(memory, entitlement, instant))
            words += f": {share} per unit of its entitlement"
        return words

    def describe(self) -> str:
        return f"whoever has received least lately: amounts count half after {self._in_words}"


def _log2(value: Any) -> Any:
    return math.log2(value) if isinstance(value, float | int) else namespace(value).log2(value)


def _log2_of_sum(one: Any, other: Any) -> Any:
    """log2(2^one + 2^other), without ever computing a power that is too large."""
    if not isinstance(one, float):
        return namespace(one).logaddexp2(one, other)
    low, high = (one, other) if one < other else (other, one)
    return high if low == -math.inf else high + math.log2(1.0 + 2.0 ** (low - high))
