"""`evenhand audit`: a decision log in, an answer out."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from evenhand.cli.audit_output import answers_of, print_answer, require_places, write_answer
from evenhand.cli.borrowed_options import borrow_options
from evenhand.cli.judging_options import HOW, OUT, judging_options
from evenhand.cli.log_options import files_read, read_options
from evenhand.cli.output import JsonOption, print_json, print_written, working
from evenhand.cli.reading_options import reading_options
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.auditing import Answer, LogComparison
    from evenhand.log.options import AuditOptions

# The options that may name files to read, beside the logs.
FILES = ("roster", "entitlement", "requests", "scheme", "display_names")


@borrow_options(reading_options, into="reading")
@borrow_options(judging_options, into="judging")
def audit_command(
    logs: Annotated[
        list[str],
        typer.Argument(
            help="The log: a .csv, .xlsx, .parquet or .jsonl file, a glob in quotes, or a database "
            "(postgresql://user@host/db, duckdb:///file, sqlite:///file); or two logs to compare.",
            metavar="LOG [OTHER]",
        ),
    ],
    reading: dict[str, Any],
    judging: dict[str, Any],
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
    from evenhand.log.layout import shown

    given = {**reading, **judging}
    looking_back = _LookingBack(best, lots, reach, raise_worst_to)
    _require_logs(logs, given["before"] is not None, looking_back)
    require_places(csv, out or [], files_read(logs, [given[name] for name in FILES]))
    options = read_options("audit", logs, given, as_json)
    with working(f"judging {' and '.join(map(shown, logs))}", hidden=as_json):
        found = _judged(logs, options, looking_back)
    for answer in answers_of(found):
        answer.origin["command"] = shlex.join(["evenhand", *map(shown, sys.argv[1:])])
    write_answer(found, csv, out or [])
    if as_json:
        print_json(found.to_json())
    else:
        print_answer(found)
        print_written([*([csv] if csv else []), *(out or [])])
    if found.breaches:
        raise typer.Exit(1)


class _LookingBack(NamedTuple):
    """What is asked about other ways to share the same supply."""

    best: bool
    lots: bool
    reach: float | None
    raise_worst_to: float | None

    @property
    def changes(self) -> bool:
        return self.reach is not None or self.raise_worst_to is not None

    def options(self) -> list[str]:
        """The options by which it is asked, as they were given."""
        given = {
            "--best": self.best,
            "--reach": self.reach is not None,
            "--raise-worst-to": self.raise_worst_to is not None,
        }
        return [name for name, is_given in given.items() if is_given]


def _require_logs(logs: Sequence[str], periods: bool, looking_back: _LookingBack) -> None:
    """Refuse more logs than are compared, and options that several histories have no use for."""
    if len(logs) > 2:
        raise BadParameter(
            f"{len(logs)} logs were given: audit one, or compare two. Many files of one log are a "
            "glob in quotes, such as 'logs/*.csv'."
        )
    if periods and len(logs) == 2:
        raise BadParameter(
            "--before compares two periods of one log: give one log, or leave it out."
        )
    if looking_back.lots and not looking_back.best:
        raise BadParameter(
            "--lots says what cannot be divided otherwise, for --best: give both, or leave it out."
        )
    asked = looking_back.options()
    if asked and (periods or len(logs) == 2):
        raise BadParameter(
            f"{asked[0]} looks back at one history: give one log without --before, or leave it out."
        )


def _judged(
    logs: Sequence[str], options: AuditOptions, looking_back: _LookingBack
) -> Answer | LogComparison:
    """One log, two logs side by side, or two periods of one."""
    from evenhand.auditing.audit_log import audit_with, kept_for
    from evenhand.auditing.compare_logs import compare_periods_with, compare_with

    if len(logs) == 2:
        return compare_with(logs[0], logs[1], options)
    if options.before is not None:
        return compare_periods_with(logs[0], options)
    if not looking_back.options():
        return audit_with(logs[0], options)
    from evenhand.decide.hindsight.best_of_log import with_best
    from evenhand.decide.hindsight.smallest_change import with_change
    from evenhand.log.log import record_of

    needed = kept_for(options)._replace(time_points=True)
    log = record_of(logs[0], options, needed._replace(rows=True) if looking_back.lots else needed)
    found = audit_with(log, options)
    if looking_back.best:
        found = with_best(found, log, options, looking_back.lots)
    if looking_back.changes:
        aims = looking_back.reach, looking_back.raise_worst_to
        found = with_change(found, log, options, *aims)
    return found
