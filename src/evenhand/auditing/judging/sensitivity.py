"""A case judged under the question asked, and where the verdict turns: under every other.

For one log the verdict of a question is who was treated worst (the lowest overall unfairness over
its assessments, all of them where several are equal), or nobody, if no one is behind overall. A
welfare function adds whether it differs from that of an even log, in which everybody has the mean:
"even" or "uneven". A verdict turns where it differs from that of the question that was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand._util.moments import moment_label
from evenhand._util.wording import join_names
from evenhand.auditing.judging.calendar import MOST_PERIODS, PERIODS, how_many
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.judge import Judged, judge
from evenhand.auditing.judging.questions import (
    AT_END,
    EACH_EVENT,
    Question,
    Timeline,
    every_n,
    every_period,
    last_day,
)
from evenhand.auditing.judging.ranking import EQUAL, Ranking
from evenhand.auditing.judging.scorer import Scorer
from evenhand.auditing.notes import Notes
from evenhand.auditing.scheme_options import FALLBACK_NOTE, SchemeOptions
from evenhand.errors import EvenhandError, NegativeStatus, NothingAssessed, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.temporal import Temporal
from evenhand.fairness.welfare import WELFARES, GiniWelfare, LogNash, Rawls, Utilitarian, Welfare

OTHERS: tuple[Welfare, ...] = (LogNash(), Rawls(), GiniWelfare(), Utilitarian())
QUICK: tuple[Welfare, ...] = (Rawls(), Utilitarian())  # for very many statuses
STEP_VALUES = 50_000_000  # a question of more statuses is asked only if it is the one asked
LEAST_MONTH = 28  # days of the shortest one
EVEN = EQUAL  # a score this close to the even one, relative to it, is even


@dataclass(frozen=True)
class WelfareReading:
    """What one welfare function says under one question."""

    welfare: str
    score: float | None  # None where the welfare is undefined
    even_score: float | None
    even: bool | None
    turns: bool = False


@dataclass(frozen=True, eq=False)
class QuestionRow:
    """One question, who it finds treated worst, and what each welfare function says."""

    question: str
    asked: bool
    assessments: float
    unequal: float  # assessments at which somebody was below the mean
    names: tuple[str, ...]
    ranking: Ranking  # over all
    readings: tuple[WelfareReading, ...]
    turns: bool = False

    @property
    def all_worst(self) -> tuple[str, ...]:
        """Everyone treated worst: several where they are equal, nobody if no one is behind."""
        return tuple(self.names[place] for place in self.ranking.lowest)

    @property
    def worst(self) -> str | None:
        """The first of those treated worst."""
        return next(iter(self.all_worst), None)

    @property
    def worst_unfairness(self) -> float:
        """The overall unfairness to those treated worst."""
        lowest = self.ranking.lowest
        return float(self.ranking.deviation[lowest[0]]) if lowest else 0.0

    def against(self, asked: QuestionRow) -> QuestionRow:
        """With the marks of where the verdict is not as in the question that was asked."""
        even = asked.readings[0].even
        return replace(
            self,
            turns=self.all_worst != asked.all_worst,
            readings=tuple(
                replace(one, turns=None not in (even, one.even) and one.even != even)
                for one in self.readings
            ),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "asked": self.asked,
            "assessments": self.assessments,
            "unequal_assessments": self.unequal,
            "treated_worst": self.worst,
            "all_treated_worst": list(self.all_worst),
            "overall_unfairness": self.worst_unfairness,
            "turns": self.turns,
            "welfare": {
                reading.welfare: {
                    "score": reading.score,
                    "even_score": reading.even_score,
                    "verdict": {True: "even", False: "uneven", None: None}[reading.even],
                    "turns": reading.turns,
                }
                for reading in self.readings
            },
        }


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the question asked found, by which scheme, and the table of all questions."""

    asked: Judged
    scheme: FairnessScheme
    questions: tuple[QuestionRow, ...]


def judge_case(case: Case, question: Question, options: SchemeOptions, notes: Notes) -> Judgement:
    """Judge by the scheme asked for; by Rawls where log-Nash, the default, is undefined."""
    temporal = options.temporal_part()
    scheme, *fallback = options.schemes(case.status, question.filter)
    timeline = case.timeline(question)
    asked = judge_welfares(case, question, scheme, temporal, timeline)
    _require_assessments(case, asked, scheme)
    undefined = asked.scorers[0].undefined
    if undefined is not None:
        if not fallback:
            raise _named(undefined, case, asked)
        notes.add(FALLBACK_NOTE)
        scheme = fallback[0]
        asked = judge_welfares(case, question, scheme, temporal, timeline)
    return Judgement(asked, scheme, question_table(case, asked, scheme, temporal))


def _require_assessments(case: Case, asked: Judged, scheme: FairnessScheme) -> None:
    if asked.totals.assessments:
        return
    if missed := asked.missed():
        raise NothingAssessed(
            f"nothing was assessed: fairness is assessed {scheme.filter.describe()}, and nobody is "
            f"there then, by the roster's dates ({join_names(missed)}). Fix from and until of the "
            "roster, or ask for something more frequent."
        )
    first, last = (moment_label(case.history.slots[place]) for place in (0, -1))
    raise NothingAssessed(
        f"nothing was assessed: fairness is assessed {scheme.filter.describe()}, which never came "
        f"between {first} and {last}. Ask for something more frequent, or say with "
        f"{argument('until')} up to when the log is whole."
    )


def _named(error: EvenhandError, case: Case, asked: Judged) -> EvenhandError:
    """An error of the scoring with the names and dates of the log in it."""
    if not isinstance(error, NegativeStatus) or error.place is None:
        return error
    who, moment = case.names[error.place.stakeholder], asked.label(error.place.time - 1)
    return error.about(f"the status of {who!r} at {moment}")


def other_questions(case: Case) -> Iterator[tuple[Question, Timeline]]:
    """At the end, by each calendar period that was finished twice, and at every time point."""
    history = case.history
    yield AT_END, case.timeline(AT_END)
    if not history.plain_numbers:
        for period in reversed(PERIODS.values()):
            if history.by_month and period.days < LEAST_MONTH:
                continue
            periods = how_many(period, history.days()[0], last_day(history, case.until))
            if periods > min(MOST_PERIODS, STEP_VALUES // len(case.names)):
                continue
            question = every_period(period)
            timeline = case.timeline(question)
            if timeline.marks is not None and int(np.sum(timeline.marks)) >= 2:
                yield question, timeline
    elif history.exact:
        points = len(history.slots)
        least = points * len(case.names) / STEP_VALUES
        for number in (1000, 100, 10, 5, 2):
            if number >= least and points // number >= 3:
                question = every_n(number)
                yield question, case.timeline(question)
    if history.exact and len(history.slots) * len(case.names) <= STEP_VALUES:
        yield EACH_EVENT, case.timeline(EACH_EVENT)


def question_table(
    case: Case, asked: Judged, scheme: FairnessScheme, temporal: Temporal
) -> tuple[QuestionRow, ...]:
    """The rows of the table, the question that was asked first."""
    rows = [_row(case, asked, asked=True)]
    for question, timeline in other_questions(case):
        if question == asked.question:
            continue
        found = judge_welfares(case, question, scheme, temporal, timeline)
        if found.totals.assessments:
            rows.append(_row(case, found))
    return tuple(row.against(rows[0]) for row in rows)


def judge_welfares(
    case: Case,
    question: Question,
    scheme: FairnessScheme,
    temporal: Temporal,
    timeline: Timeline | None = None,
) -> Judged:
    """The case under a question, by the scheme and by every other welfare function in its place.

    All of them are taken of the same statuses, which are worked out once.
    """
    timeline = case.timeline(question) if timeline is None else timeline
    others = OTHERS if timeline.steps * len(case.names) <= STEP_VALUES else QUICK
    welfares = [welfare for welfare in others if welfare != scheme.welfare]
    first = FairnessScheme(case.status, scheme.aggregation, question.filter, scheme.empty)
    others_of_it = [
        FairnessScheme(case.status, TimepointFirst(welfare, temporal), question.filter)
        for welfare in welfares
    ]
    return judge(case, question, [first, *others_of_it], timeline)


def name_of(scheme: FairnessScheme) -> str:
    """What the column of a scheme is called."""
    if scheme.welfare is None:
        return type(scheme.aggregation).__name__
    return WELFARES.name_of(scheme.welfare) or type(scheme.welfare).__name__


def _row(case: Case, found: Judged, asked: bool = False) -> QuestionRow:
    return QuestionRow(
        question=found.question.name,
        asked=asked,
        assessments=found.totals.assessments,
        unequal=found.totals.unequal,
        names=case.names,
        ranking=found.totals.ranking,
        readings=tuple(_reading(scorer) for scorer in found.scorers),
    )


def _reading(scorer: Scorer) -> WelfareReading:
    name = name_of(scorer.scheme)
    if scorer.undefined is not None:
        return WelfareReading(name, None, None, None)
    score, even_score = scorer.score, scorer.even_score
    if even_score is None:
        return WelfareReading(name, score, None, None)
    even = abs(score - even_score) <= EVEN * max(abs(even_score), abs(score))
    return WelfareReading(name, score, even_score, even)
