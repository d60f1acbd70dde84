"""What commands read and print, and what a person sees of errors that nobody expected."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import logging
import os
import platform
import shlex
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand import __version__
from evenhand._util.registry import own_files
from evenhand._util.wording import join_names
from evenhand.errors import BadParameter, CannotWrite, as_sentence, shortened, visible

# What nobody foresaw: one sentence on the screen, the details in a file, and nothing else.

EXIT_CODE = 70  # "internal software error" in sysexits.h
MAX_CAUSE = 120  # characters of an error's own words that the sentence repeats


def sentence_about(error: BaseException) -> str:
    """What to tell a user of an error that is ours; its details are written to a file."""
    return (
        f"this is a mistake in evenhand, not yours ({_cause(error)}). "
        f"{_where_the_details_are(error)}"
    )


def sentence_about_own(error: BaseException) -> str | None:
    """What to tell a user of an error that a module of their own raised; None if none did.

    Where code of theirs (an environment, a registered part) was on the way to the error, it is for
    them to look at first: to send it to us would help nobody.
    """
    files = own_files()
    passed = [step for step in traceback.extract_tb(error.__traceback__) if step.filename in files]
    if not passed or isinstance(error, MemoryError | RecursionError):
        return None
    last = passed[-1]
    return (
        f"{last.filename} fails in line {last.lineno}, in {last.name} ({_cause(error)}): that is "
        "code of your own, so mend it there."
    )


def _cause(error: BaseException) -> str:
    words = shortened(visible(f"{type(error).__name__}: {error}"), MAX_CAUSE)
    return words.removesuffix(": ")


def _where_the_details_are(error: BaseException) -> str:
    try:
        path = _write_details(error)
    except BaseException as second:  # a full disk, no memory: whatever it is, there is no file
        why = getattr(second, "strerror", None) or type(second).__name__
        return (
            f"Its details could not be written to a file ({why}): please report it with the "
            "command that you ran and the words in brackets."
        )
    return (
        f"The details are in {path}: please report it, with that file once you have looked "
        "through it, as it names your files and options."
    )


def _write_details(error: BaseException) -> str:
    """Write all that is needed to find the mistake, to a new file that only its owner can read."""
    lines = [
        f"evenhand {__version__}",
        f"command: {_command_line()}",
        f"python: {sys.version}",
        f"platform: {platform.platform()}",
        "",
        "".join(traceback.format_exception(error)),
    ]
    handle, path = tempfile.mkstemp(prefix="evenhand-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("\n".join(lines))
    return path


def _command_line() -> str:
    """The command as it was typed, but for passwords."""
    from evenhand.log.layout import shown

    return shlex.join(["evenhand", *map(shown, sys.argv[1:])])


def silence_libraries() -> None:
    """Keep off the screen what libraries say to programmers: warnings, logs, what threads raise.

    Filters stay as they are, so that what they turn into errors (`python -W error`) still is one.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # of XLA, read when it is loaded
    if not sys.warnoptions:
        warnings.showwarning = _say_nothing
    if not logging.root.handlers:
        logging.root.addHandler(logging.NullHandler())
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _say_nothing
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _say_nothing


def _say_nothing(*_: Any, **__: Any) -> None:
    pass


# What the shell hands over: streams of any encoding, closed or full; arguments of any bytes.

# Signs that we print ourselves, for a terminal that does not know them. What else it does not know,
# such as a letter of a name, is written as Python writes it: \xe9.
PLAIN = {
    **dict.fromkeys("−–—", "-"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("\u00a0\u202f\u2009", " "),
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "×": "x",
    "·": "*",
    "✓": "*",
}
BRAILLE = range(0x2800, 0x2900)  # of which a turning wheel is made


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Meanwhile whatever is printed can be printed, or one sentence says why not."""
    _reopen_closed()
    if sys.stdout is sys.__stdout__:  # and not what a test reads in its place
        sys.stdout = _noticing(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="evenhand_plain")
    try:
        yield
    except SystemExit:  # with which typer ends
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def say(sentence: str) -> None:
    """One line on standard error, if there is one."""
    if sys.stderr is not None:  # print would go to standard output
        with contextlib.suppress(OSError, ValueError):
            print(f"evenhand: {as_sentence(sentence)}", file=sys.stderr, flush=True)


def require_unicode(arguments: Sequence[str]) -> None:
    """Refuse an argument that is no text: neither an engine nor a report could name such a file."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(argument).decode("utf-8", "backslashreplace")
            raise BadParameter(
                f"{shown} is not valid Unicode: write it in UTF-8, and rename a file of that name."
            ) from None


def knows_unicode(encoding: str | None) -> bool:
    """Whether a stream takes any letter.

    >>> knows_unicode("UTF8"), knows_unicode("latin-1")
    (True, False)
    """
    return encoding is None or codecs.lookup(encoding).name.startswith("utf")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(map(_in_ascii, text)), error.end


def _in_ascii(char: str) -> str:
    if ord(char) in BRAILLE:
        return "."
    return PLAIN.get(char) or char.encode("ascii", "backslashreplace").decode()


codecs.register_error("evenhand_plain", _plain)


def _reopen_closed() -> None:
    """Lead closed streams nowhere: else the next file that is opened takes the place of one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _noticing(stream: Any) -> Any:
    """The same stream, of which a failure is one sentence, however it is buffered."""
    raw: Any = _StandardOutput(stream.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),  # as Python has it
        encoding=stream.encoding,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _StandardOutput(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self._lead_nowhere()
            if isinstance(error, BrokenPipeError):
                raise
            raise CannotWrite(
                f"standard output cannot be written ({error.strerror}): send it somewhere else, or "
                "make room there."
            ) from None

    def _lead_nowhere(self) -> None:
        """What is still in a buffer goes nowhere, so that Python does not complain at its end."""
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self.fileno())


# How every verb prints: one JSON object on request, otherwise a readable table.

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
