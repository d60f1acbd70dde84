"""The command line: its verbs, and what they share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from evenhand import __version__
from evenhand._util.compile_cache import enable_compile_cache
from evenhand._util.wording import expected_form, short_repr
from evenhand.cli import (
    audit,
    benchmark,
    compare,
    demo,
    evaluate,
    monitor,
    plan,
    replay,
    reproduce,
    serve,
    train,
)
from evenhand.cli.output import JsonOption, as_option, print_json, print_table
from evenhand.errors import BadParameter, MissingExtra, naming_arguments

# `evenhand list`: what there is to choose from.

Lines = dict[str, dict[str, str]]


def list_command(as_json: JsonOption = False) -> None:
    """Show environments, methods, memories, parts of a scheme and rules by name, with a line each.

    Example: evenhand list --json
    """
    left_out = ""
    try:
        kinds = _of_learning()
    except MissingExtra as missing:
        kinds, left_out = {}, str(missing)
    kinds |= _of_judging()
    if as_json:
        print_json(kinds)
        return
    for kind, lines in kinds.items():
        print_table(kind, ("name", "what it is"), lines.items(), numbers=False)
        print()
    if left_out:
        print(f"Environments, methods and proposals are not shown: {left_out}")


def _of_learning() -> Lines:
    """What to plan and learn with."""
    from evenhand.envs import ENVIRONMENTS, METHODS
    from evenhand.lab.recipes import DEEP_METHOD_LINES
    from evenhand.learn.imagined_memories import PROPOSALS

    methods = DEEP_METHOD_LINES | METHODS.lines()
    return {
        ENVIRONMENTS.kind: ENVIRONMENTS.lines(),
        METHODS.kind: methods,
        PROPOSALS.kind: PROPOSALS.lines(),
    }


def _of_judging() -> Lines:
    """Memories, the parts of a scheme, and rules."""
    from evenhand.decide.rules.built_in import RULES
    from evenhand.fairness.aggregation import AGGREGATIONS
    from evenhand.fairness.filters import FILTERS
    from evenhand.fairness.status import STATUSES
    from evenhand.fairness.temporal import TEMPORALS
    from evenhand.fairness.welfare import WELFARES
    from evenhand.memory.memory import MEMORIES

    registries = (MEMORIES, STATUSES, WELFARES, TEMPORALS, AGGREGATIONS, FILTERS, RULES)
    return {registry.kind: registry.lines() for registry in registries}


# `evenhand`: the verbs, and the options that all share.

# What the parser says of options it cannot make sense of; its name is not public everywhere.
_UsageError = cast(type[Exception], typer.BadParameter.__mro__[1])


class OneSentence(TyperGroup):
    """Verbs whose options are refused as everything else is: in a sentence, not a box."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except _UsageError as error:
            raise BadParameter(_usage(error)) from None
        return sys.exit(code) if standalone_mode else code

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except EOFError as error:  # which the parser would take for the end of a terminal's input
            raise RuntimeError("a file ended before its end") from error


def _usage(error: Any) -> str:
    """The parser's words, or better ones where it says what it found, and where to read more."""
    words = error.format_message().strip()
    if not words:  # help was asked for, and shown
        sys.exit(2)
    # The parser asks pydantic (older ones do not), whose words are not for those who type.
    found = error.__cause__.errors()[0] if hasattr(error.__cause__, "errors") else None
    if found is not None and (form := expected_form(found)) is not None:
        words = f"{error.param.opts[0]} is {short_repr(found['input'])}: it must be {form}."
    words = f"{words[0].lower()}{words[1:]}"
    end = "" if words[-1] in ".?" else "."
    command = "evenhand" if error.ctx is None else error.ctx.command_path
    return f"{words}{end} `{command} --help` shows what there is."


app = typer.Typer(
    name="evenhand",
    cls=OneSentence,
    help="Fairness that remembers: score, plan and learn decisions that stay fair over time.",
    epilog="Example: evenhand audit log.csv --stakeholder region --time date --amount doses "
    "--every month",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command(name="demo")(demo.demo)
app.command(name="audit")(audit.audit_command)
app.command(name="replay")(replay.replay_command)
app.command(name="monitor")(monitor.monitor_command)
app.command(name="serve")(serve.serve_command)
app.command(name="benchmark")(benchmark.benchmark_command)
app.command(name="plan")(plan.plan_command)
app.command(name="train")(train.train_command)
app.command(name="evaluate")(evaluate.evaluate_command)
app.command(name="compare")(compare.compare_command)
app.command(name="reproduce")(reproduce.reproduce_command)
app.command(name="list")(list_command)

# The verbs that compile with JAX; the others do not load it.
COMPILING = ("demo", "benchmark", "plan", "train", "evaluate", "compare", "reproduce")


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


def run() -> None:
    """Run the verb that the arguments of this process name."""
    known = {one.name for one in app.registered_commands}
    _command(next((word for word in sys.argv[1:2] if word in known), None))()


@cache
def _command(verb: str | None) -> Any:
    """The command line; with one verb alone if that is all that is asked for.

    To make them all, from what they declare, takes longer than most verbs run.
    """
    chosen = copy(app)
    chosen.registered_commands = [
        one for one in app.registered_commands if verb is None or one.name == verb
    ]
    return get_command(chosen)
