"""Two logs side by side: which of them is fairer, question by question.

Here the verdict of a question and a welfare function is the log with the higher score, or neither
where the scores are equal. It turns where another question prefers another log.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand._util.wording import format_number, join_names, tell_apart
from evenhand.auditing.answer import Answer
from evenhand.auditing.audit_log import audit_with, kept_for
from evenhand.auditing.judge import EVEN
from evenhand.auditing.verdict import Called, Quantity, Sentence, how_even
from evenhand.errors import BadParameter, argument
from evenhand.log.files import opened_log
from evenhand.log.log import Log, options_for, record_of
from evenhand.log.options import AuditOptions, PeriodBorder, with_keywords
from evenhand.log.workbooks import is_workbook


@dataclass(frozen=True)
class Match:
    """One question under one welfare function, put to both logs."""

    question: str
    asked: bool
    welfare: str
    scores: tuple[float | None, float | None]
    fairer: str | None  # None where the scores are equal, or one is undefined
    turns: bool

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "scores": list(self.scores)}


@dataclass(frozen=True, eq=False)
class LogComparison:
    """What `compare` returns: both answers, and the questions put to both."""

    first: Answer
    second: Answer
    questions: tuple[Match, ...]
    verdict: str
    notes: tuple[str, ...]

    @property
    def breaches(self) -> tuple[str, ...]:
        return tuple(
            f"{answer.label}: {breach}"
            for answer in (self.first, self.second)
            for breach in answer.breaches
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "logs": [self.first.to_json(), self.second.to_json()],
            "questions": [match.to_json() for match in self.questions],
            "verdict": self.verdict,
            "summary": " ".join(sentence.text for sentence in comparison_summary(self)),
            "notes": list(self.notes),
        }


def _compare(first: Any, second: Any, options: AuditOptions) -> LogComparison:
    """Audit two logs with the same options, and say which is fairer under which question.

    Args:
        first: One log: a path, the address of a database, a table, or a `Log` (see `audit`).
        second: The other log.
        table: The table or view, if the logs are databases: one name for both, or two names.
        run: The column of runs. A log without such a column is judged as one history.

    Every other argument is one of `audit`, and holds for both logs.

    Returns:
        Both answers, the questions put to both with the log that is fairer under each, and a
        verdict in words.
    """
    return compare_with(first, second, options)


compare = with_keywords(_compare, AuditOptions)


def compare_with(first: Any, second: Any, options: AuditOptions) -> LogComparison:
    """The same, with the options as one object."""
    logs = (first, second)
    if any(map(is_workbook, logs)):  # the other one may be a plain file, which has no sheets
        of_each = [options if is_workbook(log) else replace(options, sheet=None) for log in logs]
    else:
        of_each = [options, options]
    one, two = (_audited(log, of_each[k].for_log(k)) for k, log in enumerate(logs))
    return _compared(one, two)


def _compare_periods(log: Any, options: AuditOptions) -> LogComparison:
    """One log in two periods, each judged from nothing under the same question.

    Args:
        log: A log, as for `audit`.
        before: The moment at which the second period begins.

    Every other argument is one of `audit`, and holds for both periods.

    Returns:
        Both answers, and under which question which period is fairer.
    """
    return compare_periods_with(log, options)


compare_periods = with_keywords(_compare_periods, AuditOptions)


def compare_periods_with(log: Any, options: AuditOptions) -> LogComparison:
    """The same, with the options as one object."""
    cut, options = options.before, replace(options, before=None)
    if cut is None:
        raise BadParameter(f"say with {argument('before')} when the second period begins.")
    options = options_for(log, options)
    # The border says whether times that are numbers have to be dates, as either bound would.
    whole = record_of(log, replace(options, before=cut), kept_for(options))
    earlier = audit_with(whole, replace(options, until=PeriodBorder(cut)))
    later = audit_with(whole, replace(options, since=PeriodBorder(cut)))
    one = replace(earlier, label=f"{earlier.label} before {cut}")
    two = replace(later, label=f"{later.label} from {cut}")
    return _compared(one, two)


def _compared(one: Answer, two: Answer) -> LogComparison:
    if one.label == two.label:  # as two tables of Python are, and it must be clear which is meant
        one, two = (replace(a, label=f"{a.label} (log {k})") for k, a in enumerate((one, two), 1))
    matches = _matches(one, two)
    notes = (*_only_in(one, two), *_only_in(two, one))
    return LogComparison(one, two, matches, _verdict(one, two, matches), notes)


def _only_in(answer: Answer, other: Answer) -> tuple[str, ...]:
    """A note on stakeholders that the other log does not have."""
    names = {person.name for person in other.by_stakeholder}
    alone = sorted(one.name for one in answer.by_stakeholder if one.name not in names)
    if not alone:
        return ()
    return (
        f"Only in {answer.label}: {join_names(alone)}. With a roster both logs would be judged "
        "over the same stakeholders.",
    )


def _audited(log: Any, options: AuditOptions) -> Answer:
    """A log of one history has no column of runs, and is judged as it is."""
    if isinstance(log, Log):
        return audit_with(log, options)
    with opened_log(log, options) as table:
        if options.run not in table.columns:
            options = replace(options, run=None)
        return audit_with(table, options)


def _matches(one: Answer, two: Answer) -> tuple[Match, ...]:
    rows = {row.question: row for row in two.questions}
    asked: str | None = None
    matches: list[Match] = []
    for row in one.questions:
        if row.question not in rows:
            continue
        theirs = {reading.welfare: reading for reading in rows[row.question].readings}
        for reading in row.readings:
            if reading.welfare not in theirs:
                continue
            scores = (reading.score, theirs[reading.welfare].score)
            fairer = _fairer(scores, one.label, two.label)
            if not matches:
                asked = fairer
            matches.append(
                Match(row.question, row.asked, reading.welfare, scores, fairer, fairer != asked)
            )
    return tuple(matches)


def _fairer(scores: tuple[float | None, float | None], one: str, two: str) -> str | None:
    a, b = scores
    if a is None or b is None or abs(a - b) <= EVEN * max(abs(a), abs(b)):
        return None
    return one if a > b else two


def _verdict(one: Answer, two: Answer, matches: tuple[Match, ...]) -> str:
    words = []
    for answer in (one, two):
        words.append(f"{answer.label}: {answer.verdict.split('. ')[0].rstrip('.')}.")
    if matches:
        asked = matches[0]
        found = list(asked.scores)
        if asked.fairer:  # the score of the one that is named stands first
            found.sort(key=lambda score: -np.inf if score is None else score, reverse=True)
        scores = " against ".join(_score_texts(*found))
        which = f"{asked.fairer} is fairer" if asked.fairer else "The two are equally fair"
        words.append(f"{which} {asked.question} by {asked.welfare} ({scores}).")
        turned = [f"{match.question} by {match.welfare}" for match in matches if match.turns]
        if turned:
            words.append(f"The verdict turns if asked {join_names(turned, 4)}.")
    return " ".join(words)


def _score_texts(one: float | None, other: float | None) -> tuple[str, str]:
    """Two scores with digits enough to differ where they do."""
    if one is not None and other is not None:
        return tell_apart(one, other)
    first, second = ("undefined" if s is None else format_number(s) for s in (one, other))
    return first, second


def comparison_summary(found: LogComparison) -> tuple[Sentence, ...]:
    """Which of two logs is fairer by the question asked, and how even each was."""
    sentences = []
    asked = found.questions[0] if found.questions else None
    if asked is not None and None not in asked.scores:
        sentences.append(_which_is_fairer(found))
    for log, answer in enumerate((found.first, found.second), 1):
        words = how_even(answer)
        sentences.append(Sentence((Called((answer.label,)), ": ", *words.parts), f"log{log}"))
    return tuple(sentences)


def _which_is_fairer(found: LogComparison) -> Sentence:
    asked = found.questions[0]
    labels = [found.first.label, found.second.label]
    scores = [0.0 if score is None else score for score in asked.scores]
    texts = tell_apart(*scores)
    by = f" ({asked.question}, by {asked.welfare})"
    if asked.fairer is None:
        score = Quantity(scores[0], texts[0])
        return Sentence(
            (f"The two logs are equally fair{by}: both score ", score, "."), "questions"
        )
    best = int(scores[1] > scores[0])
    parts = (
        *("Of the two logs ", Called((labels[best],)), f" is the fairer{by}: it scores "),
        *(Quantity(scores[best], texts[best]), " and "),
        *(Called((labels[1 - best],)), " ", Quantity(scores[1 - best], texts[1 - best]), "."),
    )
    return Sentence(parts, "questions")
