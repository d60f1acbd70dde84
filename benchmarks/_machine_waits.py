"""What the machine itself makes a program wait: for the processor, and for the disk.

On a machine that others use too, a slow answer may be the program's or the machine's. These are the
same waits without the program: a sleeper that is woken late, and a file that is written to disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
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


class StallWatch:
    """Sleepers, one on each core, who share nothing with what is measured but the machine.

    While one of them is woken late, its core stands still: another machine has it, or a program
    that comes before everybody.
    """

    def __init__(self, late: float = 0.005, pause: float = 0.002) -> None:
        self.stalls: list[tuple[float, float]] = []
        self._late, self._pause, self._over = late, pause, threading.Event()
        cores = sorted(os.sched_getaffinity(0))
        self._threads = [threading.Thread(target=self._sleep, args=(core,)) for core in cores]

    def _sleep(self, core: int) -> None:
        os.sched_setaffinity(threading.get_native_id(), {core})
        while not self._over.is_set():
            begun = time.perf_counter()
            time.sleep(self._pause)
            if time.perf_counter() - begun > self._pause + self._late:
                self.stalls.append((begun, time.perf_counter()))

    def disturbs(self, begun: float, ended: float) -> bool:
        """Whether a core stood still meanwhile."""
        return any(first < ended and begun < last for first, last in self.stalls)

    def __enter__(self) -> StallWatch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


class DiskProbe:
    """Somebody else who writes to the same disk, at the same time as what is measured."""

    def __init__(self, folder: Path, pause: float = 0.02) -> None:
        self.took: list[float] = []
        self._folder, self._pause, self._over = folder, pause, threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        while not self._over.is_set():
            self.took += disk_waits(self._folder, count=10, pause=self._pause)

    def __enter__(self) -> DiskProbe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def processor_seconds(process: int) -> float:
    """The seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stolen_seconds() -> float:
    """The seconds that a machine of which this is a part has given to others since its start."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def spread(what: str, seconds: list[float]) -> str:
    """Some seconds in a line: how many, the median and the highest few, in milliseconds."""
    if not seconds:
        return f"{what}: none"
    ordered = sorted(seconds)
    at = [ordered[min(len(ordered) - 1, int(p * len(ordered)))] for p in (0.5, 0.99, 0.999)]
    median, high, highest = (f"{1000 * one:.2f} ms" for one in at)
    return f"{what}: {len(seconds):,}, median {median}, p99 {high}, p99.9 {highest}"
