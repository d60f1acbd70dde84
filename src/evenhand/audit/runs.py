"""Section 4.1, 𝔉ᵀ(π) from a log of a policy's rollouts: many runs, judged one by one, averaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import narwhals as nw
import numpy as np

from evenhand.audit.answer import Answer, OverTime, StakeholderAnswer
from evenhand.audit.engines import engine_of, fetch
from evenhand.audit.notes import Notes
from evenhand.audit.opening import Table
from evenhand.audit.reading import require_column
from evenhand.audit.turns import Reading, Row
from evenhand.audit.words import number
from evenhand.errors import BadLog
from evenhand.interval import bootstrap_interval


def split_runs(table: Table, column: str) -> list[Table]:
    """The table of each run, in order of the runs' names; None is no run."""
    require_column(table, column, "--run")
    frame = engine_of(table.frame).hold(table.frame) if table.is_text else table.frame
    found = fetch(frame.select(nw.col(column)).unique().sort(column))[column]
    names = [name for name in found.tolist() if name is not None and name == name]
    return [replace(table, frame=frame.filter(nw.col(column) == name), paths=()) for name in names]


def averaged(answers: Sequence[Answer], judged: int) -> Answer:
    """One answer for many runs: the mean of every number, and how sure the mean score is."""
    first = answers[0]
    if any(answer.over_time.names != first.over_time.names for answer in answers):
        raise BadLog(
            "the runs do not have the same stakeholders: give a roster, so that whoever received "
            "nothing in a run is judged in it."
        )
    scores = np.array([answer.score for answer in answers])
    notes = Notes()
    for answer in answers:
        for sentence in answer.notes:
            notes.add(sentence)
    sure = ""
    if len(scores) > 1:
        low, high = bootstrap_interval(scores, np.random.default_rng(0))
        sure = f", 95 % interval {number(low)} to {number(high)}"
    mean = number(float(scores.mean()))
    notes.add(f"Every number is the mean over {judged:,} runs; the score is {mean}{sure}.")
    over_time = _course([answer.over_time for answer in answers], notes)
    people = tuple(_person([a.stakeholder(p.name) for a in answers]) for p in first.by_stakeholder)
    worst = min(people, key=lambda one: one.overall_unfairness)
    return replace(
        first,
        overall=replace(
            first.overall,
            score=float(scores.mean()),
            worst_unfairness=min(answer.overall.worst_unfairness for answer in answers),
        ),
        over_time=over_time,
        by_stakeholder=tuple(sorted(people, key=lambda one: one.overall_unfairness)),
        questions=_rows(answers),
        notes=tuple(notes.sentences),
        verdict=f"Over {judged:,} runs the score is {mean} on average{sure}. "
        f"Treated worst over all was {worst.name}, below the mean at {worst.share_below:.0%} of "
        "the assessments.",
    )


def _person(same: Sequence[StakeholderAnswer]) -> StakeholderAnswer:
    means: dict[str, Any] = {}
    for spec in fields(StakeholderAnswer):
        values = [getattr(one, spec.name) for one in same]
        if all(type(value) is float for value in values):
            means[spec.name] = float(np.mean(values))
    return replace(same[0], **means)


def _course(tables: Sequence[OverTime], notes: Notes) -> OverTime:
    """The mean course, where the runs were assessed at the same times."""
    first = tables[0]
    if any(table.times != first.times for table in tables):
        notes.add("The runs were assessed at different times: the course shown is the first run's.")
        return first
    welfares = [table.welfare for table in tables if table.welfare is not None]
    lasts = [table.unfinished for table in tables if table.unfinished is not None]
    unfinished = None
    if len(lasts) == len(tables):
        known = [last.welfare for last in lasts if last.welfare is not None]
        unfinished = replace(
            lasts[0],
            welfare=float(np.mean(known)) if len(known) == len(lasts) else None,
            unfairness=np.mean([last.unfairness for last in lasts], axis=0),
        )
    return replace(
        first,
        welfare=np.mean(welfares, axis=0) if len(welfares) == len(tables) else None,
        unfairness=np.mean([table.unfairness for table in tables], axis=0),
        mean=np.mean([table.mean for table in tables], axis=0),
        unfinished=unfinished,
    )


def _rows(answers: Sequence[Answer]) -> tuple[Row, ...]:
    """The questions that every run could be asked."""
    rows = []
    tables = [{row.question: row for row in answer.questions} for answer in answers]
    for row in answers[0].questions:
        if not all(row.question in table for table in tables):
            continue
        same = [table[row.question] for table in tables]
        readings = tuple(
            _reading([other.readings[k] for other in same]) for k in range(len(row.readings))
        )
        rows.append(replace(row, readings=readings))
    return tuple(rows)


def _reading(same: Sequence[Reading]) -> Reading:
    def mean(value: Callable[[Reading], float | None]) -> float | None:
        values = [value(one) for one in same]
        known = [v for v in values if v is not None]
        return float(np.mean(known)) if len(known) == len(values) else None

    even = None if any(one.even is None for one in same) else all(one.even for one in same)
    return replace(
        same[0],
        score=mean(lambda one: one.score),
        even_score=mean(lambda o: o.even_score),
        even=even,
    )
