"""Events per second through `evenhand monitor`, with 50 stakeholders, from the shell."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

EVENTS = 500_000
NAMES = [f"ward {k}" for k in range(50)]
RUNS = {
    "every hour (24 assessments per day)": ["--every", "3600"],
    "every day": ["--every", "day"],
    "each event": ["--each-event"],
    "each event, with ids and a saved state": ["--each-event", "--id", "id", "--state", "{state}"],
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as folder:
        path = Path(folder) / "events.jsonl"
        _make(path)
        for name, options in RUNS.items():
            chosen = [part.replace("{state}", str(Path(folder) / "state.json")) for part in options]
            seconds, start = _run(path, chosen), _run(Path("/dev/null"), chosen)
            rate = EVENTS / (seconds - start)
            print(
                f"{name}: {rate:,.0f} events per second ({EVENTS:,} in {seconds:.2f} s, of which "
                f"{start:.2f} s to start)",
                flush=True,
            )


def _make(path: Path) -> None:
    rng = np.random.default_rng(0)
    start = datetime.datetime(2021, 1, 1)
    who, amount = rng.integers(0, len(NAMES), EVENTS), rng.gamma(2.0, 3.0, EVENTS).round(2)
    with open(path, "w") as file:
        for k in range(EVENTS):
            moment = start + datetime.timedelta(seconds=k)
            event = {"time": moment.isoformat(), "stakeholder": NAMES[who[k]], "amount": amount[k]}
            file.write(json.dumps({**event, "id": k}) + "\n")


def _run(path: Path, options: list[str]) -> float:
    command = [sys.executable, "-m", "evenhand", "monitor", "--amount", "amount", *options]
    for name in NAMES:
        command += ["--name", name]
    best = float("inf")
    for _ in range(2):
        started = time.perf_counter()
        with open(path, "rb") as events:
            subprocess.run(command, stdin=events, stdout=subprocess.DEVNULL, check=True)
        best = min(best, time.perf_counter() - started)
        for part in options:
            if part.endswith("state.json"):
                Path(part).unlink(missing_ok=True)
    return best
