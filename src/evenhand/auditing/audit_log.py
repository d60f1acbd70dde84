"""`audit(log, …)`: a decision log in, an answer out. The way down, and back with the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.auditing.answer.answer import Answer, Limit
from evenhand.auditing.answer.assembly import assemble, limits
from evenhand.auditing.answer.hidden_amount_range import HiddenAmountRange, Outlook, with_suppressed
from evenhand.auditing.answer.over_runs import over_runs
from evenhand.auditing.chance.alarm_over_log import watch_log
from evenhand.auditing.chance.chance_test import ask_chance, few_enough_lots
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.questions import question_of
from evenhand.auditing.judging.sensitivity import Judgement, judge_case, judge_welfares
from evenhand.auditing.judging.supply import Supply
from evenhand.auditing.keyword_options import with_keywords
from evenhand.auditing.log import Kept, Log, log_of, options_for
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.display_names import fitted, read_display_names
from evenhand.errors import BadParameter, argument


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
