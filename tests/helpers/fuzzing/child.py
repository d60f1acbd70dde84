"""The process that runs commands one after the other, as `evenhand` would; see `runner`."""

from __future__ import annotations

import functools
import io
import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer.main

MEMORY = 6 * 2**30  # bytes: what asks for more is refused by the system
FILE = 2**28  # bytes that a command may write to one file


def main() -> None:
    orders = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _spare_devices()
    # The parser of the options is the same for every command.
    typer.main.get_command = functools.cache(typer.main.get_command)
    for line in orders:
        print(json.dumps(_obey(json.loads(line))), file=answers, flush=True)


def _spare_devices() -> None:
    """Whoever is allowed to could replace a device of this machine by a file: nobody shall."""
    replace = os.replace

    def careful(source: Any, target: Any, **more: Any) -> None:
        if os.path.realpath(target).startswith("/dev/") and not os.path.islink(target):
            raise AssertionError(f"{target} would be replaced")
        replace(source, target, **more)

    os.replace = careful


def _obey(order: dict[str, Any]) -> Any:
    if "samples" in order:
        from fuzzing.saved_files import make_samples

        return make_samples(Path(order["samples"]))
    folder = Path(order["folder"])
    os.chdir(folder / "here")
    tempfile.tempdir = str(folder / "tmp")
    _redirect(folder, order)
    try:
        code = _load(*order["arguments"]) if order["verb"] == "load" else _command(order)
        try:
            sys.stdout.flush()
        except OSError:
            return 120  # as Python ends where it cannot write its last words
        return code
    finally:
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        sys.stdout = sys.stderr = io.StringIO()


def _redirect(folder: Path, order: dict[str, Any]) -> None:
    """Standard input, output and error of the next command, down to their descriptors."""
    for number, path, flags in (
        (0, folder / "stdin", os.O_RDONLY),
        (1, "/dev/full" if order["full"] else folder / "stdout", os.O_WRONLY | os.O_CREAT),
        (2, folder / "stderr", os.O_WRONLY | os.O_CREAT),
    ):
        handle = os.open(path, flags)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding=order["encoding"])  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(
        open(2, "wb", closefd=False),  # noqa: SIM115
        encoding=order["encoding"],
        errors="backslashreplace",
        line_buffering=True,
    )
    sys.__stdout__ = sys.stdout  # type: ignore[misc]
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False))  # noqa: SIM115
    if order["closed"]:
        os.close(0)
        sys.stdin = None  # type: ignore[assignment]


def _command(order: dict[str, Any]) -> int:
    from evenhand import cli

    sys.argv = ["evenhand", *order["arguments"]]
    try:
        cli.main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def _load(path: str) -> int:
    """A plan as Python loads it: with its errors told as the command line tells them."""
    from evenhand.cli.output import EXIT_CODE, say, sentence_about
    from evenhand.errors import EvenhandError
    from evenhand.planning.planner import load_plan

    try:
        load_plan(path)
    except EvenhandError as error:
        say(str(error))
        return 2
    except Exception as error:
        say(sentence_about(error))
        return EXIT_CODE
    return 0


if __name__ == "__main__":
    main()
