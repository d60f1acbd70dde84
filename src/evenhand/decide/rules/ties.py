"""How ties are broken: by the order of joining, or by a draw that a seed repeats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from evenhand._util.registry import Registry
from evenhand.decide.rules.draws import read_seed, uniform

TIES = Registry("way to break ties")


class TieBreak(ABC):
    """Of equal indexes, whose number is lowest."""

    @abstractmethod
    def number(self, place: int, turn: int) -> float:
        """The number of a place, whose index was last set at a turn."""

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "ties are broken …"."""


@TIES.register("order")
@dataclass(frozen=True)
class InOrder(TieBreak):
    """Whoever joined first; of those who joined together, as at the start, by their order."""

    def number(self, place: int, turn: int) -> float:
        return place

    def describe(self) -> str:
        return "by who joined first, then by the order of the stakeholders"


@TIES.register("draw")
@dataclass(frozen=True)
class ByDraw(TieBreak):
    """By a draw, afresh whenever somebody was served.

    Args:
        seed: What the draws depend on.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", read_seed(self.seed))

    def number(self, place: int, turn: int) -> float:
        # Not the numbers that a lottery with the same seed draws.
        return uniform(~self.seed, place, turn)

    def describe(self) -> str:
        return f"by a draw (seed {self.seed})"
