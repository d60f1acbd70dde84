"""What the system tests share: a real browser, and what finds barriers on a page."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

AXE = Path(sys.prefix) / "axe/node_modules/axe-core/axe.min.js"  # see install.sh


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=quiet)
        yield opened
        opened.close()


@pytest.fixture
def barriers():
    """What axe-core finds that keeps people from reading an opened page; its rules that passed."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make test-system installs it with npm)")

    def look(page):
        page.add_script_tag(path=str(AXE))
        found = page.evaluate("() => axe.run()")
        serious = [
            (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        return serious, len(found["passes"])

    return look
