"""The deadline rule, which looks ahead to what is still to be met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.files import nothing_on_stdout
from evenhand._util.wording import pluralise
from evenhand.decide.rules.rule import RULES, Entrant, Foreseen, Instant, Remembered, Rule
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from jaxtyping import Bool


# Whether a deadline can be kept where eligibility is known ahead, and how.
#
# Of every k turns in a row that somebody could take, one must be its own; a turn serves one.
# Serving whoever was passed over most often usually does it. Where that fails, the question is an
# integer program (the turns of one stakeholder overlap, so it is not a matching): HiGHS finds a
# plan or proves that there is none.

SECONDS = 20.0  # that the integer program may take
MOST_VARIABLES = 200_000  # pairs of a turn and somebody who could take it


@dataclass(frozen=True)
class DeadlinePlan:
    """Who is served at each turn, if the deadline can be kept.

    Args:
        possible: Whether it can be kept; None where that was not found out in time.
        served: Who is served at each turn, −1 for nobody; None if there is no plan.
    """

    possible: bool | None
    served: tuple[int, ...] | None = None


def plan_deadline(eligible: Bool[np.ndarray, "turn stakeholder"], turns: int) -> DeadlinePlan:
    """A plan in which nobody is passed over `turns` times in a row, or the proof that none exists.

    >>> both = np.ones((3, 2), dtype=bool)
    >>> plan_deadline(both, 2).served, plan_deadline(both, 1).possible
    ((0, 1, 0), False)

    Args:
        eligible: Who could take each turn.
        turns: The deadline.
    """
    simple = _most_passed_over_first(eligible)
    if keeps_deadline(eligible, simple, turns):
        return DeadlinePlan(True, tuple(simple))
    if _too_many(eligible, turns):
        return DeadlinePlan(False)
    if eligible.sum() > MOST_VARIABLES:
        return DeadlinePlan(None)
    return _integer_plan(eligible, turns)


def keeps_deadline(
    eligible: Bool[np.ndarray, "turn stakeholder"], served: Sequence[int], turns: int
) -> bool:
    """Whether nobody is passed over so many times in a row."""
    passed = np.zeros(eligible.shape[1], dtype=np.int64)
    for able, one in zip(eligible, served, strict=True):
        passed += able
        if one >= 0:
            passed[one] = 0
        if (passed >= turns).any():
            return False
    return True


def _most_passed_over_first(eligible: Bool[np.ndarray, "turn stakeholder"]) -> list[int]:
    passed, served = np.zeros(eligible.shape[1], dtype=np.int64), []
    for able in eligible:
        one = int(np.argmax(np.where(able, passed, -1))) if able.any() else -1
        passed += able
        if one >= 0:
            passed[one] = 0
        served.append(one)
    return served


def _too_many(eligible: Bool[np.ndarray, "turn stakeholder"], turns: int) -> bool:
    """Whether more than `turns` could take each of as many turns in a row: a quick proof."""
    counts = np.cumsum(np.vstack((np.zeros(eligible.shape[1], dtype=np.int64), eligible)), axis=0)
    always = counts[turns:] - counts[:-turns] == turns
    return bool((always.sum(axis=1) > turns).any())


def _integer_plan(eligible: Bool[np.ndarray, "turn stakeholder"], turns: int) -> DeadlinePlan:
    """One variable for each turn that somebody could take, 1 if it is served then."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    who, when = np.nonzero(eligible.T)  # the turns of one after those of the other
    count = len(who)
    one_each = csr_array((np.ones(count), (when, np.arange(count))), shape=(len(eligible), count))
    # Windows of `turns` turns in a row of one stakeholder.
    starts = np.array(
        [k for k in range(count - turns + 1) if who[k] == who[k + turns - 1]], dtype=np.int64
    )
    columns = (starts[:, None] + np.arange(turns)).ravel()
    rows = np.repeat(np.arange(len(starts)), turns)
    windows = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(starts), count))
    limits = [LinearConstraint(one_each, 0, 1), LinearConstraint(windows, 1, np.inf)]
    with nothing_on_stdout():
        found = milp(
            c=np.zeros(count),
            integrality=np.ones(count),
            bounds=Bounds(0, 1),
            constraints=limits,
            options={"time_limit": SECONDS},
        )
    if found.status == 2:  # infeasible
        return DeadlinePlan(False)
    if found.x is None:
        return DeadlinePlan(None)
    served = np.full(len(eligible), -1)
    chosen = found.x > 0.5
    served[when[chosen]] = who[chosen]
    _fill(eligible, served)
    plan = tuple(int(one) for one in served)
    return DeadlinePlan(True if keeps_deadline(eligible, plan, turns) else None, plan)


def _fill(eligible: Bool[np.ndarray, "turn stakeholder"], served: np.ndarray) -> None:
    """A turn that the plan leaves free goes to whoever was passed over most: all is given out."""
    passed = np.zeros(eligible.shape[1], dtype=np.int64)
    for turn, able in enumerate(eligible):
        if served[turn] < 0 and able.any():
            served[turn] = int(np.argmax(np.where(able, passed, -1)))
        passed += able
        if served[turn] >= 0:
            passed[served[turn]] = 0


# Deadline: nobody is passed over more than k − 1 times in a row, wherever that can be promised.
#
# A turn is one lot. Somebody who is eligible and not served is passed over; a turn that it could
# not take does not count. Serving whoever was passed over most keeps every count below n, the most
# who are there at a time, *whatever absences come unannounced*: of those passed over at least j
# times there are never more than n − j. (Of those who are passed over j times after a turn, all but
# the one that was served were passed over j − 1 times or more before, and the one served is never
# below them.) So k ≥ n is a promise. With k < n and everyone always there no rule can keep it.
# Where eligibility is known ahead, `deadline_plan` says exactly whether it can be kept, and how.


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
