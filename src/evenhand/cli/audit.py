"""`evenhand audit`: a first look, the audit, and where its results go."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from evenhand.cli.log_options import (
    HOW,
    OUT,
    borrow_options,
    files_read,
    judging_options,
    read_options,
    reading_options,
)
from evenhand.cli.output import JsonOption, print_json, print_table, print_written, working
from evenhand.errors import BadParameter, visible

if TYPE_CHECKING:
    from evenhand.auditing import Answer, LogComparison
    from evenhand.log.files import LogTable
    from evenhand.log.options import AuditOptions


# `evenhand audit FILE` alone, or `replay`: what its columns seem to be, and the command to run.


def refuse_unnamed(
    verb: str,
    logs: Sequence[str],
    how: Mapping[str, Any],
    given: Mapping[str, str | None],
    no_name: bool,
    as_json: bool,
) -> NoReturn:
    """Show what the columns are taken for, and refuse to judge by a guess.

    Args:
        verb: Which command to propose.
        logs: The logs as they were named; the first is looked at.
        how: How it is opened: encoding, table, engine, sheet and header_row.
        given: The columns that were named, by option.
        no_name: Whether nothing says who received.
        as_json: Whether a program reads this.
    """
    from evenhand.log.files import opened
    from evenhand.log.layout import FileLayout

    layout = FileLayout(sheet=how["sheet"], header_row=how["header_row"])
    with opened(logs[0], how["encoding"], how["table"], how["engine"], layout) as log:
        _show(log, ["evenhand", verb, *_reading_words(logs, how)], given, as_json)
        raise BadParameter(_which_columns(log.label, log.columns, no_name))


def _show(
    log: LogTable, words: Sequence[str], given: Mapping[str, str | None], as_json: bool
) -> None:
    from evenhand.log.rows import look_at

    look = look_at(log)
    command = shlex.join([*words, *look.options(given)])
    if as_json:
        found = [one.to_json() for one in look.columns]
        print_json({"log": log.label, "columns": found, "command": command})
    else:
        rows = [
            (one.name, one.role or "–", ", ".join(one.values) or "(empty)") for one in look.columns
        ]
        print_table(f"{log.label}: its columns", ("column", "taken for", "such as"), rows, False)
        for note in log.notes:
            print(f"- {visible(note)}")
        if look.complete:
            print(f"\nNothing was judged yet. If these are right, run:\n  {visible(command)}")


def _reading_words(logs: Sequence[str], how: Mapping[str, Any]) -> list[str]:
    """How the log was named, for the command that is proposed."""
    from evenhand.log.layout import shown

    said = {f"--{name.replace('_', '-')}": how[name] for name in ("sheet", "header_row", "table")}
    said["--encoding"] = None if how["encoding"] == "utf-8" else how["encoding"]
    options = [word for name, value in said.items() if value for word in (name, value)]
    return [*map(shown, logs), *options]


def _which_columns(label: str, columns: tuple[str, ...], no_stakeholder: bool) -> str:
    known = ", ".join(repr(name) for name in columns)
    what = "who received (--stakeholder)" if no_stakeholder else "when (--time)"
    return f"say which column of {label} holds {what}: it has {known}."


# What `evenhand audit` found, as files and as text in the terminal.


def answers_of(found: Answer | LogComparison) -> tuple[Answer, ...]:
    """The one answer, or those of both logs."""
    from evenhand.auditing.answer import Answer

    return (found,) if isinstance(found, Answer) else (found.first, found.second)


def require_places(csv: Path | None, out: list[Path], read: list[str]) -> None:
    """Refuse to write over what is read, and where nothing can be written."""
    if csv is None and not out:
        return
    from evenhand._util.files import require_apart, require_folder, require_place
    from evenhand.report.formats import SHEETS, format_of

    folders = () if csv is None else (csv, csv / "first", csv / "second")
    require_apart((*out, *(folder / name for folder in folders for name in SHEETS)), read)
    for path in out:
        require_place(path, "out")
        format_of(path)
    if csv is not None:
        require_folder(csv, "csv")


def write_answer(found: Answer | LogComparison, csv: Path | None, out: list[Path]) -> None:
    """Write the tables and the reports that were asked for."""
    if csv is not None:
        from evenhand.report.formats import write_sheets

        write_sheets(found, csv)
    if out:
        import datetime

        from evenhand._util.files import write_whole
        from evenhand.report.formats import format_of

        made = datetime.datetime.now(datetime.UTC)
        for path in out:
            write_whole(path, format_of(path).make(found, made))


def print_answer(found: Answer | LogComparison) -> None:
    """The verdict, the tables and the notes, for a person."""
    from evenhand._util.wording import format_number
    from evenhand.auditing.answer import Answer
    from evenhand.report import text

    answers = answers_of(found)
    print(visible(found.verdict))
    if isinstance(found, Answer):
        _print_chance(found)
    for ask in dict.fromkeys(ask for answer in answers for ask in answer.asks):
        print(f"\nPlease check first: {visible(ask)}")
    if not isinstance(found, Answer):
        _table(text.side_by_side(found))
    for answer in answers:
        overall = answer.overall
        many = "s" if overall.assessments != 1 else ""
        print(
            f"\n{visible(answer.label)}: score {format_number(overall.score)} over "
            f"{format_number(overall.assessments)} assessment{many} ({answer.question}), "
            f"{overall.first} to "
            f"{overall.last}.\n{answer.scheme.describe()}"
        )
        if answer is not found:
            _print_chance(answer)
        for table in text.tables(answer):
            _table(table)
        _print_notes(tuple(note for note in answer.notes if note not in answer.asks))
    if not isinstance(found, Answer):
        _print_notes(found.notes)
    for breach in found.breaches:
        print(f"\nThreshold breached: {visible(breach)}.")


def _print_chance(answer: Answer) -> None:
    from evenhand.report import text

    words = text.chance(answer)
    if words:
        print(f"\nCould it be chance? {visible(words)}")
    if answer.gap_parts is not None and answer.gap_parts.sentence():
        print(f"\nThe gap in three parts: {answer.gap_parts.sentence()}")
    if answer.alarm is not None:
        print(f"\nWatched all along: {visible(answer.alarm.sentence())}")


def _table(table: Any) -> None:
    print()
    print_table(table.title, table.columns, table.rows)


def _print_notes(notes: tuple[str, ...]) -> None:
    if notes:
        print("\nNotes on the data")
        for note in notes:
            print(f"- {visible(note)}")


# `evenhand audit`: a decision log in, an answer out.

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
