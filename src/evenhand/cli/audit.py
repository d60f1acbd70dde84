"""`evenhand audit`: a decision log in, an answer out."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.audit_output import answers_of, print_answer, write_answer
from evenhand.cli.audit_places import require_places, tables_of
from evenhand.cli.output import JsonOption, print_json, working

if TYPE_CHECKING:
    from evenhand.auditing import Answer, LogComparison

COLUMNS, ROWS, WHEN, HOW, CHANCE, OUT = (
    "The columns of the log",
    "Which rows count, and who is judged",
    "When to look (one of these; the default is every time point)",
    "How to judge",
    "Could it be chance?",
    "What comes out",
)


def audit_command(
    logs: Annotated[
        list[str],
        typer.Argument(
            help="The log: a .csv, .xlsx, .parquet or .jsonl file, a glob in quotes, or a database "
            "(postgresql://user@host/db, duckdb:///file, sqlite:///file); or two logs to compare.",
            metavar="LOG [OTHER]",
        ),
    ],
    stakeholder: Annotated[
        str | None,
        typer.Option(help="The column that says who received.", rich_help_panel=COLUMNS),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="The column of dates, timestamps or plain numbers.", rich_help_panel=COLUMNS
        ),
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option(
            help="The column that says how much. Without it each row counts 1.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    cumulative: Annotated[
        bool,
        typer.Option("--cumulative", help="Amounts are running totals.", rich_help_panel=COLUMNS),
    ] = False,
    stock: Annotated[
        bool,
        typer.Option(
            "--stock",
            help="Amounts are levels at a time (beds, people housed), each until the next.",
            rich_help_panel=COLUMNS,
        ),
    ] = False,
    asked: Annotated[
        str | None,
        typer.Option(
            help="The column that says for how much was asked: in the same rows, or in --requests.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    requests: Annotated[
        str | None,
        typer.Option(
            help="A log of requests of its own, with a column of stakeholders and one of times.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    requests_stakeholder: Annotated[
        str | None,
        typer.Option(
            help="The column of --requests that says who asked (default: as --stakeholder).",
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    requests_time: Annotated[
        str | None,
        typer.Option(
            help="The column of --requests that says when (default: as --time).",
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    requests_table: Annotated[
        str | None,
        typer.Option(
            help="The table or view of --requests, if they are in a database.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    wait_from: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The column that says when a case began (in place of --time): judge waits.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    wait_to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="The column that says when it ended, empty while it is open.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="The column of groups (repeated: groups of several columns together).",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    entitlement: Annotated[
        str | None,
        typer.Option(
            help="What each is entitled to (population, need, share): a column, or a file of two "
            "columns, name and number. Statuses are then per unit of it, and whoever is entitled "
            "to ten times as much counts ten times as much.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    out_of: Annotated[
        str | None,
        typer.Option(
            help="The column that says out of how many, for a rate: granted of asked, breaches of "
            "attendances. Status is the sum of amounts over the sum of these.",
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(
            help="How dates are written, such as %d/%m/%Y; or day-first, month-first, quarter, "
            "month, week, years (2023/24). The default is the only way that fits.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    time_unit: Annotated[
        str | None,
        typer.Option(
            help="What times count that are numbers: s, ms, us or ns since 1970, year, yyyymm, "
            "yyyymmdd, excel (days); or number, to stay numbers.",
            metavar="UNIT",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            help="The sign before the fraction of a number, where 1.234 could be both.",
            metavar=".|,",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="A mark for an amount that is not told, such as `*`, or `*=1-4` with what it can "
            "hide (may be repeated). Common ones are known.",
            metavar="MARK",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    encoding: Annotated[
        str, typer.Option(help="How text files are written.", rich_help_panel=COLUMNS)
    ] = "utf-8",
    sheet: Annotated[
        str | None,
        typer.Option(
            help="The sheet of a workbook (default: the only one with a table).",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    header_row: Annotated[
        str | None,
        typer.Option(
            help="The row with the names of the columns, counted from 1, or rows such as 3-4.",
            metavar="ROW",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    wide: Annotated[
        str | None,
        typer.Option(
            help="The table has a column for each time, or for each stakeholder.",
            metavar="time|stakeholder",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    time_from_name: Annotated[
        bool,
        typer.Option(
            "--time-from-name",
            help="The time stands in the names of the files, such as grants-2023-01.csv.",
            rich_help_panel=COLUMNS,
        ),
    ] = False,
    merge_names: Annotated[
        bool,
        typer.Option(
            "--merge-names",
            help="Names that differ only in capitals, spaces or accents are one.",
            rich_help_panel=ROWS,
        ),
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(
            help="The column that says which run of a policy a row is of; runs are averaged.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="The table or view of a database, such as decisions or schema.decisions (twice "
            "for two logs).",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="What reads files: duckdb, in this process (the default), or spark.",
            metavar="duckdb|spark",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    roster: Annotated[
        str | None,
        typer.Option(
            help="A file of all who should be served, one name per row, with columns from and "
            "until if they come and go.",
            rich_help_panel=ROWS,
        ),
    ] = None,
    newcomers: Annotated[
        str | None,
        typer.Option(
            help="Where those begin who join later, by the roster's dates (default: mean).",
            metavar="mean|zero|least|by-time",
            rich_help_panel=ROWS,
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="The group that the others are compared with.", rich_help_panel=ROWS),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Judge only this stakeholder (may be repeated).", rich_help_panel=ROWS),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Leave this stakeholder out (may be repeated).", rich_help_panel=ROWS),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="Count only rows of which this holds: \"region = 'North' and amount > 0\".",
            rich_help_panel=ROWS,
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="Judge each stakeholder, or each group; or the groups of this column.",
            rich_help_panel=ROWS,
        ),
    ] = "stakeholder",
    since: Annotated[
        str | None,
        typer.Option(help="The date from which rows count.", rich_help_panel=WHEN),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            help="Judge what was before this date and what came after it, side by side.",
            rich_help_panel=WHEN,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            help="The date up to which the log is whole; later rows are left out.",
            rich_help_panel=WHEN,
        ),
    ] = None,
    each_event: Annotated[
        bool, typer.Option("--each-event", help="At every time point.", rich_help_panel=WHEN)
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(
            help="Every day, week (ISO), month, quarter or year, or every N time points.",
            metavar="day|week|month|quarter|year|N",
            rich_help_panel=WHEN,
        ),
    ] = None,
    after_each: Annotated[
        float | None,
        typer.Option(
            help="Whenever another AMOUNT has been given out.",
            metavar="AMOUNT",
            rich_help_panel=WHEN,
        ),
    ] = None,
    when: Annotated[
        str | None,
        typer.Option(
            help="At time points with an event of which this holds: \"kind = 'delivery'\".",
            metavar="EXPRESSION",
            rich_help_panel=WHEN,
        ),
    ] = None,
    at_end: Annotated[
        bool, typer.Option("--at-end", help="Once, at the end.", rich_help_panel=WHEN)
    ] = False,
    welfare: Annotated[
        str | None,
        typer.Option(
            help="Fairness at a time point: see `evenhand list`. The default is log_nash, and "
            "rawls where a status is below 0 or less is better.",
            rich_help_panel=HOW,
        ),
    ] = None,
    temporal: Annotated[
        str | None,
        typer.Option(help="Fairness over time (default: mean).", rich_help_panel=HOW),
    ] = None,
    scheme: Annotated[
        Path | None, typer.Option(help="A scheme file instead.", rich_help_panel=HOW)
    ] = None,
    lower_is_better: Annotated[
        bool,
        typer.Option(
            "--lower-is-better",
            help="The amounts are harms, refusals or waits: whoever has more is worse off.",
            rich_help_panel=HOW,
        ),
    ] = False,
    unweighted: Annotated[
        bool,
        typer.Option(
            "--unweighted",
            help="With --entitlement: count all alike, large and small.",
            rich_help_panel=HOW,
        ),
    ] = False,
    within_period: Annotated[
        bool,
        typer.Option(
            "--within-period",
            help="With --out-of: judge the rate of each assessed period, not the rate so far.",
            rich_help_panel=HOW,
        ),
    ] = False,
    judge_requests: Annotated[
        str | None,
        typer.Option(
            help="How requests are judged: the share that was met (the default), what is still "
            "wanted, or what was received among those who wait.",
            metavar="share_met|shortfall|while_waiting",
            rich_help_panel=HOW,
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            help="Of waits, judge the share that ended within this time, such as 30d, 2w or 12h.",
            rich_help_panel=HOW,
        ),
    ] = None,
    longest_open: Annotated[
        bool,
        typer.Option(
            "--longest-open",
            help="Of waits, judge the longest one that is still open.",
            rich_help_panel=HOW,
        ),
    ] = False,
    tolerance: Annotated[
        str | None,
        typer.Option(
            help="How far from the mean is let pass: an amount, or a share of the mean such as 5%.",
            rich_help_panel=HOW,
        ),
    ] = None,
    max_unfairness: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if anybody is further on the worse side of the mean than this at an "
            "assessment: an amount, or a share of the mean such as 10%.",
            rich_help_panel=HOW,
        ),
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(help="Exit with 1 if the score is below this.", rich_help_panel=HOW),
    ] = None,
    chance: Annotated[
        bool,
        typer.Option(
            "--chance/--no-chance",
            help="Ask whether chance alone could have done it, where that is quickly found out.",
            rich_help_panel=CHANCE,
        ),
    ] = True,
    null: Annotated[
        str | None,
        typer.Option(
            help="What chance alone does: each lot to one of those eligible (the default), the "
            "amounts of a time point in another order, or members of groups drawn.",
            metavar="lottery|shuffle|by-group",
            rich_help_panel=CHANCE,
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            help="How many histories to draw (default: 999; for longer logs 199, and none for very "
            "long ones).",
            rich_help_panel=CHANCE,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Where chance begins.", rich_help_panel=CHANCE)] = 0,
    power: Annotated[
        bool,
        typer.Option(
            "--power",
            help="Say how far behind somebody would have to be for this log to show it.",
            rich_help_panel=CHANCE,
        ),
    ] = False,
    alarm: Annotated[
        float | None,
        typer.Option(
            help="Watch the log as a monitor would, with at most this probability of ever raising "
            "a false alarm, such as 0.05. Exit with 1 if there is one.",
            metavar="PROBABILITY",
            rich_help_panel=CHANCE,
        ),
    ] = None,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Also say how fair the same supply could have been shared, at the same times "
            "among those who were eligible.",
            rich_help_panel=HOW,
        ),
    ] = False,
    lots: Annotated[
        bool,
        typer.Option(
            "--lots",
            help="With --best: a row is one thing that cannot be divided.",
            rich_help_panel=HOW,
        ),
    ] = False,
    reach: Annotated[
        float | None,
        typer.Option(
            help="Also say how much would have had to go to others for this score.",
            metavar="SCORE",
            rich_help_panel=HOW,
        ),
    ] = None,
    raise_worst_to: Annotated[
        float | None,
        typer.Option(
            help="Also say how much would have had to go to others for the worst-off to have this "
            "at the last assessment.",
            metavar="STATUS",
            rich_help_panel=HOW,
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="What the report is called.", rich_help_panel=OUT)
    ] = None,
    description: Annotated[
        str | None,
        typer.Option(
            help="A sentence or two for the top of the report, such as where the log is from.",
            rich_help_panel=OUT,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="What amounts are counted in, such as doses (default: the column's name).",
            rich_help_panel=OUT,
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            help="A file of two columns, code and name: the names are shown in place of the codes.",
            metavar="FILE",
            rich_help_panel=OUT,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write the tables as CSV into this folder.", rich_help_panel=OUT),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write a report: a page (.html), an Excel workbook (.xlsx) or a PDF (.pdf). May "
            "be repeated.",
            rich_help_panel=OUT,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a log was fair all along or only at the end, and to whom it was not.

    Example: evenhand audit shipments.csv --stakeholder country --time date --amount doses
    --every month

    Two logs are compared side by side under the same options; a policy's rollouts, written as a
    log, can be one of them.
    """
    # The products here are of 16 by 16 numbers: threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from evenhand.auditing.audit_log import audit_with
    from evenhand.auditing.compare_logs import compare_periods_with, compare_with
    from evenhand.auditing.options import AuditOptions
    from evenhand.auditing.sources.addresses import shown
    from evenhand.auditing.workload_columns import default_columns
    from evenhand.cli.first_look import refuse_unnamed
    from evenhand.errors import BadParameter

    labels = " and ".join(shown(log) for log in logs)

    if len(logs) > 2:
        raise BadParameter(
            f"{len(logs)} logs were given: audit one, or compare two. Many files of one log are a "
            "glob in quotes, such as 'logs/*.csv'."
        )
    if before is not None and len(logs) == 2:
        raise BadParameter(
            "--before compares two periods of one log: give one log, or leave it out."
        )
    several = len(logs) == 2 or before is not None
    looks_back = {
        "--best": best,
        "--reach": reach is not None,
        "--raise-worst-to": raise_worst_to is not None,
    }
    _require_one_history(looks_back, lots, several)
    if len(table or ()) > len(logs):
        raise BadParameter(f"--table is given {len(table or ())} times: once for each log.")
    tables = tables_of(logs, table or [])
    require_places(logs, (roster, entitlement, requests, scheme, names), csv, out or [])
    columns = {"stakeholder": stakeholder, "time": time, "amount": amount}
    otherwise = {"wide": wide, "wait_from": wait_from, "wait_to": wait_to}
    columns |= default_columns(logs, columns | otherwise)
    stakeholder, time, amount = columns["stakeholder"], columns["time"], columns["amount"]
    no_name = stakeholder is None and wide != "stakeholder"
    timed = time_from_name or wide == "time" or (time, wait_from, wait_to) != (None, None, None)
    if no_name or not timed:
        given = {"stakeholder": stakeholder, "time": time, "amount": amount}
        given["entitlement"], given["group"] = entitlement, next(iter(group or ()), None)
        how = {"encoding": encoding, "sheet": sheet, "header_row": header_row, "engine": engine}
        refuse_unnamed("audit", logs, {**how, "table": tables[0]}, given, no_name, as_json)
    options = AuditOptions(
        stakeholder=stakeholder or "",
        time=time or "",
        amount=amount,
        cumulative=cumulative,
        stock=stock,
        asked=asked,
        requests=requests,
        requests_stakeholder=requests_stakeholder,
        requests_time=requests_time,
        requests_table=requests_table,
        judge_requests=judge_requests,
        wait_from=wait_from,
        wait_to=wait_to,
        within_period=within_period,
        within=within,
        longest_open=longest_open,
        group=group[0] if group and len(group) == 1 else group or None,
        reference=reference,
        by=by,
        entitlement=entitlement,
        out_of=out_of,
        roster=roster,
        newcomers=newcomers,
        only=only or (),
        exclude=exclude or (),
        where=where,
        time_format=time_format,
        time_unit=time_unit,
        decimal=decimal,
        missing=missing or (),
        encoding=encoding,
        sheet=sheet,
        header_row=header_row,
        wide=wide,
        time_from_name=time_from_name,
        merge_names=merge_names,
        each_event=each_event,
        every=every,
        after_each=after_each,
        when=when,
        at_end=at_end,
        since=since,
        until=until,
        before=before,
        welfare=welfare,
        temporal=temporal,
        scheme=scheme,
        lower_is_better=lower_is_better,
        unweighted=unweighted,
        run=run,
        table=tables if len(logs) == 2 else tables[0],
        engine=engine,
        tolerance=tolerance,
        max_unfairness=max_unfairness,
        min_score=min_score,
        chance=chance,
        null=null,
        draws=draws,
        seed=seed,
        power=power,
        alarm=alarm,
        title=title,
        description=description,
        unit=unit,
        display_names=names,
    )
    found: Answer | LogComparison
    with working(f"judging {labels}", hidden=as_json):
        if len(logs) == 2:
            found = compare_with(logs[0], logs[1], options)
        elif before is not None:
            found = compare_periods_with(logs[0], options)
        else:
            found = audit_with(logs[0], options)
            if best:
                from evenhand.decide.hindsight.best_of_log import with_best

                found = with_best(found, logs[0], options, lots)
            if reach is not None or raise_worst_to is not None:
                from evenhand.decide.hindsight.smallest_change import with_change

                found = with_change(found, logs[0], options, reach, raise_worst_to)
    for answer in answers_of(found):
        answer.origin["command"] = shlex.join(["evenhand", *map(shown, sys.argv[1:])])
    write_answer(found, csv, out or [])
    if as_json:
        print_json(found.to_json())
    else:
        print_answer(found)
    if found.breaches:
        raise typer.Exit(1)


def _require_one_history(looks_back: dict[str, bool], lots: bool, several: bool) -> None:
    """Refuse options of the best there was where there is none, or several."""
    from evenhand.errors import BadParameter

    if lots and not looks_back["--best"]:
        raise BadParameter(
            "--lots says what cannot be divided otherwise, for --best: give both, or leave it out."
        )
    given = [name for name, is_given in looks_back.items() if is_given]
    if given and several:
        raise BadParameter(
            f"{given[0]} looks back at one history: give one log without --before, or leave it out."
        )
