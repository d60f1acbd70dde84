"""Section 4.1, 𝔉ᵀ(π) from a log of a policy's rollouts: many runs, judged one by one, averaged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from evenhand._util.numbers import FEWEST_RUNS, bootstrap_interval
from evenhand._util.wording import format_number, pluralise
from evenhand.auditing.answer import (
    SHOWN_CORRECTIONS,
    Answer,
    AnswerOverTime,
    Overall,
    StakeholderAnswer,
    Unfinished,
)
from evenhand.auditing.group_gaps import GroupGaps
from evenhand.auditing.judge import QuestionRow, WelfareReading
from evenhand.auditing.scoring import Ranking, known_mean
from evenhand.auditing.verdict import changes, off_share, treated_worst
from evenhand.errors import BadLog, argument
from evenhand.log.layout import Notes
from evenhand.log.log import Record
from evenhand.log.options import FALLBACK, FALLBACK_NOTE, AuditOptions

AuditWith = Callable[[Record, AuditOptions], Answer]


def over_runs(parts: Sequence[Record], audit: AuditWith, options: AuditOptions) -> Answer:
    """Every run judged by the same scheme, and the mean of their answers."""
    answers = [audit(part, options) for part in parts]
    if any(answer.scheme.welfare != answers[0].scheme.welfare for answer in answers):
        # A mean of scores by different welfare functions would mean nothing.
        answers = [audit(part, replace(options, welfare=FALLBACK)) for part in parts]
        return averaged(answers, [FALLBACK_NOTE])
    return averaged(answers)


def averaged(answers: Sequence[Answer], notes_before: Sequence[str] = ()) -> Answer:
    """One answer for many runs: the mean of every number, and how sure the mean score is.

    Ranks and who was treated worst are by those means; a spell and the lowest unfairness are those
    of any run. What has a meaning in one run alone, such as when a spell began, is left out.
    """
    first, count = answers[0], len(answers)
    if any(answer.over_time.names != first.over_time.names for answer in answers):
        raise BadLog(
            f"the runs do not have the same stakeholders: give a {argument('roster')}, so that "
            "those who received nothing in a run are judged in it."
        )
    scores = np.array([answer.score for answer in answers])
    notes = Notes(list(notes_before))
    groups, direction = _groups(answers), first.terms.direction
    for answer in answers:
        own = () if answer.groups is None else answer.groups.sentences(direction)
        for sentence in answer.notes:
            if sentence not in own:
                notes.add(sentence)
    for sentence in () if groups is None else groups.sentences(direction):
        notes.add(sentence)
    sure = ""
    if 1 < count < FEWEST_RUNS:
        sure = " (too few runs for an interval)"
    elif count > 1:
        low, high = bootstrap_interval(scores, np.random.default_rng(0))
        sure = f", 95 % interval {format_number(low)} to {format_number(high)}"
    mean = format_number(float(scores.mean()))
    notes.add(f"Every number is the mean over {count:,} runs; the score is {mean}{sure}.")
    notes.add(
        "Ranks and who was treated worst are by these means. The longest spell, the lowest "
        "unfairness to anyone and what was taken back are those of any run."
    )
    rows = _rows(answers)
    at_end = Ranking.mean([answer.at_end for answer in answers])
    people = _people(answers, rows[0].ranking, at_end)
    found = replace(
        first,
        overall=_overall([answer.overall for answer in answers]),
        over_time=_course([answer.over_time for answer in answers], notes),
        by_stakeholder=people,
        questions=rows,
        at_end=at_end,
        runs=count,
        groups=groups,
        gaps=tuple(gap for gap in first.gaps if all(gap in answer.gaps for answer in answers)),
        corrections=tuple(chain.from_iterable(a.corrections for a in answers))[:SHOWN_CORRECTIONS],
        corrections_in_all=sum(answer.corrections_in_all for answer in answers),
        origin=_origin([answer.origin for answer in answers]),
        notes=tuple(notes.sentences),
        asks=tuple(dict.fromkeys(chain.from_iterable(answer.asks for answer in answers))),
    )
    return replace(
        found, verdict=f"Over {count:,} runs the score is {mean} on average{sure}. {_worst(found)}"
    )


def _groups(answers: Sequence[Answer]) -> GroupGaps | None:
    """The groups, where everyone has one and the same in all runs."""
    each = [answer.groups for answer in answers if answer.groups is not None]
    names = {tuple((gap.name, gap.members) for gap in one.groups) for one in each}
    return GroupGaps.mean_of(each) if len(each) == len(answers) and len(names) == 1 else None


def _worst(found: Answer) -> str:
    """Those to whom the runs were unfair, taken together."""
    if not found.overall.unequal_assessments:
        worse = found.terms.direction.worse
        return f"At no assessment of any run was anybody {worse} {found.terms.mean}."
    worst = [found.stakeholder(name) for name in found.treated_worst]
    last = [found.stakeholder(name) for name in found.worst_at_end]
    nobody = "Over all and over the runs nobody was behind the others"
    people, terms = found.by_stakeholder, found.terms
    amounts = off_share(people, terms) if last else []
    return " ".join([treated_worst(worst, last, terms, nobody), *amounts, *changes(people)])


def _overall(each: Sequence[Overall]) -> Overall:
    unfinished = {one.unfinished for one in each}
    return Overall(
        score=_mean([one.score for one in each]),
        even_score=_known(one.even_score for one in each),
        assessments=_count(one.assessments for one in each),
        unequal_assessments=_count(one.unequal_assessments for one in each),
        unfinished=unfinished.pop() if len(unfinished) == 1 else None,
        worst_unfairness=min(one.worst_unfairness for one in each),
        worst_share=min(one.worst_share for one in each),
        as_even_as_whole_units=all(one.as_even_as_whole_units for one in each),
        first=min((one.first for one in each), key=_moment),
        last=max((one.last for one in each), key=_moment),
    )


def _people(
    answers: Sequence[Answer], overall: Ranking, at_end: Ranking
) -> tuple[StakeholderAnswer, ...]:
    names = answers[0].over_time.names
    by_name = [{one.name: one for one in answer.by_stakeholder} for answer in answers]
    ranks = at_end.ranks, overall.ranks
    behind, below = overall.behind, at_end.behind
    return tuple(
        replace(
            _person([people[names[i]] for people in by_name]),
            rank_final=int(ranks[0][i]),
            rank_overall=int(ranks[1][i]),
            made_good=bool(behind[i] and not below[i]),
            fell_behind=bool(below[i] and not behind[i]),
        )
        for i in overall.worst_first
    )


def _person(same: Sequence[StakeholderAnswer]) -> StakeholderAnswer:
    """The means of one stakeholder; of the distances over the runs in which it was there."""

    def where_known(name: str) -> float:
        return float(known_mean([np.array(getattr(one, name)) for one in same]))

    groups = {one.group for one in same}
    shares = [one.share_below for one in same if one.assessments]
    return replace(
        same[0],
        group=groups.pop() if len(groups) == 1 else None,
        entitlement=_known(one.entitlement for one in same),
        chances=_known(one.chances for one in same),
        asked=_known(one.asked for one in same),
        unmet=_known(one.unmet for one in same),
        received=_known(one.received for one in same),
        final=_mean([one.final for one in same]),
        final_unfairness=where_known("final_unfairness"),
        short_of_share=None if same[0].short_of_share is None else where_known("short_of_share"),
        overall_unfairness=_mean([one.overall_unfairness for one in same]),
        share_below=_mean(shares) if shares else 0.0,
        assessments=_count(one.assessments for one in same),
        longest_spell=max(one.longest_spell for one in same),
        longest_spell_from=None,
        longest_spell_until=None,
        first_unfairness=where_known("first_unfairness"),
        last_unfairness=where_known("last_unfairness"),
    )


def _course(tables: Sequence[AnswerOverTime], notes: Notes) -> AnswerOverTime:
    """The mean course, at the times at which every run was assessed."""
    first = tables[0]
    places = [{time: k for k, time in enumerate(table.times)} for table in tables]
    times = [time for time in first.times if all(time in found for found in places)]
    if any(table.times != first.times for table in tables):
        notes.add(
            "The runs were assessed at different times: the course over time is shown for the "
            f"{pluralise(len(times), 'time')} at which every run was assessed."
        )
    kept = [[found[time] for time in times] for found in places]

    def mean(part: Callable[[AnswerOverTime], np.ndarray]) -> np.ndarray:
        chosen = (part(table)[rows] for table, rows in zip(tables, kept, strict=True))
        return np.mean(list(chosen), axis=0)

    def mean_if_known(part: Callable[[AnswerOverTime], np.ndarray | None]) -> np.ndarray | None:
        if any(part(table) is None for table in tables):
            return None
        return mean(lambda table: np.asarray(part(table)))

    return AnswerOverTime(
        times=tuple(times),
        welfare=mean_if_known(lambda table: table.welfare),
        even_welfare=mean_if_known(lambda table: table.even_welfare),
        unfairness=mean(lambda table: table.unfairness),
        names=first.names,
        mean=mean(lambda table: table.mean),
        every=max(table.every for table in tables),
        unfinished=_unfinished([table.unfinished for table in tables]),
    )


def _unfinished(lasts: Sequence[Unfinished | None]) -> Unfinished | None:
    """The last period that is not over, where it is the same one in every run."""
    known = [last for last in lasts if last is not None]
    if len(known) < len(lasts) or any(last.time != known[0].time for last in known):
        return None
    return Unfinished(
        time=known[0].time,
        welfare=_known(last.welfare for last in known),
        even_welfare=_known(last.even_welfare for last in known),
        unfairness=known_mean([last.unfairness for last in known]),
        mean=_mean([last.mean for last in known]),
    )


def _rows(answers: Sequence[Answer]) -> tuple[QuestionRow, ...]:
    """The questions that every run could be asked, each answered for every run."""
    tables = [{row.question: row for row in answer.questions} for answer in answers]
    rows = []
    for row in answers[0].questions:
        if not all(row.question in table for table in tables):
            continue
        same = [table[row.question] for table in tables]
        rows.append(
            replace(
                row,
                assessments=_count(one.assessments for one in same),
                unequal=_count(one.unequal for one in same),
                ranking=Ranking.mean([one.ranking for one in same]),
                readings=tuple(_readings(same)),
            )
        )
    return tuple(row.against(rows[0]) for row in rows)


def _readings(same: Sequence[QuestionRow]) -> Iterator[WelfareReading]:
    """The welfare functions by which every run was judged; even is what is so in every run."""
    tables = [{reading.welfare: reading for reading in row.readings} for row in same]
    for welfare in tables[0]:
        if not all(welfare in table for table in tables):
            continue
        readings = [table[welfare] for table in tables]
        unknown = any(one.even is None for one in readings)
        yield WelfareReading(
            welfare=welfare,
            score=_known(one.score for one in readings),
            even_score=_known(one.even_score for one in readings),
            even=None if unknown else all(one.even for one in readings),
        )


def _origin(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was read, over all runs, and one digest of all that was judged."""
    points = [one["time_points"] for one in each]
    judged = "".join(one["fingerprint"] for one in each)
    return {
        **each[0],
        "rows": sum(one["rows"] for one in each),
        "events": sum(one["events"] for one in each),
        "time_points": None if None in points else sum(points),
        "fingerprint": hashlib.sha256(judged.encode()).hexdigest(),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _known(values: Iterable[float | None]) -> float | None:
    """The mean, where there is a number in every run."""
    found = list(values)
    known = [value for value in found if value is not None]
    return _mean(known) if len(known) == len(found) else None


def _count(values: Iterable[float]) -> float:
    """The mean of counts; a whole number stays one."""
    mean = _mean(list(values))
    return int(mean) if mean == int(mean) else mean


def _moment(label: str) -> tuple[float, str]:
    """What puts the names of moments in order: numbers as such, dates as they are written."""
    try:
        return float(label), ""
    except ValueError:
        return 0.0, label
