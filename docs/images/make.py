"""The pictures of README and gallery, made by evenhand: `python docs/images/make.py [REPRODUCED]`.

REPRODUCED is the folder of `evenhand reproduce doughnuts`, for the learning curves, which stay as
they are without it. Needs the extras `dev` and `system`, and chromium.
"""

from __future__ import annotations

import contextlib
import csv
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from evenhand.experiments.paper.demo import year_of_allocations

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "tests" / "helpers")]
WIDTH = {"width": 1000, "height": 640}


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


def audit(folder: Path, command: str, report: Path) -> None:
    words = [sys.executable, "-m", *shlex.split(command), "--out", report.name]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=os.environ)


def open_report(page: Any, report: Path) -> None:
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready]")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
