"""How every verb prints: one JSON object on request, otherwise a readable table."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand._util.wording import join_names
from evenhand.cli.streams import knows_unicode
from evenhand.errors import shortened, visible

LONGEST_NAME = 60  # characters of a name that a table shows

OPTIONS = {
    "names": "name",
    "wait_from": "from",
    "wait_to": "to",
    "coming": "next",
    "display_names": "names",
}  # arguments that are not called as their options are

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


def as_option(name: str, *value: Any) -> str:
    """How the command line names an argument of the library, and its value if one is given.

    >>> as_option("max_unfairness"), as_option("exclude", ["New York"])
    ('--max-unfairness', "--exclude 'New York'")
    """
    values = [one for given in value for one in (given if isinstance(given, list) else [given])]
    option = f"--{OPTIONS.get(name, name).replace('_', '-')}"
    return " ".join([option, *(shlex.quote(str(one)) for one in values)])


def print_json(value: Any) -> None:
    """One JSON value on standard output; what is not a finite number is a mistake of ours."""
    escaped = not knows_unicode(sys.stdout.encoding)  # or a letter would be written as no JSON is
    print(json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False))


def print_written(paths: Iterable[Path]) -> None:
    """Where a person finds what was written, if anything was."""
    names = [str(path) for path in paths]
    if names:
        print(f"\nWritten: {visible(join_names(names))}.")


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = True
) -> None:
    """A table of names and numbers (or of text); data is never read as markup, nor obeyed.

    In a table of names and numbers, names are shortened.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def cell(text: str) -> Text:
        return Text(shortened(visible(text), LONGEST_NAME) if numbers else visible(text))

    console = Console()
    if title:  # by itself: above a narrow table it would be broken into lines as narrow
        console.print(Text(visible(title)), style="italic")
    table = Table(box=None, pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(
            cell(column), justify="right" if k and numbers else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*map(cell, row))
    console.print(table)


@contextlib.contextmanager
def progress_bar(what: str, hidden: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, moved by calling progress(done, of_how_many)."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), disable=hidden, transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def working(what: str, hidden: bool = False) -> Iterator[None]:
    """A sign of life on standard error, where a person looks on, for work of unknown length."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    if hidden or not console.is_terminal:
        yield
        return
    with console.status(Text(f"{what} …")):
        yield
