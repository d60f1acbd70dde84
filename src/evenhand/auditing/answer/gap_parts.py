"""The three parts of the distance to an even log: out of reach, chance, and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand._util.wording import format_number
from evenhand.auditing.answer.best_there_was import BestThereWas
from evenhand.auditing.chance.finding import ChanceFinding, NotTested
from evenhand.auditing.judging.ranking import EQUAL


@dataclass(frozen=True)
class GapParts:
    """Scores on the way down from an even log to what happened; each step is a part of the gap.

    From the even log to the best there was nothing could be done. From there to what a fair lottery
    scores (in the middle of its draws) chance alone explains it. What is left is the rest; below 0
    where the log did better than a lottery.
    """

    even: float
    best: float
    lottery: float
    actual: float

    @staticmethod
    def of(best: BestThereWas | None, chance: ChanceFinding | NotTested | None) -> GapParts | None:
        """The parts, where the best there was and a fair lottery are both known."""
        if best is None or best.even is None or not isinstance(chance, ChanceFinding):
            return None
        score = chance.measure("score")
        if score is None or not chance.null.draws_lots:
            return None
        return GapParts(best.even, best.score, score.middle, best.actual)

    @property
    def gap(self) -> float:
        return self.even - self.actual

    @property
    def out_of_reach(self) -> float:
        beyond = self.even - self.best
        return beyond if beyond > EQUAL * max(abs(self.even), abs(self.best)) else 0.0

    @property
    def by_chance(self) -> float:
        return self.best - self.lottery

    @property
    def rest(self) -> float:
        return self.lottery - self.actual

    def sentence(self) -> str:
        """All three in words; nothing where there is no gap."""
        if self.gap <= EQUAL * max(abs(self.even), abs(self.actual)):
            return ""
        reach, chance, rest = map(
            format_number, (self.out_of_reach, self.by_chance, abs(self.rest))
        )
        words = (
            f"Of the {format_number(self.gap)} by which the score lies below that of an even log, "
            f"{reach} was out of reach for any decision, and {chance} is what a fair lottery "
            "leaves in the middle of its draws"
        )
        if self.rest >= 0:
            return f"{words}; the rest, {rest}, neither explains."
        return f"{words}; what happened was better than that by {rest}."

    def to_json(self) -> dict[str, Any]:
        return {
            "gap": self.gap,
            "out_of_reach": self.out_of_reach,
            "by_chance": self.by_chance,
            "rest": self.rest,
            "words": self.sentence(),
        }
