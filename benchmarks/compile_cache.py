"""How much of a command's time the cache of compiled functions saves: first run against second."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "plan": ("plan", "doughnuts", "--stakeholders", "3", "--horizon", "12", "--json"),
    "plan lending": ("plan", "lending", "--horizon", "10", "--json"),
    "train, tables": ("train", "doughnuts", "--steps", "20000", "--out", "run", "--json"),
    "train, networks": ("train", "doughnuts", "--episodes", "20", "--out", "deep", "--json"),
    "demo": ("demo", "--out", "demo.html", "--json"),
}


def main() -> None:
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            without = _seconds(command, folder, "off")
            first, second = (_seconds(command, folder, f"{folder}/cache") for _ in range(2))
            size = sum(path.stat().st_size for path in Path(folder, "cache").rglob("*-cache"))
        print(
            f"{name}: {without:.1f} s without a cache, {first:.1f} s the first time, "
            f"{second:.1f} s the second: {first / second:.1f} times; "
            f"{size / 2**20:.1f} MB of entries"
        )


def _seconds(command: tuple[str, ...], folder: str, cache: str) -> float:
    for run in Path(folder).glob("*"):  # so that no run goes on where another stopped
        if run.is_file():
            run.unlink()
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "evenhand", *command],
        check=True,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "EVENHAND_CACHE": cache},
    )
    return time.perf_counter() - start
