"""Deadline: nobody is passed over more than k − 1 times in a row, wherever that can be promised.

A turn is one lot. Somebody who is eligible and not served is passed over; a turn that it could not
take does not count. Serving whoever was passed over most keeps every count below n, the most who
are there at a time, *whatever absences come unannounced*: of those passed over at least j times
there are never more than n − j. (Of those who are passed over j times after a turn, all but the one
that was served were passed over j − 1 times or more before, and the one served is never below
them.) So k ≥ n is a promise. With k < n and everyone always there no rule can keep it. Where
eligibility is known ahead, `deadline_plan` says exactly whether it can be kept, and how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand._util.wording import pluralise
from evenhand.decide.rules.deadline_plan import plan_deadline
from evenhand.decide.rules.rule import RULES, Entrant, Foreseen, Instant, Remembered, Rule
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool


@RULES.register("deadline")
@dataclass(frozen=True)
class Deadline(Rule):
    """Whoever was passed over most often in a row, so that nobody waits more than `turns` turns.

    Args:
        turns: The deadline: of so many turns in a row that somebody could take, one is its own.
    """

    parameter = "turns"
    counts_turns = True

    turns: int

    def __post_init__(self) -> None:
        try:
            turns = int(self.turns)
        except (TypeError, ValueError):
            turns = 0
        if turns < 1 or turns != float(self.turns):
            raise BadParameter(
                f"the deadline is {self.turns!r}: it must be a whole number of turns, at least 1."
            )
        object.__setattr__(self, "turns", turns)

    # The memory is the turn at which a row of turns without service began; while somebody is away,
    # how many such turns there were.
    def begin(self, entrant: Entrant) -> Remembered:
        return (entrant.instant.turn,)

    def away(self, memory: Remembered, instant: Instant) -> Remembered:
        return (instant.turn - memory[0],)

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        return (entrant.instant.turn - memory[0],)

    def excused(self, memory: Remembered) -> Remembered:
        return (memory[0] + 1,)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (instant.turn + 1,)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[0]

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        return memory[0] - instant.turn

    def promise(self, most: int) -> str:
        """What can be promised to so many stakeholders who come and go unannounced."""
        if most <= self.turns:
            return (
                f"Nobody waits more than {pluralise(self.turns, 'turn')}, whoever comes and goes: "
                f"at most {most:,} are there at a time."
            )
        return (
            f"With {most:,} there at a time nobody can promise that nobody waits more than "
            f"{pluralise(self.turns, 'turn')}: what is promised is {most:,} turns."
        )

    def foresee(self, eligible: Bool[np.ndarray, "turn stakeholder"]) -> Foreseen:
        plan = plan_deadline(eligible, self.turns)
        limit = f"nobody waits more than {pluralise(self.turns, 'turn')}"
        if plan.possible:
            return Foreseen(plan.served, f"The deadline is kept: {limit} that it could take.")
        if plan.possible is None:
            return Foreseen(None, f"Whether {limit} was not found out in time. {self._fallback}")
        return Foreseen(None, f"It is impossible that {limit}, whoever is served. {self._fallback}")

    @property
    def _fallback(self) -> str:
        return "Whoever was passed over most often is served first."

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        passed = int(instant.turn - memory[0])
        if not passed:
            return f"was not passed over yet, of {self.turns:,} turns it may wait"
        times = "once" if passed == 1 else f"{passed:,} times in a row"
        return f"was passed over {times}, of {self.turns:,} turns it may wait"

    def describe(self) -> str:
        return (
            "whoever was passed over most often in a row, so that nobody waits more than "
            f"{pluralise(self.turns, 'turn')} where that can be kept"
        )
