"""What the shell hands over: streams of any encoding, closed or full; arguments of any bytes."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.errors import BadParameter, CannotWrite, as_sentence

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
