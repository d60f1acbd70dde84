"""What a replay found: for the log as it was and for each rule, the same few figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from evenhand._util.moments import DAY
from evenhand._util.wording import format_number, join_tied, tell_apart
from evenhand.auditing.answer import AnswerTable, BestThereWas
from evenhand.auditing.verdict import Direction
from evenhand.decide.replay.next_supply import NextPlan
from evenhand.decide.replay.replay_supply import Decisions
from evenhand.decide.replay.time_gained import Gain
from evenhand.decide.rules.least_served import LeastServed
from evenhand.decide.rules.rule import Rule
from evenhand.decide.rules.spans import span_in_words
from evenhand.fairness.scheme import FairnessScheme
from evenhand.log.log import Supply

if TYPE_CHECKING:
    from jaxtyping import Float

AS_LOGGED = "as logged"
LEAST_SERVED = "least_served"
CLOSE = 1e-9  # of a score: a difference that is none
SHOWN_GAINS = 3  # sentences on what changed for whom, of each rule


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one way to decide comes to: the log's own, or a rule's.

    Args:
        name: The rule as it was asked for, or "as logged".
        rule: The rule; None for the log itself.
        score: By the scheme of the audit.
        worst: All who are worst off over the whole time; nobody if no one is behind.
        worst_unfairness: How far they are from the mean, added up over the assessments; below 0 is
            worse off.
        waits: The longest that each waited; NaN where somebody never did.
        unmet: What was asked for and not received, by the end; None without requests.
        given: Who got what when.
        gains: What changed for whom, where most changed first.
        promise: What a deadline rule could keep, in a sentence.
    """

    name: str
    rule: Rule | None
    score: float
    worst: tuple[str, ...]
    worst_unfairness: float
    waits: Float[np.ndarray, " stakeholder"]
    unmet: float | None
    given: Decisions
    gains: tuple[Gain, ...] = ()
    promise: str | None = None

    @property
    def longest_wait(self) -> float | None:
        """The longest that anybody waited."""
        return None if np.isnan(self.waits).all() else float(np.nanmax(self.waits))

    @property
    def left_over(self) -> float:
        """What nobody could take."""
        return float(self.given.left_over.sum())

    @property
    def moved(self) -> float:
        """How much would have gone to somebody else by the end."""
        return sum(max(0.0, gain.after - gain.before) for gain in self.gains)


@dataclass(frozen=True, eq=False)
class ReplayAnswer:
    """A log and what other rules would have done with its supply."""

    label: str
    scheme: FairnessScheme
    question: str
    supply: Supply
    unit: str | None  # what amounts are counted in, if that was said
    amounts: str | None  # the column that holds them
    logged: Outcome
    outcomes: tuple[Outcome, ...]
    ties: str
    notes: tuple[str, ...]
    asks: tuple[str, ...] = ()  # notes that are questions to the reader, who should answer first
    plan: NextPlan | None = None  # of a supply to come
    best: BestThereWas | None = None  # of the same supply, if it could be divided

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.label}: {self.verdict}>"

    def to_best(self, one: Outcome) -> float | None:
        """How far a score is from the best there was."""
        return None if self.best is None else max(0.0, self.best.score - one.score)

    @property
    def direction(self) -> Direction:
        """Which side of the mean is the worse one."""
        return Direction.of(self.scheme.status)

    @property
    def plain_numbers(self) -> bool:
        return self.supply.moments.dtype.kind != "M"

    @property
    def everything(self) -> tuple[Outcome, ...]:
        """The log itself, and then every rule."""
        return (self.logged, *self.outcomes)

    @property
    def held_fixed(self) -> str:
        """What a replay does not change."""
        requests = "requests, " if "asked" in self.supply.beside else ""
        return (
            f"Held fixed: when how much was given out, {requests}and who was there. Nobody behaves "
            "differently because of a rule: nobody asks for more, stays away or comes sooner."
        )

    @property
    def verdict(self) -> str:
        """Which rule does best, and for whom that makes most of a difference."""
        if not self.outcomes:
            return f"{self.label} was not replayed: no rule was named."
        best = max(self.outcomes, key=lambda one: one.score)
        scores = " against ".join(tell_apart(best.score, self.logged.score))
        if best.score - self.logged.score <= CLOSE * max(1.0, abs(self.logged.score)):
            return (
                f"None of these rules would have been fairer than what was done: the best of them, "
                f"{best.name}, scores {scores}."
            )
        changed = " ".join(self.changes(best, 1))
        return f"{best.name} would have been fairest, with a score of {scores}. {changed}".strip()

    @property
    def learned(self) -> list[str]:
        """Whether each policy does better than the simplest rule, which needs no learning."""
        simple = next((one for one in self.outcomes if isinstance(one.rule, LeastServed)), None)
        if simple is None:
            return []
        return [
            _against(one, simple)
            for one in self.outcomes
            if one.rule is not None and one.rule.learned
        ]

    def changes(self, outcome: Outcome, most: int = SHOWN_GAINS) -> list[str]:
        """For whom a rule would have changed most, in sentences: who gains, then who loses.

        Of a burden, whoever would have had less of it, or later, gains.
        """
        sign = self.direction.sign
        better = sorted((g for g in outcome.gains if sign * g.area > 0), key=lambda g: -abs(g.area))
        worse = sorted((g for g in outcome.gains if sign * g.area < 0), key=lambda g: -abs(g.area))
        found = (better[: most - 1] or worse[: most - 1]) + worse[:1] if most > 1 else better[:1]
        return [
            gain.sentence(self.unit or self.amounts, self.plain_numbers, self.unit is not None)
            for gain in dict.fromkeys(found)
        ]

    def columns(self) -> tuple[str, ...]:
        """The headings of the table."""
        unmet = ("unmet",) if self.logged.unmet is not None else ()
        left = ("left over",) if any(one.left_over for one in self.outcomes) else ()
        best = ("to the best",) if self.best is not None else ()
        return ("", "score", *best, "worst off", "by", "longest wait", *unmet, "moved", *left)

    def rows(self) -> list[tuple[str, ...]]:
        """The table, a row for the log and for each rule."""
        return [self._row(one) for one in self.everything]

    def _row(self, one: Outcome) -> tuple[str, ...]:
        wait, far = one.longest_wait, self.to_best(one)
        cells = [
            one.name,
            format_number(one.score),
            *(() if far is None else (format_number(far),)),
            join_tied(one.worst),
            self.direction.signed(one.worst_unfairness),
            "–" if wait is None else span_in_words(wait, self.plain_numbers),
        ]
        if one.unmet is not None:
            cells.append(format_number(one.unmet))
        cells.append("" if one.rule is None else format_number(one.moved))
        if "left over" in self.columns():
            cells.append(format_number(one.left_over))
        return tuple(cells)

    def to_frame(self, backend: Any = None) -> Any:
        """A data frame with one row for the log and one for each rule.

        Waits are in days, or in the unit of the log's times where these are numbers. As in the
        tables of an audit, unfairness below 0 is worse off, also of a burden.

        Args:
            backend: What the frame is of: "pandas", "polars", "pyarrow", or another that narwhals
                can make frames of. The default is the first of these three that is installed.
        """
        numbers = ("score", "to_best", "worst_unfairness", "longest_wait", "unmet")
        rows = [self._json(one) for one in self.everything]
        columns = {
            "rule": [one.name for one in self.everything],
            "worst_off": ["; ".join(one.worst) for one in self.everything],
            **{name: [row[name] for row in rows] for name in numbers},
            "moved": [one.moved for one in self.everything],
            "left_over": [one.left_over for one in self.everything],
        }
        texts = ("rule", "worst_off")
        types = {name: nw.String if name in texts else nw.Float64 for name in columns}
        return AnswerTable(columns, types).to_frame(backend)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain values; unfairness below 0 is worse off, also of a burden."""
        return {
            "log": self.label,
            "scheme": self.scheme.describe(),
            "question": self.question,
            "verdict": self.verdict,
            "learned": self.learned,
            "held_fixed": self.held_fixed,
            "ties": self.ties,
            "best": None if self.best is None else self.best.to_json(),
            "logged": self._json(self.logged),
            "rules": [self._json(one) for one in self.outcomes],
            "notes": list(self.notes),
            "asks": list(self.asks),
            "next": None if self.plan is None else self.plan.to_json(),
        }

    def _json(self, one: Outcome) -> dict[str, Any]:
        wait = one.longest_wait
        days = 1.0 if self.plain_numbers else DAY
        table: dict[str, Any] = {
            "rule": one.name,
            "describe": None if one.rule is None else f"next is {one.rule.describe()}",
            "score": one.score,
            "to_best": self.to_best(one),
            "worst_off": list(one.worst),
            "worst_unfairness": one.worst_unfairness,
            "longest_wait": None if wait is None else wait / days,
            "unmet": one.unmet,
        }
        if one.rule is not None:
            table |= {
                "left_over": one.left_over,
                "moved": one.moved,
                "promise": one.promise,
                "changes": self.changes(one),
                "stakeholders": [gain.to_json(self.plain_numbers) for gain in one.gains],
            }
        return table


def _against(policy: Outcome, simple: Outcome) -> str:
    """Whether a policy does better than a rule that needs no learning."""
    scores = " against ".join(tell_apart(policy.score, simple.score))
    more = policy.score - simple.score
    if abs(more) <= CLOSE * max(1.0, abs(simple.score)):
        return f"{policy.name} is not better than {simple.name} here: both score the same."
    if more < 0:
        return f"{policy.name} is not better than {simple.name} here: it scores {scores}."
    return f"{policy.name} is better than {simple.name} here: it scores {scores}."
