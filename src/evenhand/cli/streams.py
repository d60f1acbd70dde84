"""What the shell hands over: streams of any encoding, closed or full, and arguments of any bytes."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence

from evenhand.errors import BadParameter, CannotWrite

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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="evenhand_plain")
    try:
        yield
    except BrokenPipeError:
        _silence()
        raise
    except (OSError, SystemExit):  # typer ends with the latter
        _flush()  # if it was about standard output, this fails too
        raise
    _flush()


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
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        raise
    except OSError as error:
        _silence()
        raise CannotWrite(
            f"standard output cannot be written ({error.strerror}): send it somewhere else, or "
            "make room there."
        ) from None


def _silence() -> None:
    """What is still to be printed goes nowhere, so that Python does not complain when it ends."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
