"""A case judged: under the question that was asked, and under every other."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand._util.moments import moment_label
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.judge import Judged
from evenhand.auditing.judging.questions import Question
from evenhand.auditing.judging.sensitivity import QuestionRow, judge_welfares, question_table
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import FALLBACK_NOTE, SchemeOptions
from evenhand.errors import EvenhandError, NegativeStatus, NothingAssessed, argument
from evenhand.fairness.scheme import FairnessScheme


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the question asked found, by which scheme, and the table of all questions."""

    asked: Judged
    scheme: FairnessScheme
    questions: tuple[QuestionRow, ...]


def judge_case(case: Case, question: Question, options: SchemeOptions, notes: Notes) -> Judgement:
    """Judge by the scheme asked for; by Rawls where log-Nash, the default, is undefined."""
    temporal = options.temporal_part()
    scheme, *fallback = options.schemes(case.status, question.filter())
    asked = judge_welfares(case, question, scheme, temporal)
    _require_assessments(case, asked, scheme)
    undefined = asked.scorers[0].undefined
    if undefined is not None:
        if not fallback:
            raise _named(undefined, case, asked)
        notes.add(FALLBACK_NOTE)
        scheme = fallback[0]
        asked = judge_welfares(case, question, scheme, temporal)
    return Judgement(asked, scheme, question_table(case, asked, scheme, temporal))


def _require_assessments(case: Case, asked: Judged, scheme: FairnessScheme) -> None:
    if asked.totals.assessments:
        return
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
