"""The pictures of README and gallery, made by evenhand: `python docs/images/make.py [REPRODUCED]`.

REPRODUCED is the folder of `evenhand reproduce doughnuts`, for the learning curves, which stay as
they are without it. Needs the extras `dev` and `system`, and chromium.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "tests" / "helpers")]
WIDTH = {"width": 1000, "height": 640}
CLINICS = ("Ashford", "Birchwood", "Cedar Hill", "Dunmore", "Eastgate", "Fairview")
WEEKS = 52


def main(reproduced: Path | None) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=WIDTH)
        readme_pictures(page, Path(folder))
        gallery_pictures(page, Path(folder))
        if reproduced is not None:
            page.goto((reproduced / "doughnuts" / "chart.html").resolve().as_uri())
            page.wait_for_selector("html[data-drawn]")
            page.locator("#verdict .pair").screenshot(path=HERE / "learning.png")
        browser.close()


def readme_pictures(page: Any, folder: Path) -> None:
    log, report = folder / "clinics.csv", folder / "report.html"
    with log.open("w", newline="") as file:
        csv.writer(file).writerows([("date", "clinic", "doses"), *year_of_allocations()])
    command = "clinics.csv --stakeholder clinic --time date --amount doses --every month"
    audit(folder, f"evenhand audit {command} --until 2025-12-31", report)
    open_report(page, report)
    page.screenshot(path=HERE / "report-verdict.png")
    page.locator("#heatmap figure").screenshot(path=HERE / "report-heatmap.png")


def gallery_pictures(page: Any, folder: Path) -> None:
    """Every log of docs/gallery.md, made and judged as the page says."""
    import pages

    with contextlib.chdir(folder):
        for block in pages.blocks(HERE.parent / "gallery.md"):
            if block.language == "python":
                exec(block.text, {})
            elif block.file:
                Path(block.file).write_text(block.text)
            elif block.language == "console":
                command = block.commands[-1]
                name = Path(shlex.split(command)[2]).stem
                audit(folder, command, folder / f"{name}.html")
                open_report(page, folder / f"{name}.html")
                picture = HERE / f"gallery-{name}.png"
                page.locator("#heatmap figure").screenshot(path=picture)


def year_of_allocations(seed: int = 4) -> list[tuple[str, str, int]]:
    """A year of weekly deliveries to six clinics: the near ones early, the far ones late.

    In the last week everyone gets what is missing to the same total.
    """
    rng = np.random.default_rng(seed)
    # From 1 to −1 over the year: which clinics the deliveries favour, and how much.
    tide = np.cos(np.pi * np.arange(WEEKS - 1) / (WEEKS - 2))[:, None]
    nearness = np.linspace(1.0, -1.0, len(CLINICS))[None]
    expected = 100 * (1 + 0.75 * tide * nearness)
    amounts = rng.poisson(expected)
    totals = amounts.sum(axis=0)
    last = totals.max() - totals + 100
    first_monday = datetime.date(2025, 1, 6)
    return [
        (str(first_monday + datetime.timedelta(weeks=week)), clinic, int(doses))
        for week, row in enumerate([*amounts, last])
        for clinic, doses in zip(CLINICS, row, strict=True)
    ]


def audit(folder: Path, command: str, report: Path) -> None:
    words = [sys.executable, "-m", *shlex.split(command), "--out", report.name]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=os.environ)


def open_report(page: Any, report: Path) -> None:
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready]")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
