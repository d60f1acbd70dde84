"""`audit(log, …)`: a decision log in, an answer out. The parts are put together here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand._util.wording import format_number, join_names
from evenhand.auditing.answer.answer import (
    SHOWN_CORRECTIONS,
    Answer,
    AnswerOverTime,
    Limit,
    Overall,
    Unfinished,
    by_stakeholder,
)
from evenhand.auditing.answer.over_runs import over_runs, split_runs
from evenhand.auditing.answer.provenance import origin
from evenhand.auditing.answer.verdict_text import verdict
from evenhand.auditing.judging.judge import Case, Judged, judge
from evenhand.auditing.judging.options import FALLEN_BACK, Ask
from evenhand.auditing.judging.sensitivity import turn_table, welfare_schemes
from evenhand.auditing.notes import Notes
from evenhand.auditing.reading.events import Choice, Columns
from evenhand.auditing.reading.group_columns import as_groups
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.moments import moment_label
from evenhand.auditing.reading.prepare import Prepared, Wanted, prepare
from evenhand.auditing.reading.suspicious_rows import note_sizes
from evenhand.auditing.sources.open_source import LogTable, opened
from evenhand.errors import BadParameter, NothingAssessed
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import GroupTotals, PerEntitlement
from evenhand.fairness.temporal import Temporal
from evenhand.fairness.welfare import Welfare


def audit(
    log: Any,
    *,
    stakeholder: str,
    time: str,
    amount: str | None = None,
    cumulative: bool = False,
    group: str | None = None,
    by: str = "stakeholder",
    entitlement: Any = None,
    roster: Any = None,
    only: Sequence[str] = (),
    exclude: Sequence[str] = (),
    where: str | None = None,
    time_format: str | None = None,
    encoding: str = "utf-8",
    each_event: bool = False,
    every: str | int | None = None,
    after_each: float | None = None,
    when: str | None = None,
    at_end: bool = False,
    until: Any = None,
    welfare: str | Welfare | None = None,
    temporal: str | Temporal | None = None,
    scheme: Any = None,
    run: str | None = None,
    table: str | None = None,
    engine: str | None = None,
    max_unfairness: float | None = None,
    min_score: float | None = None,
) -> Answer:
    """Judge a decision log: was it fair all along, or only at the end, and to whom was it not?

    `log` is a path, a glob, the address of a database, or any table that narwhals knows. The
    options are those of `evenhand audit`, where each is explained. Without a question every time
    point is assessed.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"month": [1, 2, 3, 4], "to": ["A", "A", "B", "B"], "doses": 20_000})
    >>> answer = audit(log, stakeholder="to", time="month", amount="doses", welfare="parity")
    >>> answer.score, answer.stakeholder("B").overall_unfairness
    (-20000.0, -40000.0)
    """
    if run is not None:
        options = {name: value for name, value in locals().items() if name not in ("log", "run")}
        with opened(log, encoding, table, engine) as source:
            found = over_runs(split_runs(source, run), audit, options)
        return replace(found, limits=_limits(found.overall, max_unfairness, min_score))
    ask = Ask(each_event, every, after_each, when, at_end, welfare, temporal, scheme)
    if by not in ("stakeholder", "group"):  # a column of groups, said at once
        group, by = by, "group"
    if by == "group" and group is None:
        raise BadParameter("--by group needs to know the groups: add --group COLUMN.")
    wanted = Wanted(
        columns=Columns(stakeholder, time, amount, group, None, cumulative, time_format),
        choice=Choice(where, when, tuple(only), tuple(exclude)),
        entitlement=entitlement,
        roster=roster,
        until=until,
        encoding=encoding,
    )
    notes = Notes()
    with opened(log, encoding, table, engine) as source:
        ready = prepare(source, wanted, ask.question().needs_every_time_point, notes)
    case = _case(ready, ask, by_group=by == "group")
    return _answered(case, ready, source, ask, notes, max_unfairness, min_score)


def _case(ready: Prepared, ask: Ask, by_group: bool) -> Case:
    """The status: what each received, by group if asked, per entitlement if there is one."""
    status, shares = ask.status(), ready.shares
    groups = as_groups(ready.group_of, ready.history.names) if by_group else None
    if groups is not None:
        status = GroupTotals(groups, of=status)
        if shares is not None:
            shares = groups.totals(shares)
    if shares is not None:
        status = PerEntitlement(tuple(shares.tolist()), of=status)
    return Case(ready.history, status, ready.roster, groups, ready.until)


def _answered(
    case: Case,
    ready: Prepared,
    source: LogTable,
    ask: Ask,
    notes: Notes,
    max_unfairness: float | None,
    min_score: float | None,
) -> Answer:
    question, temporal, shares = ask.question(), ask.temporal_part(), ready.shares
    judged, scheme = _judged(case, ask, notes)
    rows = turn_table(case, judged, scheme, temporal)
    history, tally = case.history, judged.tally
    received = history.totals()
    if case.groups is not None:
        received = case.groups.totals(received)
        shares = None if shares is None else case.groups.totals(shares)
    people = by_stakeholder(judged, case.names, received, shares, ready.group_of)
    if shares is None:
        note_sizes(judged.final, notes)
    overall = Overall(
        score=judged.score,
        even_score=judged.scorers[0].even_score,
        assessments=tally.assessments,
        unequal_assessments=tally.unequal,
        unfinished=judged.unfinished,
        worst_unfairness=tally.worst,
        first=moment_label(history.slots[0]),
        last=moment_label(history.slots[-1]),
    )
    if judged.unfinished is not None:
        notes.add(
            f"The last period ({judged.unfinished}) is not finished: it is shown and not scored. "
            "If the log is whole up to a later date, say so with --until."
        )
    if judged.timeline.gaps:
        notes.add(f"Nothing happened in {join_names(judged.timeline.gaps)}: assessed all the same.")
    return Answer(
        label=source.label,
        question=question.name,
        scheme=scheme,
        overall=overall,
        by_stakeholder=people,
        over_time=_over_time(case, judged),
        questions=rows,
        notes=tuple(notes.sentences),
        asks=tuple(notes.questions),
        verdict=verdict(judged, people, rows[0]),
        at_end=judged.final_standing,
        gaps=judged.timeline.gaps,
        corrections=_corrections(history),
        limits=_limits(overall, max_unfairness, min_score),
        origin=origin(source, history),
    )


def _judged(case: Case, ask: Ask, notes: Notes) -> tuple[Judged, FairnessScheme]:
    """The log under the question asked; by Rawls where log-Nash is undefined and none was asked."""
    question = ask.question()
    own, *fallback = ask.schemes(case.status, question)
    judged = judge(case, question, welfare_schemes(case, own, question, ask.temporal_part()))
    if judged.tally.assessments == 0:
        raise NothingAssessed(
            f"nothing was assessed: fairness is assessed {own.filter.describe()}, which never came "
            f"between {moment_label(case.history.slots[0])} and "
            f"{moment_label(case.history.slots[-1])}. Ask for something more frequent, or say with "
            "--until up to when the log is whole."
        )
    undefined = judged.scorers[0].undefined
    if undefined is None:
        return judged, own
    if not fallback:
        raise type(undefined)(_named(str(undefined), case, judged))
    notes.add(FALLEN_BACK)
    own = fallback[0]
    return judge(case, question, welfare_schemes(case, own, question, ask.temporal_part())), own


def _named(message: str, case: Case, judged: Judged) -> str:
    """An error of the scoring with the names and dates of the log in it."""

    def name(match: re.Match[str]) -> str:
        who, assessment = int(match[1]), int(match[2])
        return f"the status of {case.names[who]!r} at {judged.label(assessment - 1)}"

    return re.sub(r"the status of stakeholder (\d+) at time (\d+)", name, message)


def _over_time(case: Case, judged: Judged) -> AnswerOverTime:
    kept, unfinished = judged.kept, None
    if judged.unfinished is not None:
        unfinished = Unfinished(
            judged.unfinished, judged.unfinished_welfare, judged.final_unfairness
        )
    return AnswerOverTime(
        times=tuple(judged.label(int(k)) for k in kept),
        welfare=None if judged.welfare is None else judged.welfare[kept],
        unfairness=judged.unfairness,
        names=case.names,
        mean=judged.mean,
        every=int(kept[1] - kept[0]) if len(kept) > 1 else 1,
        unfinished=unfinished,
    )


def _corrections(history: History) -> tuple[tuple[str, str, float], ...]:
    found: list[tuple[str, str, float]] = []
    for part in history.parts():
        for place in part.start + np.flatnonzero(history.amount[part] < 0):
            found.append(
                (
                    moment_label(history.slots[history.slot[place]]),
                    history.names[history.who[place]],
                    float(history.amount[place]),
                )
            )
            if len(found) == SHOWN_CORRECTIONS:
                return tuple(found)
    return tuple(found)


def _limits(
    overall: Overall, max_unfairness: float | None, min_score: float | None
) -> tuple[Limit, ...]:
    limits = []
    if max_unfairness is not None:
        furthest = max(-overall.worst_unfairness, 0.0)
        words = (
            f"somebody was {format_number(furthest)} below the mean at an assessment, "
            f"more than --max-unfairness {format_number(max_unfairness)}"
        )
        broken = furthest > max_unfairness
        limits.append(
            Limit("--max-unfairness", max_unfairness, furthest, words if broken else None)
        )
    if min_score is not None:
        score, least = format_number(overall.score), format_number(min_score)
        words = f"the score is {score}, below --min-score {least}"
        broken = overall.score < min_score
        limits.append(Limit("--min-score", min_score, overall.score, words if broken else None))
    return tuple(limits)
