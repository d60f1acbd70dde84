"""`evenhand audit FILE` alone: what its columns seem to be, and the command to run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.cli.output import print_json, print_table
from evenhand.errors import BadParameter, visible


def refuse_unnamed(
    log: Any, words: Sequence[str], given: Mapping[str, str | None], no_name: bool, as_json: bool
) -> None:
    """Show what the columns are taken for, and refuse to judge by a guess.

    Args:
        log: The table that was opened.
        words: How it was named on the command line.
        given: The columns that were named, by option.
        no_name: Whether nothing says who received.
        as_json: Whether a program reads this.
    """
    from evenhand.auditing.reading.column_roles import look_at

    look = look_at(log)
    command = shlex.join(["evenhand", "audit", *words, *look.options(given)])
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
    raise BadParameter(which_columns(log.label, log.columns, no_name))


def which_columns(label: str, columns: tuple[str, ...], no_stakeholder: bool) -> str:
    known = ", ".join(repr(name) for name in columns)
    what = "who received (--stakeholder)" if no_stakeholder else "when (--time)"
    return f"say which column of {label} holds {what}: it has {known}."
