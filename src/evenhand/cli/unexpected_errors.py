"""What nobody foresaw: one sentence on the screen, the details in a file, and nothing else."""

from __future__ import annotations

import logging
import os
import platform
import shlex
import sys
import tempfile
import threading
import traceback
import warnings
from typing import Any

from evenhand import __version__
from evenhand._util.registry import own_files
from evenhand.errors import shortened, visible

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
