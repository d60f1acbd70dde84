"""What the machine itself makes a program wait: for the processor, and for the disk.

On a machine that others use too, a slow answer may be the program's or the machine's. These are the
same waits without the program: a sleeper that is woken late, and a file that is written to disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

FIRST = ("chrt", "--rr", "10")  # ahead of everybody else's programs
NICE = ("nice", "-n", "-10")


def at_the_front() -> tuple[str, ...]:
    """What to put before a command so that other programs do not delay it; nothing if refused."""
    for words in (FIRST, NICE):
        if shutil.which(words[0]) is None:
            continue
        tried = subprocess.run([*words, "true"], capture_output=True)
        if tried.returncode == 0 and not tried.stderr:  # `nice` only warns
            return words
    return ()


def late_wakes(count: int = 1000, pause: float = 0.002) -> list[float]:
    """By how many seconds a sleeper is woken too late."""
    late = []
    for _ in range(count):
        due = time.perf_counter() + pause
        time.sleep(pause)
        late.append(time.perf_counter() - due)
    return late


def disk_waits(
    folder: Path, count: int = 500, size: int = 8240, pause: float = 0.002
) -> list[float]:
    """How many seconds a file takes to be on disk after a few pages were added to it."""
    path, took = folder / "waits", []
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    sync = getattr(os, "fdatasync", os.fsync)
    try:
        for _ in range(count):
            os.write(handle, bytes(size))
            begun = time.perf_counter()
            sync(handle)
            took.append(time.perf_counter() - begun)
            time.sleep(pause)
    finally:
        os.close(handle)
        path.unlink()
    return took


def processor_seconds(process: int) -> float:
    """The seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spread(what: str, seconds: list[float]) -> str:
    """Some seconds in a line: how many, the median and the highest few, in milliseconds."""
    ordered = sorted(seconds)
    at = [ordered[min(len(ordered) - 1, int(p * len(ordered)))] for p in (0.5, 0.99, 0.999)]
    median, high, highest = (f"{1000 * one:.2f} ms" for one in at)
    return f"{what}: {len(seconds):,}, median {median}, p99 {high}, p99.9 {highest}"
