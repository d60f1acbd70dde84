"""`evenhand`: the verbs, and the options that all share."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand import __version__
from evenhand.cli import (
    auditing,
    comparing,
    demo,
    listing,
    monitoring,
    planning,
    reproducing,
    training,
)

app = typer.Typer(
    name="evenhand",
    help="Fairness that remembers: score, plan and learn decisions that stay fair over time.",
    epilog="Example: evenhand audit log.csv --stakeholder region --time date --amount doses "
    "--every month",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command(name="demo")(demo.demo)
app.command(name="audit")(auditing.audit_command)
app.command(name="monitor")(monitoring.monitor_command)
app.command(name="plan")(planning.plan_command)
app.command(name="train")(training.train_command)
app.command(name="evaluate")(training.evaluate_command)
app.command(name="compare")(comparing.compare_command)
app.command(name="reproduce")(reproducing.reproduce_command)
app.command(name="list")(listing.list_parts)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Fairness that remembers: score, plan and learn decisions that stay fair over time."""
