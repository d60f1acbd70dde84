"""The README's pictures, made by evenhand itself: `python docs/images/make.py REPRODUCED`.

REPRODUCED is the folder of `evenhand reproduce doughnuts`. Needs the `system` extra and chromium.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from evenhand.experiments.paper.demo import year_of_allocations

HERE = Path(__file__).parent


def main(reproduced: Path) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        log, report = Path(folder) / "clinics.csv", Path(folder) / "report.html"
        with log.open("w", newline="") as file:
            csv.writer(file).writerows([("date", "clinic", "doses"), *year_of_allocations()])
        command = ["evenhand", "audit", "clinics.csv", "--stakeholder", "clinic", "--time", "date"]
        command += ["--amount", "doses", "--every", "month", "--until", "2025-12-31"]
        subprocess.run([*command, "--out", report.name], cwd=folder, check=True)
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 640})
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.screenshot(path=HERE / "report-verdict.png")
        page.locator("#heatmap figure").screenshot(path=HERE / "report-heatmap.png")
        page.goto((reproduced / "doughnuts" / "chart.html").resolve().as_uri())
        page.wait_for_selector("html[data-drawn]")
        page.locator("#verdict .pair").screenshot(path=HERE / "learning.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
