"""What another rule would have done: the answer of a replay, in time gained and as a file."""

from __future__ import annotations

import csv
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from evenhand._util.files import write_whole
from evenhand._util.numbers import DAY, as_numbers, moment_labels
from evenhand._util.wording import format_number, join_tied, tell_apart
from evenhand.auditing.answer import AnswerTable, BestThereWas
from evenhand.auditing.verdict import Direction, Terms
from evenhand.decide.replay.next_supply import NextPlan
from evenhand.decide.replay.supply import Decisions
from evenhand.decide.rules.built_in import LeastServed
from evenhand.decide.rules.rule import Rule, span_in_words
from evenhand.errors import BadParameter, argument
from evenhand.fairness.scheme import FairnessScheme
from evenhand.log.log import Supply
from evenhand.log.options import AuditOptions
from evenhand.log.text_files import parquet_copy

if TYPE_CHECKING:
    from jaxtyping import Float


# What changed for whom: how much more, and how much sooner, one log gave than another.

ALIKE = 1e-9  # of an amount or a time: a difference that is none


@dataclass(frozen=True)
class Gain:
    """What another rule would have changed for one stakeholder.

    `sooner` is how much earlier it would have had what both give it, on average over its units: a
    time in the unit of the log's times (microseconds where they are dates), below 0 if later.
    """

    name: str
    before: float
    after: float
    sooner: float
    area: float  # amount times time: by how much more it would have had all along

    @property
    def shared(self) -> float:
        """What it gets in both."""
        return min(self.before, self.after)

    def sentence(self, unit: str | None, plain_numbers: bool, counted: bool = False) -> str:
        """Such as "Alaska would have had 12,000 doses on average 3 weeks sooner.".

        Args:
            unit: What amounts are counted in, or the column that holds them.
            plain_numbers: Whether times are plain numbers.
            counted: Whether the unit can stand behind a number, whatever its form.
        """
        units = Terms(unit=unit, counted=counted).units[0]
        parts = []
        if self.shared and abs(self.sooner) > 0:
            when = "sooner" if self.sooner > 0 else "later"
            span = span_in_words(abs(self.sooner), plain_numbers)
            much = f"{format_number(self.shared)}{units}"
            parts.append(f"had {much} on average {span} {when}")
        more = self.after - self.before
        if more:
            word = "more" if more > 0 else "less"
            parts.append(f"received {format_number(abs(more))}{'' if parts else units} {word}")
        return f"{self.name} would have {' and '.join(parts) or 'had the same'}."

    def to_json(self, plain_numbers: bool) -> dict[str, Any]:
        return {
            "name": self.name,
            "received": self.before,
            "would_have_received": self.after,
            "sooner": self.sooner if plain_numbers else self.sooner / DAY,  # in days
        }


def gains(supply: Supply, before: Decisions, after: Decisions) -> list[Gain]:
    """What changed for each stakeholder, those for whom most changed first."""
    moments, size = as_numbers(supply.moments), len(supply.names)
    until = moments[-1] - moments

    def sums(given: Decisions) -> tuple[np.ndarray, np.ndarray]:
        return (
            np.bincount(given.who, given.amount, size),
            np.bincount(given.who, given.amount * until[given.slot], size),
        )

    (had, area_had), (gets, area_gets) = sums(before), sums(after)
    gets, area_gets = _unless_alike(gets, had), _unless_alike(area_gets, area_had)
    sooner = _sooner(before, after, moments, size)
    sooner[np.abs(sooner) <= ALIKE * until[0]] = 0.0
    found = [
        Gain(name, *numbers)
        for name, *numbers in zip(
            supply.names,
            had.tolist(),
            gets.tolist(),
            sooner.tolist(),
            (area_gets - area_had).tolist(),
            strict=True,
        )
    ]
    return sorted(found, key=lambda gain: (-abs(gain.area), -abs(gain.after - gain.before)))


def _unless_alike(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Values, or the others where they differ by rounding alone: 5.6e-17 more is no more."""
    alike = np.abs(values - others) <= ALIKE * np.maximum(np.abs(values), np.abs(others))
    return np.where(alike, others, values)


def _sooner(before: Decisions, after: Decisions, moments: np.ndarray, size: int) -> np.ndarray:
    """The mean over the units that both give of when the one gives them minus the other."""
    found = np.zeros(size)
    both = [_curves(one, moments, size) for one in (before, after)]
    for who in range(size):
        (had, at), (gets, then) = (curves[who] for curves in both)
        if not len(had) or not len(gets):
            continue
        shared = min(had[-1], gets[-1])
        if shared <= 0.0:
            continue
        found[who] = (_waited(had, at, shared) - _waited(gets, then, shared)) / shared
    return found


def _waited(totals: np.ndarray, at: np.ndarray, shared: float) -> float:
    """The moments at which the first so many units came, added up over them."""
    reached = np.minimum(totals, shared)
    return float((np.diff(reached, prepend=0.0) * at).sum())


def _curves(
    given: Decisions, moments: np.ndarray, size: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each had received by when."""
    order = np.argsort(given.who, kind="stable")
    amount, at = given.amount[order], moments[given.slot[order]] - moments[0]
    ends = np.searchsorted(given.who[order], np.arange(size), side="right")
    parts = zip(np.split(amount, ends[:-1]), np.split(at, ends[:-1]), strict=True)
    return [(np.cumsum(own), when) for own, when in parts]


# What a replay found: for the log as it was and for each rule, the same few figures.

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


# What a rule decided as a log like any other, in the columns of the log that was replayed.

KINDS = (".csv", ".parquet")


def require_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says no format."""
    if Path(path).suffix.lower() not in KINDS:
        raise BadParameter(
            f"{argument('out')} is {os.fspath(path)!r}: a replayed log is written to a name that "
            "ends in .csv or .parquet, and a page to one that ends in .html."
        )


def write_replayed(
    path: str | os.PathLike[str], answer: ReplayAnswer, outcome: Outcome, options: AuditOptions
) -> None:
    """Write who got what when: whole or not at all.

    Args:
        path: A name that ends in .csv or .parquet.
        answer: The replay.
        outcome: Which of its rules.
        options: What the columns are called.
    """
    require_writable(path)
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        log = Path(folder) / "log.csv"
        _write_csv(log, answer, outcome, options)
        if Path(path).suffix.lower() == ".parquet":
            kinds = ("DOUBLE" if answer.plain_numbers else "TIMESTAMP", "VARCHAR", "DOUBLE")
            log = parquet_copy(log, dict(zip(_columns(options), kinds, strict=True)))
        write_whole(path, log.read_bytes())


def _write_csv(path: Path, answer: ReplayAnswer, outcome: Outcome, options: AuditOptions) -> None:
    given, supply = outcome.given, answer.supply
    labels, names = moment_labels(supply.moments), supply.names
    amount = given.amount
    if options.cumulative:  # read again as the log is, each row is all that was received by then
        amount = _running_totals(given.who, amount)
    if bool((amount == np.rint(amount)).all()) and bool((np.abs(amount) < 2**53).all()):
        amount = amount.astype(np.int64)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_columns(options))
        columns = (given.slot.tolist(), given.who.tolist(), amount.tolist())
        writer.writerows(
            (labels[slot], names[who], much) for slot, who, much in zip(*columns, strict=True)
        )


def _running_totals(who: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """What each had received by each of its rows, which are in order of time."""
    had: dict[int, float] = {}
    found = []
    for one, much in zip(who.tolist(), amount.tolist(), strict=True):
        had[one] = had.get(one, 0.0) + much
        found.append(had[one])
    return np.array(found, dtype=float)


def _columns(options: AuditOptions) -> tuple[str, str, str]:
    return options.time, options.stakeholder, options.amount or "amount"
