"""An answer put together from what was read and judged, with how it came about."""

from __future__ import annotations

import hashlib
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand import __version__
from evenhand._util.moments import moment_label
from evenhand._util.wording import join_names, tell_apart
from evenhand.auditing.answer.answer import (
    SHOWN_CORRECTIONS,
    Answer,
    AnswerOverTime,
    Limit,
    Overall,
    StakeholderAnswer,
    Unfinished,
)
from evenhand.auditing.answer.direction import Direction
from evenhand.auditing.answer.group_gaps import GroupGaps, group_gaps, refuse_no_group
from evenhand.auditing.answer.presentation import Presentation
from evenhand.auditing.answer.terms import Terms
from evenhand.auditing.answer.verdict_text import verdict
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.judge import Judged
from evenhand.auditing.judging.ranking import EQUAL, Ranking
from evenhand.auditing.judging.sensitivity import Judgement
from evenhand.auditing.log import Log
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.period_border import how_to_finish
from evenhand.auditing.reading.suspicious_rows import note_sizes, note_small
from evenhand.auditing.reading.timed_amounts import TimedAmounts
from evenhand.errors import argument
from evenhand.fairness.trace import Tolerance
from evenhand.fairness.welfare import LogNash

if TYPE_CHECKING:
    from jaxtyping import Float

HASHED_BYTES = 256 * 1024 * 1024  # files larger than this are known by their size alone


def assemble(
    log: Log,
    case: Case,
    judgement: Judgement,
    options: AuditOptions,
    notes: Notes,
) -> Answer:
    """The answer, with the last notes on what was judged."""
    judged, rows = judgement.asked, judgement.questions
    terms = Terms.of(judgement.scheme.status, options.amount, options.unit)
    group_of = {case.shown.get(name, name): part for name, part in log.group_of.items()}
    claims = _claims(log, case, judged)
    people = _by_stakeholder(judged, case, claims, group_of)
    if log.shares is None and options.out_of is None:
        note_sizes(terms.direction.sign * judged.final, notes)
    if isinstance(judgement.scheme.welfare, LogNash) and log.shares is not None:
        note_small(judged.final, judgement.scheme.welfare.offset, notes)
    _note_weights(log, options, notes)
    _note_periods(judged, options, notes)
    gaps = _gaps(case, judged, group_of, options, notes)
    for sentence in () if gaps is None else gaps.sentences(terms.direction):
        notes.add(sentence)
    overall, over_time = _overall(case, judged), _over_time(case, judged)
    corrections = _Corrections() if options.stock else _corrections(case)
    return Answer(
        label=log.label,
        question=judged.question.name,
        scheme=judgement.scheme,
        overall=overall,
        by_stakeholder=people,
        over_time=over_time,
        questions=rows,
        notes=tuple(notes.sentences),
        asks=tuple(notes.questions),
        verdict=verdict(judged, people, rows[0], terms),
        unit=options.amount,
        presentation=Presentation.of(options, log.record.columns),
        at_end=judged.final_ranking,
        gaps=judged.gaps(),
        groups=gaps,
        corrections=corrections.first,
        corrections_in_all=corrections.in_all,
        limits=limits(overall, over_time.unfinished, options, terms.direction),
        origin=_origin(log),
    )


def _gaps(
    case: Case, judged: Judged, group_of: dict[str, str], options: AuditOptions, notes: Notes
) -> GroupGaps | None:
    """The groups of those judged; where groups are judged, each is its own."""
    if options.group is None:
        return None
    own = {name: name for name in case.names} if case.groups is not None else group_of
    alone = [name for name in case.names if name not in own]
    if alone:
        refuse_no_group(alone, options.reference)
        notes.add(
            f"No group is known for {join_names(alone, 3)}: how much of the inequality lies "
            "between groups is not worked out."
        )
        return None
    return group_gaps(case.names, own, judged.final, judged.final_weights, options.reference)


def limits(
    overall: Overall, unfinished: Unfinished | None, options: AuditOptions, direction: Direction
) -> tuple[Limit, ...]:
    """The thresholds that were set, and whether each was kept."""
    found = []
    if options.most_unfair is not None:
        found.append(_most_unfair(options.most_unfair, overall, unfinished, direction))
    if options.min_score is not None:
        score, least = overall.score, options.min_score
        found_text, least_text = tell_apart(score, least)
        words = f"the score is {found_text}, below {argument('min_score')} {least_text}"
        found.append(Limit("min_score", least, score, words if score < least else None))
    return tuple(found)


def _most_unfair(
    most: Tolerance, overall: Overall, unfinished: Unfinished | None, direction: Direction
) -> Limit:
    """How far anybody was on the worse side of the mean: an amount, or a share of the mean."""
    given = argument("max_unfairness")
    if most.share:
        limit, furthest = most.share, max(-overall.worst_share, 0.0)
        words = f"somebody was {furthest:.3g} of the mean {direction.worse} it at an assessment, "
        words += f"more than {given} {most}"
    else:
        limit, furthest = most.amount, max(-overall.worst_unfairness, 0.0)
        far, least = tell_apart(furthest, limit)
        words = f"somebody was {far} {direction.worse} the mean at an assessment, "
        words += f"more than {given} {least}"
    is_open = False
    if unfinished is not None:
        now, let_pass = unfinished.unfairness, float(most.around(np.asarray(unfinished.mean)))
        is_open = bool(Ranking.of(now, now + unfinished.mean, let_pass).behind.any())
    broken = furthest > limit * (1 + EQUAL)  # whoever is just at the limit keeps it
    return Limit("max_unfairness", limit, furthest, words if broken else None, is_open)


class _Claims(NamedTuple):
    """What each received and what it may claim, by the end of the log."""

    received: Float[np.ndarray, " status"]
    entitlement: Float[np.ndarray, " status"] | None
    chances: Float[np.ndarray, " status"] | None
    asked: Float[np.ndarray, " status"] | None
    units: Float[np.ndarray, " status"] | None  # that turn distances per unit into amounts

    @property
    def unmet(self) -> Float[np.ndarray, " status"] | None:
        return None if self.asked is None else self.asked - self.received


def _claims(log: Log, case: Case, judged_case: Judged) -> _Claims:
    def judged(values: Float[np.ndarray, " stakeholder"] | None) -> Any:
        return values if values is None or case.groups is None else case.groups.totals(values)

    def by_the_end(part: str) -> Any:
        known = log.beside.get(part)
        if not isinstance(known, TimedAmounts):
            return None
        return judged(known.totals().by(end)[-1])

    end = judged_case.timeline.moments[-1:]  # which may be later than the last row
    received = case.history.totals()
    if case.levels and case.amounts is not None:
        received = case.amounts().by(end)[-1]
    entitlement, chances, asked = judged(log.shares), by_the_end("chances"), by_the_end("asked")
    units = next((one for one in (entitlement, chances, asked) if one is not None), None)
    if not case.status.in_amounts:
        units = None
    elif case.status.per_step:  # a distance is that of the last period, and so are its chances
        units = judged_case.final_weights
    return _Claims(judged(received), entitlement, chances, asked, units)


def _note_weights(log: Log, options: AuditOptions, notes: Notes) -> None:
    if "entitled" in log.beside:
        notes.add("Entitlements change over time: each counts as it was at each moment.")
    if options.unweighted:
        notes.add(
            f"All were counted alike, whatever they are entitled to ({argument('unweighted')}): "
            "the mean is that of the statuses per unit, not all that was given over all that was "
            "entitled, and a small stakeholder far from it can outweigh a large one near it."
        )


def _note_periods(judged: Judged, options: AuditOptions, notes: Notes) -> None:
    if judged.unfinished is not None:
        notes.add(
            f"The last period ({judged.unfinished}) is not finished: it is shown and not scored. "
            f"{how_to_finish(options.until)}"
        )
    if gaps := judged.gaps():
        notes.add(f"Nothing happened in {join_names(gaps)}: assessed all the same.")
    if missed := judged.missed():
        due = len(missed) + judged.totals.assessments
        notes.add(
            f"At {len(missed):,} of {due:,} moments to be assessed nobody was there, by the "
            f"roster's dates ({join_names(missed)}): nobody is judged then."
        )


def _overall(case: Case, judged: Judged) -> Overall:
    return Overall(
        score=judged.score,
        even_score=judged.scorers[0].even_score,
        assessments=judged.totals.assessments,
        unequal_assessments=judged.totals.unequal,
        unfinished=judged.unfinished,
        worst_unfairness=judged.totals.worst,
        worst_share=judged.totals.worst_share,
        as_even_as_whole_units=judged.as_even_as_whole_units,
        first=moment_label(case.history.first),
        last=moment_label(case.history.slots[-1]),
    )


def _by_stakeholder(
    judged: Judged,
    case: Case,
    claims: _Claims,
    groups: dict[str, str],
) -> tuple[StakeholderAnswer, ...]:
    """The figures of each stakeholder, the worst treated overall first."""
    totals, names = judged.totals, case.names
    codes = {shown: code for code, shown in case.shown.items() if shown != code}
    ranking, below = totals.ranking, judged.final_below
    behind, order = ranking.behind, ranking.worst_first
    short = None if claims.units is None else -claims.units * judged.final_unfairness + 0.0
    in_order = [names[place] for place in order.tolist()]

    def listed(values: np.ndarray | None) -> list[Any]:
        return [None] * len(order) if values is None else values[order].tolist()

    columns = {
        "name": in_order,
        "code": [codes.get(name) for name in in_order],
        "group": [groups.get(name) for name in in_order],
        "entitlement": listed(claims.entitlement),
        "chances": listed(claims.chances),
        "asked": listed(claims.asked),
        "unmet": listed(claims.unmet),
        "received": listed(claims.received),
        "final": listed(judged.final),
        "final_unfairness": listed(judged.final_unfairness),
        "short_of_share": listed(short),
        "overall_unfairness": listed(totals.overall),
        "share_below": listed(totals.share_below),
        "assessments": listed(totals.judged),
        "longest_spell": listed(totals.longest),
        "longest_spell_from": _labels(judged, totals.longest_end - totals.longest + 1, order),
        "longest_spell_until": _labels(judged, totals.longest_end, order),
        "first_unfairness": listed(totals.first),
        "last_unfairness": listed(totals.last),
        "rank_final": listed(judged.final_ranking.ranks),
        "rank_overall": listed(ranking.ranks),
        "made_good": listed(behind & ~below),
        "fell_behind": listed(below & ~behind),
    }
    rows = zip(*(columns[spec.name] for spec in fields(StakeholderAnswer)), strict=True)
    return tuple(StakeholderAnswer(*row) for row in rows)


def _labels(judged: Judged, assessments: np.ndarray, order: np.ndarray) -> list[str | None]:
    """What an assessment of each is called, of those who have a spell."""
    spells = judged.totals.longest > 0
    called = {k: judged.label(k) for k in np.unique(assessments[spells]).tolist()}
    places = np.where(spells, assessments, -1)[order].tolist()
    return [None if place < 0 else called[place] for place in places]


def _over_time(case: Case, judged: Judged) -> AnswerOverTime:
    kept, unfinished = judged.kept, None
    if judged.unfinished is not None:
        unfinished = Unfinished(
            judged.unfinished,
            judged.unfinished_welfare,
            judged.unfinished_even,
            _of_those_there(judged),
            judged.final_mean,
        )
    return AnswerOverTime(
        times=tuple(judged.label(int(k)) for k in kept),
        welfare=None if judged.welfare is None else judged.welfare[kept],
        even_welfare=None if judged.even_welfare is None else judged.even_welfare[kept],
        unfairness=judged.unfairness,
        names=case.names,
        mean=judged.mean,
        every=int(kept[1] - kept[0]) if len(kept) > 1 else 1,
        unfinished=unfinished,
    )


def _of_those_there(judged: Judged) -> Float[np.ndarray, " stakeholder"]:
    """The unfairness at the end to those who are there then: whoever has left is not judged."""
    weights = judged.final_weights
    if weights is None:
        return judged.final_unfairness
    return np.where(weights > 0, judged.final_unfairness, np.nan)


class _Corrections(NamedTuple):
    """The first of those amounts that were taken back, and how many there are in all."""

    first: tuple[tuple[str, str, float], ...] = ()
    in_all: int = 0


def _corrections(case: Case) -> _Corrections:
    first: list[tuple[str, str, float]] = []
    count, history, names = 0, case.history, case.members
    for part in history.parts():
        places = part.start + np.flatnonzero(history.amount[part] < 0)
        count += len(places)
        for place in places[: SHOWN_CORRECTIONS - len(first)]:
            when = moment_label(history.slots[history.slot[place]])
            first.append((when, names[history.who[place]], float(history.amount[place])))
    return _Corrections(tuple(first), count)


def _origin(log: Log) -> dict[str, Any]:
    """Version, files with size and sha256, and a digest of the history that was judged."""
    history = log.history
    return {
        "version": __version__,
        "files": [_file(path) for path in log.record.sources],
        "rows": history.rows,
        "events": history.events,
        "time_points": len(history.slots) if history.exact else None,
        "fingerprint": history.fingerprint(),
    }


def _file(path: str) -> dict[str, Any]:
    size = os.path.getsize(path)
    digest = None
    if size <= HASHED_BYTES:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path, "bytes": size, "sha256": digest}
