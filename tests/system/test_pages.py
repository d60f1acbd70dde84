"""Pages in a real browser: they open from disk without network, and show what they should."""

from __future__ import annotations

import pytest

from evenhand.envs import Doughnuts
from evenhand.lab.compare_methods import compare
from evenhand.lab.demo import build_demo
from evenhand.lab.reproduction import Reproduction, audits
from evenhand.lab.theorems import THEOREMS
from evenhand.planning import price_of_memory, standard_memories
from evenhand.report.html.demo_page import demo_page
from evenhand.report.html.learning_page import learning_page
from evenhand.report.html.reproduction_page import reproduction_page
from made_up import all_figures

pytestmark = pytest.mark.system

SHOP = Doughnuts(num_stakeholders=2, horizon=3, presence=0.8)


def visit(browser, page_bytes, tmp_path, width=1200):
    """Open a page from disk: the page, its requests and its error messages."""
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes)
    context = browser.new_context(offline=True, viewport={"width": width, "height": 600})
    page = context.new_page()
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("canvas, .plot svg, .vega-embed svg")
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


@pytest.fixture(scope="module")
def story():
    """The demo's own story, all of it."""
    return build_demo()


@pytest.mark.parametrize("width", [1200, 360])
def test_the_demo_opens_offline_and_is_drawn(browser, story, tmp_path, width):
    page, requests, complaints = visit(browser, demo_page(story), tmp_path, width)
    page.wait_for_selector("html[data-ready]")
    assert (requests, complaints) == ([], [])
    charts = page.locator(".plot")
    assert charts.count() >= 4  # spread, heatmap, two of a district
    assert page.locator(".plot svg").count() == charts.count()
    overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert overflow <= 0
    assert len(demo_page(story)) < 2_000_000


def test_the_demos_numbers_are_those_of_its_run(browser, story, tmp_path):
    page, _, _ = visit(browser, demo_page(story), tmp_path)
    rows = page.locator("#learned tbody tr").all_inner_texts()
    assert len(rows) == len(story.rules.everything) + 1
    policy = next(row for row in rows if "learned policy" in row)
    assert f"{story.learned.outcome.score:.3g}" in policy
    said = page.locator("#learned .verdict").inner_text()
    assert ("fairer than every rule" in said) == story.learned.beats(story.rules)
    assert story.turn.ranking[0].name in page.locator("#next .verdict").inner_text()


def test_the_demo_can_be_read_without_its_script(browser, story, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(demo_page(story))
    page = browser.new_context(offline=True, java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    assert page.locator("#next tbody tr").count() == 4
    assert page.locator("#learned .verdict").is_visible()


@pytest.fixture(scope="module")
def reproduced():
    """The page of a reproduction with made-up curves."""
    about = {"made": "today", "seconds": 1.0, "training_seconds": 2.0, "seeds": 6}
    about |= {"quick": True, "machine": "this one", "versions": {"evenhand": "0"}}
    theorems = [(THEOREMS[0], THEOREMS[0].checked(2))]
    return reproduction_page(Reproduction(audits(), theorems, all_figures(), about))


@pytest.mark.parametrize("width", [1200, 360])
def test_the_reproduction_opens_offline_and_is_drawn(browser, reproduced, tmp_path, width):
    page, requests, complaints = visit(browser, reproduced, tmp_path, width)
    page.wait_for_selector("html[data-drawn]")
    assert (requests, complaints) == ([], [])
    assert page.locator(".plot svg").count() == 8  # two for each of four figures
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.locator("#verdict tbody tr").count() == 13
    assert "A quick run." in page.locator("#verdict").inner_text()


@pytest.fixture
def demonstrated(story):
    return demo_page(story)


@pytest.mark.parametrize("which", ["demonstrated", "reproduced"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barriers_on_either_page(browser, which, scheme, request, tmp_path, barriers):
    path = tmp_path / "page.html"
    path.write_bytes(request.getfixturevalue(which))
    page = browser.new_context(offline=True, color_scheme=scheme, bypass_csp=True).new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn], html[data-ready]")
    serious, passed = barriers(page)
    assert serious == []
    assert passed > 20
