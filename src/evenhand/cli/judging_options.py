"""The options of `evenhand audit` that say when and how to judge, and what a report says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
