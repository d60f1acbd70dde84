"""`best_there_was(log, …)`: how fair the same supply could have been shared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evenhand.auditing.answer import Answer, BestThereWas
from evenhand.auditing.case import Case
from evenhand.auditing.judge import Judged, judge
from evenhand.auditing.questions import question_of
from evenhand.decide.hindsight.best_division import best_division, best_in_lots
from evenhand.decide.hindsight.from_log import Hindsight, read_hindsight
from evenhand.errors import BadParameter, argument
from evenhand.fairness.scheme import FairnessScheme
from evenhand.log.log import Kept, log_of, options_for
from evenhand.log.options import AuditOptions, with_keywords


@dataclass(frozen=True, kw_only=True)
class BestOptions(AuditOptions):
    """The keyword arguments of `best_there_was`."""

    lots: bool = False  # a row of the log is one thing that cannot be divided


def _best_there_was(log: Any, options: BestOptions) -> BestThereWas:
    """The best score that a log's supply could have had, and a bound that no allocation exceeds.

    Times, supply, eligibility (the roster's dates) and requests are held fixed, and all supply is
    given out. Nobody's behaviour is taken to change.

    Args:
        log: As in `audit`.
        lots: Whether a row of the log is one thing that cannot be divided.

    Every other argument is one of `audit`. What only an audit has a use for, such as `min_score`,
    is refused.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"month": [1, 2, 3, 4], "to": ["A", "A", "A", "B"], "doses": 20})
    >>> found = best_there_was(
    ...     log, stakeholder="to", time="month", amount="doses", welfare="rawls", at_end=True
    ... )
    >>> round(found.actual), round(found.score), round(found.bound)
    (20, 40, 40)
    """
    options.require_no_audit("the best there was")
    return best_with(log, options, options.lots)


best_there_was = with_keywords(_best_there_was, BestOptions)


def best_with(log: Any, options: AuditOptions, lots: bool = False) -> BestThereWas:
    """The same, with the options as one object."""
    judged, scheme, hindsight = look_back(log, options, lots)
    if hindsight.lots is None:
        found = best_division(hindsight.division, scheme.aggregation)
    else:
        found = best_in_lots(hindsight.division, scheme.aggregation, hindsight.lots)
    score = hindsight.division.score(found.allocation, scheme.aggregation)
    return BestThereWas(
        score=score,
        bound=max(found.bound, score),
        actual=judged.score,
        even=judged.scorers[0].even_score,
        lots=lots,
    )


def with_best(answer: Answer, log: Any, options: AuditOptions, lots: bool = False) -> Answer:
    """An answer that also says how fair the same supply could have been shared."""
    best = best_with(log, options, lots)
    return replace(answer, best=best, verdict=f"{answer.verdict} {best.sentence()}")


def look_back(
    log: Any, options: AuditOptions, lots: bool = False
) -> tuple[Judged, FairnessScheme, Hindsight]:
    """A log judged, by which scheme, and what could have been divided otherwise."""
    options = options_for(log, options)
    if options.run is not None:
        raise BadParameter(
            f"the best there was is that of one history, and {argument('run')} says that the log "
            f"has several: choose one with {argument('where')}, or leave {argument('best')} out."
        )
    question_of(options)  # refused before anything is opened, if it makes no sense
    found = log_of(log, options, Kept(rows=lots, ends=False))
    if not lots:
        found = replace(found, lots=None)
    case = Case.of(found, options)
    judged, scheme = _judged(case, options)
    return judged, scheme, read_hindsight(found, options, judged, _newcomers(case, options))


def _judged(case: Case, options: AuditOptions) -> tuple[Judged, FairnessScheme]:
    """By the scheme asked for, or by the one to fall back on where that is undefined."""
    question = question_of(options)
    schemes = options.schemes(case.status, question.filter)
    for scheme in schemes:
        judged = judge(case, question, [scheme])
        if judged.scorers[0].undefined is None:
            break
    judged.score  # noqa: B018 - an error where it is undefined still, or nothing was assessed
    return judged, scheme


def _newcomers(case: Case, options: AuditOptions) -> str | None:
    """Where those who join later begin, if anybody does."""
    if case.stay() is None or not case.status.is_sum:
        return None
    return options.newcomers or "mean"
