"""A solver that prints where it should not."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_lock = threading.Lock()  # of what follows
_solving = 0  # how many solve now
_stdout: int | None = None  # a copy of it, while it is led elsewhere


@contextmanager
def nothing_on_stdout() -> Iterator[None]:
    """Keep what a solver prints off stdout, which may have to hold one JSON object.

    HiGHS 1.12 has a stray print that no option silences (its issue 2783). It goes nowhere, unless
    another thread could be printing meanwhile: then to stderr. Of several solvers at once the first
    leads stdout there, and the last brings it back.
    """
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    global _solving, _stdout
    with _lock:
        _solving += 1
        if _solving > 1:
            return
        with suppress(OSError):  # where there is no stdout, there is none to keep clean
            _stdout = os.dup(1)
        if _stdout is None:
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):  # where there is no stderr
            os.dup2(nowhere if threading.active_count() == 1 else 2, 1)
        os.close(nowhere)


def _end() -> None:
    global _solving, _stdout
    with _lock:
        _solving -= 1
        if _solving or _stdout is None:
            return
        os.dup2(_stdout, 1)
        os.close(_stdout)
        _stdout = None
