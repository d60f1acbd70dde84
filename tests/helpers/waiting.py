"""Waiting in tests: for an event, never for so many seconds. Only what hangs reaches the limit."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HANG = 840.0  # seconds, whatever else the machine is busy with; a test is ended after 900


def wait_until(
    happened: Callable[[], Any], process: subprocess.Popen | None = None, limit: float = HANG
) -> bool:
    """Wait for something to happen; False if the process ended or it hung before that."""
    deadline = time.monotonic() + limit
    while not happened():
        if time.monotonic() > deadline:
            return False
        if process is not None and process.poll() is not None:
            return bool(happened())
        time.sleep(0.02)
    return True


def comes_to(read: Callable[[], Any], expected: Any, limit: float = 120.0) -> bool:
    """Whether something that changes in its own time comes to be as expected."""
    wait_until(lambda: read() == expected, limit=limit)
    assert read() == expected
    return True


def group_is_over(group: int) -> bool:
    """Whether no process of a process group is left that does anything."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has just ended
            continue
        if int(its_group) == group and state != "Z":
            return False
    return True
