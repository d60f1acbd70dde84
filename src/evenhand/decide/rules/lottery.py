"""Lotteries: anybody eligible with the same chance, or in proportion to entitlements.

Each stakeholder has a clock that rings after an exponential time, and whoever's rings first is
next. Such clocks have no memory: who has not rung yet need not be drawn again, so that a heap does,
and every decision is an independent lottery among those eligible then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evenhand.decide.rules.draws import exponential, read_seed
from evenhand.decide.rules.rule import RULES, Entrant, Instant, Remembered, Rule


@RULES.register("lottery")
@dataclass(frozen=True)
class Lottery(Rule):
    """Anybody who is eligible, all with the same chance.

    Args:
        seed: What the draws depend on.
    """

    parameter = "seed"
    draws = True
    in_environments = True

    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", read_seed(self.seed))

    def with_seed(self, seed: int) -> Rule:
        return replace(self, seed=seed)

    def begin(self, entrant: Entrant) -> Remembered:
        return self._drawn(entrant.place, 0, entrant.others.front, entrant.entitlement)

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        return self.caught_up(memory, entrant.entitlement, entrant.others.front)

    def caught_up(self, memory: Remembered, entitlement: Any, front: float) -> Remembered:
        if memory[0] >= front:
            return memory
        return self._drawn(memory[1], memory[2] + 1, front, entitlement)

    def entitled(
        self, memory: Remembered, before: float, entitlement: float, front: float
    ) -> Remembered:
        rings, place, count = memory
        slower = self._chances(before) / self._chances(entitlement)
        if slower == 1.0 or rings < front:
            return memory
        # The time until a clock rings is as long as if it had run at the new pace all along.
        return (front + (rings - front) * slower, place, count)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return self._drawn(memory[1], memory[2] + 1, memory[0], entitlement)

    def _drawn(self, place: int, count: int, after: float, entitlement: float) -> Remembered:
        rings = after + exponential(self.seed, place, count) / self._chances(entitlement)
        return (rings, place, count)

    def _chances(self, entitlement: Any) -> Any:
        return 1.0

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[0]

    def drawn_index(self, key: Any, memory: Remembered, entitlement: Any) -> Any:
        import jax

        return jax.random.exponential(key, entitlement.shape) / self._chances(entitlement)

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"drew {memory[0]:.4g}, and the lowest number wins"

    def describe(self) -> str:
        return "anybody who is eligible, all with the same chance"


@RULES.register("weighted_lottery")
@dataclass(frozen=True)
class WeightedLottery(Lottery):
    """Anybody who is eligible, with chances in proportion to what each is entitled to.

    Args:
        seed: What the draws depend on.
    """

    def _chances(self, entitlement: Any) -> Any:
        return entitlement

    def describe(self) -> str:
        return "anybody who is eligible, with chances in proportion to entitlements"
