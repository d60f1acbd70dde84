"""Pages in a real browser: they open from disk with the network off, and show what they should."""

from __future__ import annotations

import shutil

import pytest

from evenhand.envs import Doughnuts
from evenhand.experiments.compare import compare
from evenhand.plan import price_of_memory, standard_memories
from evenhand.report.learning import learning_page

pytestmark = pytest.mark.system

SHOP = Doughnuts(num_stakeholders=2, horizon=3, presence=0.8)


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


def visit(browser, page_bytes, tmp_path):
    """Open a page from disk; what it asked for, what it complained of, and the page."""
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes)
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 600})
    page = context.new_page()
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("canvas, svg")
    return page, [url for url in requests if not url.startswith("file:")], complaints


def test_learning_curves_open_offline_and_are_drawn(browser, tmp_path):
    found = compare(SHOP, ["fairqcm", "full", "oracle"], seeds=2, steps=500)
    page, requests, complaints = visit(browser, learning_page({"paper": found}, "x"), tmp_path)
    page.wait_for_selector("html[data-drawn]")
    assert requests == []
    assert complaints == []
    assert page.locator(".plot svg").count() == 2
    strokes = page.evaluate(
        "() => [...document.querySelectorAll('path[stroke]')].map(p => p.getAttribute('stroke'))"
    )
    for line in ("--line1", "--line2", "--line6"):  # a line for each of the three methods
        assert f"var({line})" in strokes
    assert "exact optimum" in page.content()
    assert page.locator("table tbody tr").count() == 3


def test_the_price_of_memory_opens_offline(browser, tmp_path):
    price = price_of_memory(SHOP, SHOP.nash_scheme(), standard_memories(2, windows=(1,)))
    _, requests, complaints = visit(browser, price.chart().to_html(inline=True).encode(), tmp_path)
    assert requests == []
    assert complaints == []
