"""`evenhand`: the verbs, and the options that all share."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand import __version__
from evenhand._util.compile_cache import enable_compile_cache
from evenhand.cli import audit, compare, demo, evaluate, monitor, plan, reproduce, train
from evenhand.cli import list as list_parts
from evenhand.cli.output import as_option
from evenhand.errors import naming_arguments

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
app.command(name="audit")(audit.audit_command)
app.command(name="monitor")(monitor.monitor_command)
app.command(name="plan")(plan.plan_command)
app.command(name="train")(train.train_command)
app.command(name="evaluate")(evaluate.evaluate_command)
app.command(name="compare")(compare.compare_command)
app.command(name="reproduce")(reproduce.reproduce_command)
app.command(name="list")(list_parts.list_command)

# The verbs that compile with JAX; the others do not load it.
COMPILING = ("demo", "plan", "train", "evaluate", "compare", "reproduce")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Fairness that remembers: score, plan and learn decisions that stay fair over time."""
    context.with_resource(naming_arguments(as_option))
    if context.invoked_subcommand in COMPILING:
        enable_compile_cache()
