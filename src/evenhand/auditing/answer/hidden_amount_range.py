"""What a verdict would be with the lowest and the highest amounts that marks can hide."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from evenhand._util.wording import join_tied
from evenhand.auditing.answer.answer import Answer
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.judge import Judged
from evenhand.auditing.reading.hidden_amounts import HiddenRows


@dataclass(frozen=True)
class Outlook:
    """A verdict in short: who is treated worst, whether all are equal at the end, the score."""

    treated_worst: tuple[str, ...]
    equal_at_end: bool
    score: float | None

    @classmethod
    def of(cls, case: Case, judged: Judged) -> Outlook:
        worst = tuple(case.names[place] for place in judged.totals.ranking.lowest)
        scorer = judged.scorers[0]
        score = None if scorer.undefined is not None else float(scorer.score)
        return cls(worst, not judged.final_below.any(), score)

    def says_the_same(self, other: Outlook) -> bool:
        return (self.treated_worst, self.equal_at_end) == (other.treated_worst, other.equal_at_end)

    def words(self) -> str:
        who = join_tied(self.treated_worst)
        end = "equal at the end" if self.equal_at_end else "unequal at the end"
        return f"treated worst overall would be {who} ({end})"

    def to_json(self) -> dict[str, Any]:
        return {
            "all_treated_worst": list(self.treated_worst),
            "equal_at_end": self.equal_at_end,
            "score": self.score,
        }


@dataclass(frozen=True)
class HiddenAmountRange:
    """The suppressed amounts, and what is found with the lowest and the highest of them."""

    rows: HiddenRows
    known: Outlook
    lowest: Outlook | None = None  # None where amounts are running totals or levels
    highest: Outlook | None = None

    def sentences(self) -> str:
        """For the verdict: how many there are, and whether they could turn it."""
        words = self.rows.sentence()
        if self.lowest is None or self.highest is None:
            return f"{words} Until the next amount, the one before stands."
        low, high = (
            "the verdict would be the same" if self.known.says_the_same(one) else one.words()
            for one in (self.lowest, self.highest)
        )
        ranges = f"(they can be {self.rows.ranges()})"
        if low == high:
            return f"{words} If all were the lowest, or the highest, they can be, {low} {ranges}."
        return (
            f"{words} If all were the lowest they can be, {low}; if all were the highest, {high} "
            f"{ranges}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            **self.rows.to_json(),
            "with_lowest": None if self.lowest is None else self.lowest.to_json(),
            "with_highest": None if self.highest is None else self.highest.to_json(),
        }


def with_suppressed(answer: Answer, found: HiddenAmountRange) -> Answer:
    """The answer with what is suppressed in its verdict, and how to say more of it in its notes."""
    advice = found.rows.advice()
    people = tuple(
        replace(one, received=None, final=math.nan) if one.name in found.rows.unknown else one
        for one in answer.by_stakeholder
    )
    return replace(
        answer,
        by_stakeholder=people,
        verdict=f"{answer.verdict} {found.sentences()}",
        notes=answer.notes if advice is None else (*answer.notes, advice),
        suppressed=found.to_json(),
    )
