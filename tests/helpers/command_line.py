"""`evenhand …` as the shell runs it, without a process of its own, which would load all anew."""

from __future__ import annotations

import contextlib
import gc
import io
import signal
import sys
import tempfile
from collections.abc import Iterator
from subprocess import CompletedProcess

from evenhand import cli

HANDLED = (signal.SIGINT, signal.SIGTERM)


def evenhand(*arguments: str, stdin: str = "") -> CompletedProcess[str]:
    """Its exit code, what it prints and what it says; errors that main lets through come through.

    Standard input is a file, as some commands read from its number; the outputs take bytes too.
    """
    out, err = _stream(), _stream()
    command, code = ["evenhand", *arguments], 0
    with tempfile.TemporaryFile("w+") as given, _as_it_was():
        given.write(stdin)
        given.seek(0)
        sys.argv, sys.stdin = command, given
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                cli.main()
            except SystemExit as stop:
                code = stop.code or 0
    return CompletedProcess(command, code, _text(out), _text(err))


@contextlib.contextmanager
def _as_it_was() -> Iterator[None]:
    """Afterwards the process has its own arguments, input and handlers of signals again."""
    before = sys.argv, sys.stdin
    handlers = {number: signal.getsignal(number) for number in HANDLED}
    try:
        yield
    finally:
        sys.argv, sys.stdin = before
        gc.unfreeze()  # the monitor freezes what is loaded, as its process does nothing else
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
