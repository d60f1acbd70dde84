"""A solver that prints where it should not."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def nothing_on_stdout() -> Iterator[None]:
    """Keep what a solver prints off stdout, which may have to hold one JSON object.

    HiGHS 1.12 has a stray print that no option silences (its issue 2783). It goes nowhere, unless
    another thread could be printing meanwhile: then to stderr.
    """
    try:
        kept = os.dup(1)
    except OSError:  # there is no stdout to keep clean
        yield
        return
    alone = threading.active_count() == 1
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        with suppress(OSError):
            os.dup2(nowhere if alone else 2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
