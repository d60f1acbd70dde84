"""How long a report takes in addition to its audit, its size, and the time until it is drawn.

From the shell, with and without `--out`; the difference is the time of the page, all imports
included. The browser is the system's chromium, headless, if it and playwright are installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.auditing import REAL

REAL_OPTIONS = [
    *("--stakeholder", "location", "--time", "date", "--amount", "total_distributed"),
    *("--cumulative", "--exclude", "United States", "--every", "week"),
]
OPTIONS = ["--stakeholder", "who", "--time", "date", "--amount", "amount"]
TIMES = 3


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
        folder = Path(name)
        if REAL.exists():
            _measure("the real log, every week", REAL, REAL_OPTIONS, folder)
        for size, steps in ((2_000, 24), (200, 1_000), (10_000, 36)):
            log = folder / "log.csv"
            _make(log, size, steps)
            _measure(f"{size:,} stakeholders, {steps:,} assessments", log, OPTIONS, folder)


def _make(path: Path, size: int, steps: int) -> None:
    amounts = np.random.default_rng(0).lognormal(5, 1, (steps, size)).round(2)
    with open(path, "w") as file:
        file.write("date,who,amount\n")
        for step, row in enumerate(amounts):
            file.writelines(f"{step},n{k:05},{amount}\n" for k, amount in enumerate(row))


def _measure(name: str, log: Path, options: list[str], folder: Path) -> None:
    out = folder / "report.html"
    command = [sys.executable, "-m", "evenhand", "audit", str(log), *options]
    plain = min(_seconds(command) for _ in range(TIMES))
    paged = min(_seconds([*command, "--out", str(out)]) for _ in range(TIMES))
    print(
        f"{name}: audit {plain:.2f} s, page {paged - plain:.2f} s more, "
        f"{out.stat().st_size / 1e6:.2f} MB, {_browser(out)}",
        flush=True,
    )


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def _browser(path: Path) -> str:
    """Time from the start of navigation until everything is drawn and responds."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "no playwright to open it"
    chromium = shutil.which("chromium")
    if chromium is None:
        return "no chromium to open it"
    ready = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        for width in (1200, 360):
            times = []
            for _ in range(TIMES):
                page = browser.new_page(viewport={"width": width, "height": 900})
                page.goto(path.as_uri())
                page.wait_for_selector("html[data-ready]", state="attached")
                times.append(int(page.get_attribute("html", "data-ready")))
                page.close()
            ready.append(f"{min(times) / 1000:.2f} s at {width} px")
        browser.close()
    return f"drawn after {' and '.join(ready)}"
