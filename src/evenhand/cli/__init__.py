"""The command line. Each verb lives in its own file and loads what it needs when it runs."""

from __future__ import annotations

import contextlib
import signal
import sys
from types import FrameType

from evenhand._util.registry import naming_the_extra
from evenhand.cli.output import require_unicode, say, standard_streams
from evenhand.errors import EvenhandError

STOPPED = 130  # the exit code of what was stopped by Ctrl-C


def main() -> None:
    """Run a command: exit code 0 for done, 1 for a breached threshold, 2 for bad input.

    70 is for what nobody foresaw, and 130 for what was stopped by Ctrl-C.
    """
    pressed = _notice_interrupts()
    try:
        # Here, as it can be interrupted too.
        from evenhand.cli.output import (
            EXIT_CODE,
            sentence_about,
            sentence_about_own,
            silence_libraries,
        )

        silence_libraries()
        with standard_streams():
            require_unicode(sys.argv[1:])
            from evenhand.cli.app import run

            with naming_the_extra():
                run()
    except EvenhandError as error:
        # One plain sentence for a user's mistake; a traceback would only hide it.
        say(str(error))
        sys.exit(2)
    except BrokenPipeError:  # such as `evenhand list | head`
        sys.stderr.close()
        sys.exit(0)
    except BaseException as error:
        # Of an interrupted import of compiled code nothing is left but that it failed, and of an
        # interrupted wait in another library's thread nothing but its exit code.
        left_with = error.code if isinstance(error, SystemExit) else None
        failed = pressed and isinstance(error, Exception)
        if _interrupted(error) or failed or left_with == STOPPED:
            print("evenhand: stopped. What was saved before is kept.", file=sys.stderr)
            sys.exit(STOPPED)
        if isinstance(error, SystemExit):
            raise
        about_own = sentence_about_own(error)
        say(about_own or sentence_about(error))
        sys.exit(2 if about_own else EXIT_CODE)


def _notice_interrupts() -> list[int]:
    """A list that will hold something once Ctrl-C is pressed; else it does what it always does."""
    pressed: list[int] = []

    def notice(signum: int, frame: FrameType | None) -> None:
        pressed.append(signum)
        signal.default_int_handler(signum, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and not if it is ignored
        with contextlib.suppress(ValueError):  # only the main thread may
            signal.signal(signal.SIGINT, notice)
    return pressed


def _interrupted(error: BaseException | None) -> bool:
    """Whether it began with Ctrl-C, which may have become an exit code on the way here."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
