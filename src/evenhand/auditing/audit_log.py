"""`audit(log, …)`: a decision log in, an answer out, put together from what was read and judged."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand import __version__
from evenhand._util.numbers import moment_label
from evenhand._util.wording import join_names, join_tied, tell_apart
from evenhand.auditing.answer import (
    SHOWN_CORRECTIONS,
    Answer,
    AnswerOverTime,
    Limit,
    Overall,
    StakeholderAnswer,
    Unfinished,
)
from evenhand.auditing.case import Case
from evenhand.auditing.chance.alarm import watch_log
from evenhand.auditing.chance.finding import ask_chance, few_enough_lots
from evenhand.auditing.group_gaps import GroupGaps, group_gaps, refuse_no_group
from evenhand.auditing.judge import Judged, Judgement, judge_case, judge_welfares
from evenhand.auditing.over_runs import over_runs
from evenhand.auditing.questions import question_of
from evenhand.auditing.scoring import EQUAL, Ranking
from evenhand.auditing.verdict import Direction, Presentation, Terms, verdict
from evenhand.errors import BadParameter, argument
from evenhand.fairness.trace import Tolerance
from evenhand.fairness.welfare import LogNash
from evenhand.log.checks import note_sizes, note_small
from evenhand.log.counting import HiddenRows
from evenhand.log.history import TimedAmounts
from evenhand.log.layout import Notes
from evenhand.log.log import Kept, Log, Supply, log_of, options_for
from evenhand.log.options import AuditOptions, how_to_finish, with_keywords
from evenhand.log.people import fitted, read_display_names

if TYPE_CHECKING:
    from jaxtyping import Float


# An answer put together from what was read and judged, with how it came about.

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


# What a verdict would be with the lowest and the highest amounts that marks can hide.


@dataclass(frozen=True)
class Outlook:
    """A verdict in short: who is treated worst, whether all are equal at the end, the score."""

    treated_worst: tuple[str, ...]
    equal_at_end: bool
    score: float | None

    @classmethod
    def of(cls, case: Case, judged: Judged) -> Outlook:
        worst = tuple(case.names[place] for place in judged.totals.ranking.lowest)
        scorer = judged.scorers[0]
        score = None if scorer.undefined is not None else float(scorer.score)
        return cls(worst, not judged.final_below.any(), score)

    def says_the_same(self, other: Outlook) -> bool:
        return (self.treated_worst, self.equal_at_end) == (other.treated_worst, other.equal_at_end)

    def words(self) -> str:
        who = join_tied(self.treated_worst)
        end = "equal at the end" if self.equal_at_end else "unequal at the end"
        return f"treated worst overall would be {who} ({end})"

    def to_json(self) -> dict[str, Any]:
        return {
            "all_treated_worst": list(self.treated_worst),
            "equal_at_end": self.equal_at_end,
            "score": self.score,
        }


@dataclass(frozen=True)
class HiddenAmountRange:
    """The suppressed amounts, and what is found with the lowest and the highest of them."""

    rows: HiddenRows
    known: Outlook
    lowest: Outlook | None = None  # None where amounts are running totals or levels
    highest: Outlook | None = None

    def sentences(self) -> str:
        """For the verdict: how many there are, and whether they could turn it."""
        words = self.rows.sentence()
        if self.lowest is None or self.highest is None:
            return f"{words} Until the next amount, the one before stands."
        low, high = (
            "the verdict would be the same" if self.known.says_the_same(one) else one.words()
            for one in (self.lowest, self.highest)
        )
        ranges = f"(they can be {self.rows.ranges()})"
        if low == high:
            return f"{words} If all were the lowest, or the highest, they can be, {low} {ranges}."
        return (
            f"{words} If all were the lowest they can be, {low}; if all were the highest, {high} "
            f"{ranges}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            **self.rows.to_json(),
            "with_lowest": None if self.lowest is None else self.lowest.to_json(),
            "with_highest": None if self.highest is None else self.highest.to_json(),
        }


def with_suppressed(answer: Answer, found: HiddenAmountRange) -> Answer:
    """The answer with what is suppressed in its verdict, and how to say more of it in its notes."""
    advice = found.rows.advice()
    people = tuple(
        replace(one, received=None, final=math.nan) if one.name in found.rows.unknown else one
        for one in answer.by_stakeholder
    )
    return replace(
        answer,
        by_stakeholder=people,
        verdict=f"{answer.verdict} {found.sentences()}",
        notes=answer.notes if advice is None else (*answer.notes, advice),
        suppressed=found.to_json(),
    )


# `audit(log, …)`: a decision log in, an answer out. The way down, and back with the answer.


def _audit(log: Any, options: AuditOptions) -> Answer:
    """Judge a decision log: was it fair all along, or only at the end, and to whom was it not?

    Args:
        log: A path, a glob or several paths (.csv, .parquet, .jsonl, .xlsx, …), the address of a
            database, any table that narwhals knows (pandas, Polars, Arrow, DuckDB, Spark, Ibis), or
            a `Log`, which was read already.
        stakeholder: The column that says who received.
        time: The column of dates, timestamps or plain numbers.
        amount: The column that says how much. Without it each row counts 1.
        cumulative: Whether the amounts are running totals.
        stock: Whether the amounts are levels at a time, such as beds or people housed. A level
            holds until the next one is given.
        out_of: The column that says out of how many: amounts are then judged as a rate, such as
            granted of asked, weighted by these chances.
        within_period: Judge the rate of each period that is assessed, and not the rate so far.
        asked: The column that says how much was asked for, in the same rows or in `requests`.
            A condition `where` and the choice of stakeholders hold for both.
        requests: A log of requests of its own, such as a path or a table.
        requests_stakeholder: The column of `requests` that says who asked, if it is not called as
            in the log.
        requests_time: The column of `requests` that says when, if it is not called as in the log.
        requests_table: The table or view of requests, if these are in a database.
        judge_requests: How requests are judged: "share_met" (the default: what was received out of
            what was asked for), "shortfall" (what is still wanted) or "while_waiting" (what was
            received, among those who wait for more).
        group: The column that says to which group a stakeholder belongs; or several columns, whose
            values together make a group.
        reference: The group that the others are compared with.
        by: "stakeholder" (the default) to judge each stakeholder, "group" to judge each group of
            the column `group`, or the name of a column to judge its groups.
        entitlement: What each is entitled to, such as population or need: a column of the log, or
            a table of two columns (name and number), its path, or a mapping from name to number.
            Statuses are then per unit of it, and whoever is entitled to e counts as e equal ones.
            A column that changes counts as of each moment.
        roster: All who should be served, since those who received nothing are not in the log: a
            list of names, or a table or its path with a column of names, and columns `from` and
            `until` if they come and go.
        newcomers: Where those begin who join later by the roster's dates: at the "mean" of those
            there (the default), at "zero", at the "least" of those there; or "by-time", which
            judges what was received per time point present.
        only: The stakeholders to judge, if not all.
        exclude: Stakeholders to leave out.
        where: Count only rows of which this condition holds, such as "region = 'North'".
        time_format: How dates are written, such as "%d/%m/%Y", or "day-first", "month-first",
            "day", "month", "quarter", "week" or "years" (2023/24). The default is ISO 8601, and
            another way where it is the only one in which a column can be read.
        time_unit: What times count that are numbers: "s", "ms", "us" or "ns" since 1970, "year",
            "yyyymm", "yyyymmdd", "excel" (days, as Excel counts them), or "number" for numbers that
            are to stay numbers. The default is their magnitude where the question needs dates, and
            otherwise "number".
        decimal: The sign before the fraction of a number, "." or ",". The default is the only one
            with which a column can be read.
        missing: Marks of suppressed amounts, such as "*"; a mark and what it can hide, such as
            "*=1-4"; or several. Common marks (`*`, `..`, `c`, `<5`) are recognised.
        encoding: How text files are written.
        sheet: The sheet of a workbook (.xlsx, .xls, .ods), by its name or its number from 1. The
            default is the only one with a table.
        header_row: The row of a sheet or a CSV file that holds the names of the columns, counted
            from 1, or rows such as "3-4". The default is the first that looks like it.
        wide: "time" if the table has a column for each time, "stakeholder" if it has one for each
            stakeholder. `time` or `stakeholder`, and `amount`, then name what these columns hold.
        time_from_name: The time of a row stands in the name of its file, such as
            grants-2023-01.csv; `time` may name the column that it is put into.
        merge_names: Names that differ only in capitals, spaces or accents are one stakeholder, by
            the spelling of the roster or the one that most rows have.
        each_event: Assess at every time point. This is the default; at most one of `each_event`,
            `every`, `after_each`, `when` and `at_end` may be given.
        every: Assess every "day", "week", "month", "quarter" or "year", or every so many time
            points.
        after_each: Assess whenever another such amount has been given out.
        when: Assess at time points with an event of which this condition holds.
        at_end: Assess once, at the end.
        wait_from: The column that says when a case began, in place of `time`; with
        wait_to: the column that says when it ended, empty while it is open. Judged is the mean wait
            so far, in days (or in the unit of the times where these are plain numbers).
        within: Judge the share of cases that waited no longer than this, such as "30d", instead.
        longest_open: Judge the longest wait of those that are still open instead.
        since: The date or number from which rows count.
        before: Of `compare_periods` alone: judge what was before this date and what came after it,
            side by side.
        until: The date or number up to which the log is whole; later rows are left out.
        welfare: How fair statuses are at one time, by name or as an object. The default is
            "log_nash", and "rawls" where a status is below 0.
        temporal: How fairness adds up over time, by name or as an object. The default is "mean".
        scheme: A whole fairness scheme or the path of a scheme file, in place of `welfare` and
            `temporal`.
        run: The column that says in which run of a policy a row belongs. Runs are judged one by
            one and averaged.
        table: The table or view, if the log is a database.
        engine: What reads files: "duckdb" (the default) or "spark".
        lower_is_better: The amounts are harms or waits, so that whoever has less is better off.
        unweighted: Count all alike, whatever they are entitled to. By default whoever is entitled
            to e counts as e equal stakeholders.
        tolerance: The distance from the mean that is ignored: an amount, or a share of the mean
            such as "5%".
        max_unfairness: A limit: how far anybody may be below the mean at an assessment, as an
            amount or as a share of the mean.
        min_score: A limit: how low the score may be.
        chance: Whether to find out if chance alone could have done it. It is left out where it
            makes no sense, or would take long and was not asked for with one of the next three.
        null: What chance alone does: "lottery" (each lot goes to one of those eligible, in
            proportion to entitlement; the default), "shuffle" (those eligible at a time point get
            its amounts in another order) or "by-group" (who belongs to which group is drawn).
        draws: How many histories to draw. The default is 999, or 199 for a longer log.
        seed: Where chance begins: the same seed gives the same figures.
        power: Say how far behind somebody would have to be for this log to show it.
        alarm: Watch the log as a monitor would, and raise an alarm where somebody is behind by more
            than chance explains, with at most this probability of ever being wrong.
        title: What the report is called.
        description: A sentence or two for the top of the report, such as where the log is from.
        unit: What amounts are counted in, such as "doses". The default is the column's name.
        display_names: Names to show in place of codes: a table of two columns (code and name), its
            path, or a mapping. Everything else names stakeholders as the log does.

    Returns:
        The answer: a verdict in words, numbers overall, by stakeholder and over time, and how they
        change with the question. Limits that were broken are its `breaches`.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"month": [1, 2, 3, 4], "to": ["A", "A", "B", "B"], "doses": 20_000})
    >>> answer = audit(log, stakeholder="to", time="month", amount="doses", welfare="parity")
    >>> answer.score, answer.stakeholder("B").overall_unfairness
    (-20000.0, -40000.0)
    """
    return audit_with(log, options)


audit = with_keywords(_audit, AuditOptions)


def audit_with(log: Any, options: AuditOptions) -> Answer:
    """`audit` with the options as one object."""
    if options.before is not None:
        raise BadParameter(
            f"{argument('before')} makes two periods of one log, to be compared: call "
            "evenhand.auditing.compare_periods for that, or leave it out."
        )
    options = options_for(log, options)
    question_of(options)  # refused before anything is opened, if it makes no sense
    shown = read_display_names(options.display_names, options.stakeholder, options.encoding)
    log = log_of(log, options, kept_for(options))
    if not log.record.runs:
        return _audited(log, shown)
    found = over_runs(log.record.runs, audit_with, replace(options, run=None, chance=False))
    unfinished, direction = found.over_time.unfinished, found.terms.direction
    return replace(found, limits=limits(found.overall, unfinished, options, direction))


def kept_for(options: AuditOptions) -> Kept:
    """How much of a log an audit needs."""
    exact = question_of(options).needs_every_time_point or options.alarm is not None
    return Kept(time_points=exact, rows=lambda history: few_enough_lots(history, options))


def _audited(log: Log, shown: Mapping[str, str]) -> Answer:
    """A log judged as its options say; `shown` are names in place of codes."""
    options, notes = log.options, log.found.copy()
    if not few_enough_lots(log.history, options):  # though they may be there for others
        log = replace(log, lots=None)
    case = Case.of(log, options)
    codes = dict.fromkeys((*log.history.names, *case.names))
    case = replace(case, shown=fitted(shown, tuple(codes), notes))
    joined = case.newcomers_note(options.newcomers)
    if joined is not None:
        notes.add(joined)
    judgement = judge_case(case, question_of(options), options, notes)
    answer = assemble(log, case, judgement, options, notes)
    answer = replace(answer, chance=ask_chance(log, case, judgement, options))
    if options.alarm is not None:
        answer = with_alarm(answer, log, case, options.alarm)
    if log.hidden is None:
        return answer
    known = Outlook.of(case, judgement.asked)
    ends = [_outlook(Log.of(end, options), case.shown, judgement) for end in log.record.ends]
    hidden = log.hidden.shown_as(case.shown)
    return with_suppressed(answer, HiddenAmountRange(hidden, known, *ends))


def _outlook(log: Log, shown: Mapping[str, str], judgement: Judgement) -> Outlook:
    """The question put to the log with other amounts in place of those suppressed."""
    case = replace(Case.of(log, log.options), shown=shown)
    temporal = log.options.temporal_part()
    found = judge_welfares(case, judgement.asked.question, judgement.scheme, temporal)
    return Outlook.of(case, found)


def with_alarm(answer: Answer, log: Log, case: Case, alpha: float) -> Answer:
    """The answer with what a watch over the log found; an alarm is a limit that was broken."""
    negated = answer.scheme.status.negated
    found = watch_log(Supply.of(log), alpha, log.group_of, negated, case.members)
    limit = Limit("alarm", alpha, min(1.0, 1.0 / max(found.evidence, 1e-300)), found.breach)
    return replace(answer, alarm=found, limits=(*answer.limits, limit))
