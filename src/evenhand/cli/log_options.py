"""The options of verbs that read logs: reading, judging, and what verbs borrow."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.errors import BadParameter, visible

if TYPE_CHECKING:
    from evenhand.decide.world_from_log import WorldOfLog
    from evenhand.log.options import AuditOptions


# The options of `evenhand audit` that say what its log holds; other verbs borrow some of them.

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


# The options of `evenhand audit` that say when and how to judge, and what a report says.

WHEN, HOW, CHANCE, OUT = (
    "When to look (one of these; the default is every time point)",
    "How to judge",
    "Could it be chance?",
    "What comes out",
)


def judging_options(
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
            help="Distance from the mean that is ignored: an amount, or a share of the mean such "
            "as 5%.",
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
    display_names: Annotated[
        str | None,
        typer.Option(
            "--names",
            help="A file of two columns, code and name: the names are shown in place of the codes.",
            metavar="FILE",
            rich_help_panel=OUT,
        ),
    ] = None,
) -> None:
    """When to look, how to judge, whether it could be chance, and what a report is called."""


# Options that two verbs share, defined once: one verb takes those of another by name.


def borrow_options(
    lender: Callable[..., Any], names: Sequence[str] | None = None, *, into: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command options of another, which it receives as one mapping.

    Args:
        lender: The command, or any function, whose parameters declare the options.
        names: Which of them, by the names of its parameters; all by default.
        into: The parameter of the borrowing command that receives them.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True).parameters
        lent = inspect.signature(lender, eval_str=True).parameters
        taken = tuple(lent) if names is None else names

        @functools.wraps(command)
        def called(**given: Any) -> Any:
            borrowed = {name: given.pop(name) for name in taken}
            return command(**given, **{into: borrowed})

        mine = [parameter for name, parameter in own.items() if name != into]
        place = next(
            (k for k, one in enumerate(mine) if one.default is not inspect.Parameter.empty),
            len(mine),
        )
        together = [*mine[:place], *(lent[name] for name in taken), *mine[place:]]
        together = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in together]
        called.__signature__ = inspect.Signature(together)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in together}
        return called

    return decorate


# How a log is read and judged, by the verbs that do so as `evenhand audit` does.

READING = (
    *("stakeholder", "time", "amount", "cumulative", "asked", "requests", "group", "entitlement"),
    *("requests_stakeholder", "requests_time", "requests_table", "time_unit", "decimal"),
    *("missing", "sheet", "header_row", "wide", "time_from_name", "merge_names"),
    *("time_format", "encoding", "table", "engine", "roster", "newcomers", "only", "exclude"),
    *("where", "by", "since", "until", "each_event", "every", "after_each", "when", "at_end"),
    *("welfare", "temporal", "scheme", "lower_is_better", "unweighted", "judge_requests"),
)
SCORED_EPISODES = 1000  # that the score of a rule is the mean of
# Of a log that is learned from; its scheme is that of the learner.
LEARNING = tuple(name for name in READING if name != "scheme")


def read_options(
    verb: str, logs: Sequence[str], given: Mapping[str, Any], as_json: bool
) -> AuditOptions:
    """The options as the library takes them; what is missing is asked for with what there is.

    Args:
        verb: The command that was given.
        logs: The logs as they were named.
        given: The options of `READING`, and any others of an audit, by name.
        as_json: Whether a program reads the output.
    """
    from evenhand.log.layout import default_columns
    from evenhand.log.options import AuditOptions

    named = list(given["table"] or ())
    if len(named) > len(logs):
        enough = "once is enough for one log" if len(logs) == 1 else "once for each log"
        raise BadParameter(f"--table is given {len(named)} times: {enough}.")
    tables = _tables_of(logs, named)
    given = {**given, **default_columns(logs, given)}
    _require_columns(verb, logs, {**given, "table": tables[0]}, as_json)
    group = given["group"]
    return AuditOptions(
        **{
            **given,
            "stakeholder": given["stakeholder"] or "",
            "time": given["time"] or "",
            "table": tables if len(logs) == 2 else tables[0],
            "group": group[0] if group and len(group) == 1 else group or None,
            "missing": given["missing"] or (),
            "only": given["only"] or (),
            "exclude": given["exclude"] or (),
        }
    )


def _tables_of(logs: Sequence[str], given: list[str]) -> list[str | None]:
    """The table of each log that is in a database: one for all of them, or one each."""
    from evenhand.log.layout import is_address

    stored = [is_address(log) for log in logs]
    if not any(stored):
        return [*given, None, None][: len(logs)]  # refused where the log is opened
    rest = iter(given * sum(stored) if len(given) == 1 else given)
    return [next(rest, None) if inside else None for inside in stored]


def files_read(logs: Sequence[str], others: Iterable[Any]) -> list[str]:
    """The files that a command reads, which it must not write over.

    Args:
        logs: The logs as they were named.
        others: The files that options name, where they do.
    """
    from evenhand.log.files import matching_files
    from evenhand.log.layout import FILES, is_address, read_address

    read = [str(file) for file in others if file is not None]
    for log in logs:
        if is_address(log):
            address = read_address(log)
            read += [address.database] if address.scheme in FILES else []
        else:
            read += [log, *matching_files(log)]
    return read


def _require_columns(
    verb: str, logs: Sequence[str], given: Mapping[str, Any], as_json: bool
) -> None:
    """Refuse to read a log of which nothing says who received, or when."""
    from evenhand.cli.audit import refuse_unnamed

    wide = given["wide"]
    no_name = given["stakeholder"] is None and wide != "stakeholder"
    times = [given.get(name) for name in ("time", "wait_from", "wait_to")]
    timed = given["time_from_name"] or wide == "time" or times != [None, None, None]
    if no_name or not timed:
        columns = {name: given[name] for name in ("stakeholder", "time", "amount", "entitlement")}
        columns["group"] = next(iter(given["group"] or ()), None)
        refuse_unnamed(verb, logs, given, columns, no_name, as_json)


def is_log(name: str) -> bool:
    """Whether what is to be learned is a log, and not an environment by its name or class."""
    from evenhand.log.layout import is_address

    if os.path.isfile(name) or is_address(name):
        return True
    return ":" not in name and (bool(Path(name).suffix) or any(sign in name for sign in "*?["))


def learned_world(
    log: str,
    reading: dict[str, Any],
    as_json: bool,
    block: str | None,
    horizon: int | None,
    **others: Any,
) -> WorldOfLog:
    """The environment that a log makes.

    Args:
        log: The log as it was named.
        reading: The options of `LEARNING`, and the scheme.
        as_json: Whether a program reads the output.
        block: How long a block is.
        horizon: How many decisions an episode has.
        **others: Options of other environments, which a log has no use for.
    """
    for option, value in others.items():
        if value is not None:
            raise BadParameter(
                f"--{option} is for an environment, and this is a log, which says that: leave it "
                "out."
            )
    from evenhand.decide.world_from_log import world_of_log

    return world_of_log(log, read_options("train", [log], reading, as_json), block, horizon)


def world_summary(made: WorldOfLog) -> dict[str, Any]:
    """What a world was made of, and what the rule scores there that needs no learning."""
    from evenhand.decide.policies import rule_for
    from evenhand.lab.reference_scores import sampled
    from evenhand.problem.problem import Problem

    world = made.world
    rule = rule_for(world, "least_served")
    assert rule is not None
    problem = Problem(world, world.default_scheme(), rule.memory())
    score = float(sampled(problem, rule, episodes=SCORED_EPISODES).score)
    return {
        "log": made.label,
        "describe": made.describe(),
        "notes": list(made.notes),
        "blocks": len(world.blocks),
        "horizon": world.horizon,
        "scheme": world.default_scheme().describe(),
        "least_served": score,
    }


def print_world(about: Mapping[str, Any], out: Path | None) -> None:
    """The same for people."""
    print(f"\nLearned from {visible(about['describe'])}")
    print(f"In that world least_served scores {about['least_served']:,.3f}.")
    for note in about["notes"]:
        print(f"- {visible(note)}")
    if out is not None:
        print(
            f"Judge it on what came later: `evenhand replay {visible(about['log'])} … --since DATE "
            f"--rule {out}`."
        )


def refuse_reading(name: str, reading: Mapping[str, Any]) -> None:
    """Refuse options that say how a log is read, where there is none.

    Args:
        name: The environment that was named.
        reading: The options of `LEARNING`, by name.
    """
    quiet: tuple[Any, ...] = (None, "utf-8", "stakeholder", [], ())
    given = (one for one, value in reading.items() if value is not False and value not in quiet)
    for option in given:  # a 0 that was given is not False
        raise BadParameter(
            f"--{option.replace('_', '-')} says how a log is read, and {name} is an environment: "
            "leave it out, or name the file of a log."
        )
