"""`evenhand audit FILE` alone, or `replay`: what its columns seem to be, and the command to run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from evenhand.cli.output import print_json, print_table
from evenhand.errors import BadParameter, visible

if TYPE_CHECKING:
    from evenhand.log.files import LogTable


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
