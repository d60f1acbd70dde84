"""The options of `evenhand audit` that say what its log holds; other verbs borrow some of them."""

from __future__ import annotations

from typing import Annotated

import typer

COLUMNS, ROWS = "The columns of the log", "Which rows count, and who is judged"


def reading_options(
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
            help="The column that says how much was asked for: in the same rows, or in --requests.",
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
            help="A mark for a suppressed amount, such as `*`, or `*=1-4` with what it can hide "
            "(may be repeated); common marks are recognised.",
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
) -> None:
    """The columns of a log, which rows count, and who is judged."""
