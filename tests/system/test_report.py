"""An audit's page in a real browser: offline, by mouse and keyboard, on a phone and on paper."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from evenhand._util.wording import format_number
from evenhand.auditing import audit, compare
from evenhand.auditing.verdict import average_distance
from evenhand.report import report
from evenhand.report.formats import as_pdf
from evenhand.report.html.page_data import class_bounds
from places import VACCINATIONS
from waiting import comes_to

pytestmark = pytest.mark.system

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd()",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "مستشفى الملك",
    "🏥 clinic 👩‍⚕️",
    "x" * 500,
    "",
    "javascript:alert(3)",
    "${alert(4)}{{alert(5)}}",
    "a'b\"c\\d\u2028e",
    "constructor",
    "__proto__",
)


class Visit:
    """A page opened from disk without network; its requests and error messages."""

    def __init__(self, browser, path, width=1200, **options):
        size = {"width": width, "height": 900}
        self.context = browser.new_context(offline=True, viewport=size, **options)
        self.page = self.context.new_page()
        self.requests, self.complaints, self.dialogs = [], [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(1), dialog.dismiss()))
        self.page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            self.page.wait_for_selector("html[data-ready]", state="attached")

    def fine(self):
        assert [url for url in self.requests if not url.startswith("file:")] == []
        assert self.complaints == []
        assert self.dialogs == []


@pytest.fixture
def visit(browser):
    opened = []

    def go(path, **options):
        opened.append(Visit(browser, path, **options))
        return opened[-1]

    yield go
    for one in opened:
        one.context.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def log_of(names, months=6, seed=0):
    """Everyone gets something each month, some late; some of it is taken back in month 4."""
    rng = np.random.default_rng(seed)
    dates = pd.date_range("2021-01-15", periods=months, freq="MS") + pd.Timedelta(days=14)
    amounts = rng.integers(1, 900, (months, len(names))) * 1.25
    amounts[: months // 2, ::3] = 0
    amounts[months // 2 :, ::3] *= 2.5
    amounts[3, 1] = -5.5
    return pd.DataFrame(
        {
            "date": np.repeat(dates.values, len(names)),
            "who": list(names) * months,
            "amount": amounts.ravel(),
        }
    )


MAPPED = {"stakeholder": "who", "time": "date", "amount": "amount", "every": "month"}


@pytest.fixture(scope="module")
def plain(folder):
    answer = audit(log_of([f"clinic {k:02}" for k in range(12)]), **MAPPED, max_unfairness=1e6)
    path = folder / "plain.html"
    path.write_bytes(report(answer))
    return answer, path


@pytest.fixture(scope="module")
def hostile(folder):
    answer = audit(log_of(HOSTILE), **MAPPED)
    path = folder / "hostile.html"
    path.write_bytes(report(answer))
    return answer, path


@pytest.fixture(scope="module")
def many(folder):
    answer = audit(log_of([f"household {k:05}" for k in range(10_000)]), **MAPPED)
    path = folder / "many.html"
    path.write_bytes(report(answer))
    return answer, path


@pytest.fixture(scope="module")
def pair(folder):
    dates = ("2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30")
    first = pd.DataFrame({"date": dates, "who": list("AABB"), "amount": 20_000})
    even = pd.DataFrame({"date": sorted(dates * 2), "who": list("ABABABAB"), "amount": 10_000})
    paths = (folder / "first A, then B.csv", folder / "side by side.csv")
    first.to_csv(paths[0], index=False)
    even.to_csv(paths[1], index=False)
    found = compare(*map(str, paths), **MAPPED)
    path = folder / "pair.html"
    path.write_bytes(report(found))
    return found, path


def test_the_bundle_is_that_of_the_installed_version():
    from evenhand.report.html.element import asset, bundle

    assert asset("vega.js") == bundle(), "run python -m evenhand.report.html.element"


def test_every_chart_is_drawn_offline(plain, visit):
    opened = visit(plain[1])
    for place in opened.page.query_selector_all("[data-chart]"):
        assert place.query_selector("svg"), place.get_attribute("data-chart")
        box = place.bounding_box()
        assert box["width"] > 600
        assert box["height"] > 100
    opened.fine()


@pytest.mark.parametrize("which", ["plain", "pair", "many"])
def test_every_chart_is_drawn_before_the_page_has_loaded(which, request, browser):
    """So that a print or a picture of it that does not wait has them all."""
    _, path = request.getfixturevalue(which)
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    drawn = "[...document.querySelectorAll('[data-chart]')].map(one => !!one.querySelector('svg'))"
    page.add_init_script(f"addEventListener('load', () => {{ window.drawn = {drawn}; }});")
    page.goto(path.as_uri())
    found = page.evaluate("() => window.drawn")
    page.close()
    assert len(found) >= 6
    assert all(found)


def test_two_logs_share_a_page(pair, visit):
    found, path = pair
    opened = visit(path)
    text = opened.page.inner_text("#verdict")
    assert found.verdict in text
    assert opened.page.locator("#over-time [data-kind=welfare] svg").count() == 1
    assert opened.page.locator("[data-kind=heatmap] svg").count() == 2
    cells = opened.page.inner_text("#questions table")
    assert "≠ equal" in cells
    assert "log 2" in cells
    opened.page.fill("#search1", "A")
    opened.page.press("#search1", "Enter")
    assert opened.page.inner_text("#story1 .who") == "A"
    assert opened.page.inner_text("#story0 .who") == "B"
    opened.fine()


def test_order_hover_and_click(plain, visit):
    answer, path = plain
    opened = visit(path)
    page = opened.page
    names = page.locator("[data-kind=heatmap] svg text").filter(has_text="clinic")

    def shown():
        return names.all_text_contents()

    assert shown() == [one.name for one in answer.by_stakeholder]
    page.select_option("#order0", "name")
    assert comes_to(shown, sorted(one.name for one in answer.by_stakeholder))
    page.select_option("#order0", "final")
    by_final = sorted(answer.by_stakeholder, key=lambda one: one.final_unfairness)
    assert comes_to(shown, [one.name for one in by_final])
    cells = page.locator("[data-kind=heatmap] svg .mark-rect path")
    fills = {cell.get_attribute("fill") for cell in cells.all()}
    assert any(fill.startswith("url(#below") for fill in fills)  # hatched
    assert any(fill.startswith("var(--above") for fill in fills)  # plain
    page.locator("[data-kind=heatmap]").scroll_into_view_if_needed()
    cells.first.hover()
    tip = page.inner_text(".tip")
    value = float(answer.over_time.unfairness[0, answer.over_time.names.index(by_final[0].name)])
    assert by_final[0].name in tip
    assert format_number(value, True) in tip
    names.nth(4).click()
    assert comes_to(lambda: page.inner_text("#story0 .who"), by_final[4].name)
    page.locator("#heatmap a.who").first.click()
    assert comes_to(lambda: page.inner_text("#story0 .who"), answer.by_stakeholder[0].name)
    opened.fine()


def test_a_point_of_the_scatter_shows_its_stakeholder(plain, visit):
    answer, path = plain
    opened = visit(path)
    points = opened.page.locator("[data-kind=recovery] svg .mark-symbol path")
    assert points.count() == len(answer.by_stakeholder)
    opened.page.locator("[data-kind=recovery]").scroll_into_view_if_needed()
    points.last.hover()
    named = opened.page.inner_text(".tip").splitlines()[0]
    points.last.click()
    assert comes_to(lambda: opened.page.inner_text("#story0 .who"), named)
    opened.fine()


def test_search_by_keyboard_alone(plain, visit):
    answer, path = plain
    opened = visit(path)
    page = opened.page
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == "search0":
            break
    else:
        pytest.fail("the search cannot be reached with the Tab key")
    page.keyboard.type("CLINIC 0")
    assert page.locator("#found0 [role=option]").count() == 8
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#found0 [aria-selected=true]").inner_text()
    assert page.get_attribute("#search0", "aria-activedescendant") == "found0-1"
    page.keyboard.press("Enter")
    assert comes_to(lambda: page.inner_text("#story0 .who"), chosen)
    assert page.get_attribute("#search0", "aria-expanded") == "false"
    one = answer.stakeholder(chosen)
    words = page.inner_text("#story0 .words")
    assert format_number(one.overall_unfairness, True) in words
    assert f"rank {one.rank_final} of {len(answer.by_stakeholder)}" in words
    page.fill("#search0", "nobody at all")
    assert page.inner_text("#story0 [role=status]") == "no stakeholder of that name"
    opened.fine()


def test_a_stakeholder_over_time_names_the_spells_and_when_they_ended(pair, visit):
    opened = visit(pair[1])
    words = opened.page.inner_text("#story0 .words")
    assert "Below the mean at 75% of 4 assessments" in words
    assert "the longest spell was 3 in a row, 2021-01 to 2021-03" in words
    assert "Compensated (again at or above the mean): 2021-04" in words
    assert "recovered by the end" in words


def numbers_in(value):
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int | float):
        yield float(value)
    else:
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(part)


@pytest.mark.parametrize("which", ["plain", "hostile", "pair"])
def test_every_number_shown_is_in_the_json(which, request, visit):
    found, path = request.getfixturevalue(which)
    opened = visit(path)
    answers = [found] if which != "pair" else [found.first, found.second]
    known = set(numbers_in(found.to_json()))
    for answer in answers:  # counts of what the JSON lists, and the bounds in the legend
        people = answer.by_stakeholder
        known |= {float(len(people)), float(sum(one.made_good for one in people))}
        known |= {float(sum(one.fell_behind for one in people))}
        known |= set(class_bounds(answer))
    others = [row for row in found.questions if not row.asked]
    known |= {float(len(others)), float(sum(row.turns for row in others))}
    known |= {sign * average_distance(one) for one in people for sign in (1, -1)}
    known |= {-one.final_unfairness for answer in answers for one in answer.by_stakeholder}
    shown = opened.page.eval_on_selector_all(
        "main data", "all => all.map(one => [one.value, one.textContent, one.className])"
    )
    assert len(shown) > 60
    for value, text, kind in shown:
        exact = float(value)
        assert exact in known, (value, text)
        written = (format_number(exact), format_number(exact, True))
        if kind == "share":
            assert text == f"{exact:.0%}"
        elif text not in written:  # with more digits, to differ from the number beside it
            digits = len(text.partition(".")[2])
            assert text == f"{exact:,.{digits}f}".replace("-", "−"), (value, text)
    # Every number in a table or a tile is such an element.
    bare = opened.page.evaluate(
        """() => {
          const copy = document.querySelector("main").cloneNode(true);
          const known = "data, .name, .plot, code, caption, #notes, #reading, #made";
          for (const one of copy.querySelectorAll(known)) one.remove();
          return [...copy.querySelectorAll("td, dd")].map(one => one.textContent);
        }"""
    )
    for text in bare:
        assert not re.search(r"\d", re.sub(r"\d{4}-\d\d(-\d\d)?|log [12]|SHA-256", "", text)), text


def test_the_table_of_stakeholders_is_the_json(plain, visit):
    answer, path = plain
    rows = visit(path).page.locator("#heatmap table tbody tr")
    for one, row in zip(answer.to_json()["stakeholders"], rows.all(), strict=True):
        cells = row.locator("th, td").all_inner_texts()
        assert cells[:8] == [
            one["name"],
            format_number(one["final"]),
            format_number(one["final_unfairness"], True),
            format_number(one["overall_unfairness"], True),
            f"{one['share_below']:.0%}",
            format_number(one["longest_spell"]),
            format_number(one["rank_final"]),
            format_number(one["rank_overall"]),
        ]


def test_numbers_are_written_the_same_by_the_script(plain, visit):
    """Numbers in sentences come from JavaScript, those in tables from Python."""
    opened = visit(plain[1])
    values = [0.0, -0.0, 1.0, 999.5, 1000.5, -1234.5, 2.675, 0.125, -0.5, 12.345, 1e-3, 0.00012345]
    values += [1.5e-7, -2e-10, 123456789.5, 1e15, 99.999, 0.9996, 1e-5]
    written = opened.page.evaluate(
        "values => values.map(v => [Audit.number(v), Audit.number(v, true)])", values
    )
    assert written == [[format_number(v), format_number(v, True)] for v in values]


def save(opened, button):
    with opened.page.expect_download() as waiting:
        opened.page.click(f"button[data-save={button}]")
    return waiting.value


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("which", ["plain", "hostile", "pair"])
def test_downloads_hold_what_json_and_csv_hold(which, request, visit, tmp_path):
    from evenhand.report.formats import sheets

    found, path = request.getfixturevalue(which)
    opened = visit(path, accept_downloads=True)
    saved = tmp_path / "saved.json"
    save(opened, "json").save_as(saved)
    assert same(json.loads(saved.read_text()), json.loads(json.dumps(found.to_json())))
    if which == "pair":
        return
    expected = dict(sheets(found))
    for kind in ("stakeholders", "questions"):
        save(opened, kind).save_as(tmp_path / f"{kind}.csv")
        (tmp_path / "expected.csv").write_bytes(expected[f"{kind}.csv"])
        ours, theirs = (
            pd.read_csv(tmp_path / name, keep_default_na=False)
            for name in (f"{kind}.csv", "expected.csv")
        )
        for column in theirs.columns:
            left, right = ours[column].astype(str), theirs[column].astype(str)
            assert left.str.lower().str.removesuffix(".0").tolist() == (
                right.str.lower().str.removesuffix(".0").tolist()
            )
    save(opened, "over_time").save_as(tmp_path / "over_time.csv")
    times = pd.read_csv(tmp_path / "over_time.csv", keep_default_na=False)
    assert len(times) == found.overall.assessments
    if which == "hostile":
        assert "'=cmd()" in times.columns  # a spreadsheet does not run it


def test_hostile_names_stay_text_everywhere(hostile, visit):
    answer, path = hostile
    opened = visit(path)
    page = opened.page
    assert page.evaluate("() => document.querySelectorAll('img, iframe, object').length") == 0
    scripts = page.evaluate("() => document.scripts.length")
    assert scripts == 5  # data, charts, vega, charts.js, audit.js
    table = page.evaluate("() => document.querySelector('#heatmap table').textContent")
    for name in HOSTILE:
        assert name in table
    shown = "() => document.querySelector('#story0 .who').textContent"
    for name in HOSTILE:
        page.fill("#search0", name)
        first = page.locator("#found0 [role=option]").first
        assert first.evaluate("one => one.children.length") == 0
        page.press("#search0", "Enter")
        if name:
            assert comes_to(lambda: page.evaluate(shown), name)
    cells = page.locator("[data-kind=heatmap] svg .mark-rect path")
    page.locator("[data-kind=heatmap]").scroll_into_view_if_needed()
    months = len(answer.over_time.times) + (answer.over_time.unfinished is not None)
    for k, one in enumerate(answer.by_stakeholder):
        cells.nth(k * months).hover()
        tip = page.evaluate("() => document.querySelector('.tip').textContent")
        assert tip.startswith(one.name if one.name else "“”")
        assert page.evaluate("() => document.querySelector('.tip').children.length") == 0
    names = page.locator("[data-kind=heatmap] svg .mark-text text").all_text_contents()
    assert "<script>alert(1)</script>"[:9] in " ".join(names)
    opened.fine()


def test_nothing_else_can_run(plain, visit):
    """The policy of the page forbids whatever is not named in it."""
    opened = visit(plain[1])
    ran = opened.page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "window.ran = 1";
          document.body.append(script);
          const button = document.createElement("button");
          button.setAttribute("onclick", "window.ran = 2");
          document.body.append(button);
          button.click();
          let evaluated = false;
          await new Promise(done => setTimeout(() => {  // the driver itself may call eval
            try { (0, eval)("1"); evaluated = true; } catch (error) { /* as it should be */ }
            done();
          }, 10));
          let fetched = true;
          await fetch("https://example.org/").catch(() => { fetched = false; });
          return [window.ran === undefined, evaluated, fetched];
        }"""
    )
    assert ran == [True, False, False]


def test_without_the_script_the_verdict_and_the_tables_are_there(plain, visit):
    answer, path = plain
    opened = visit(path, java_script_enabled=False)
    page = opened.page
    assert answer.verdict in page.inner_text("#verdict")
    assert page.locator("#heatmap table tbody tr").count() == len(answer.by_stakeholder)
    assert page.locator("#questions table tbody tr").count() == len(answer.questions)
    assert page.locator("#over-time table").first.is_visible()
    assert not page.locator(".plot").first.is_visible()
    assert not page.locator("#story0").is_visible()
    assert "is not running" in page.inner_text("#story")


@pytest.mark.parametrize("which", ["plain", "hostile", "pair"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(which, scheme, request, visit, barriers):
    opened = visit(request.getfixturevalue(which)[1], color_scheme=scheme, bypass_csp=True)
    serious, passed = barriers(opened.page)
    assert serious == []
    assert passed > 20


@pytest.mark.parametrize("which", ["plain", "hostile", "pair"])
def test_a_phone_shows_it_all(which, request, visit):
    opened = visit(request.getfixturevalue(which)[1], width=360)
    page = opened.page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    for place in page.locator("[data-chart] svg").all():
        box = place.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 361
    opened.fine()


def test_paper_cuts_no_chart(plain, visit):
    opened = visit(plain[1], width=1600)
    page = opened.page
    content = page.pdf(prefer_css_page_size=True, print_background=True)
    assert content.startswith(b"%PDF")
    page.set_viewport_size({"width": 688, "height": 1000})  # A4 less its margins
    page.emulate_media(media="print")
    for place in page.locator("[data-chart] svg").all():
        box = place.bounding_box()
        assert box["x"] + box["width"] <= 689
        assert box["height"] <= 1000
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 688


@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_the_page_as_a_pdf(which, request, browser):
    """Printed by the same browser, without waiting: the charts make it large."""
    content = as_pdf(request.getfixturevalue(which)[1].read_bytes())
    assert content.startswith(b"%PDF")
    assert content.rstrip().endswith(b"%%EOF")
    assert content.count(b"/Type /Page\n") >= 3
    assert len(content) > 100_000


def test_a_long_log_fits_and_is_all_there(folder, visit, tmp_path):
    rng = np.random.default_rng(1)
    size, steps = 200, 1000
    amounts = rng.lognormal(5, 1, (steps, size))
    log = pd.DataFrame(
        {
            "date": np.repeat(np.arange(steps), size),
            "who": [f"district {k:03}" for k in range(size)] * steps,
            "amount": amounts.ravel(),
        }
    )
    answer = audit(log, stakeholder="who", time="date", amount="amount")
    path = folder / "long.html"
    path.write_bytes(report(answer))
    assert path.stat().st_size < 2_000_000
    opened = visit(path, accept_downloads=True)
    save(opened, "json").save_as(tmp_path / "saved.json")
    saved = json.loads((tmp_path / "saved.json").read_text())
    over = answer.over_time
    assert len(saved["over_time"]["times"]) == steps
    table = np.array([saved["over_time"]["unfairness"][name] for name in over.names]).T
    assert np.abs(table - over.unfairness).max() <= 1e-6 * np.abs(over.unfairness).max()
    opened.fine()


def test_ten_thousand_stakeholders_are_usable(many, visit):
    answer, path = many
    opened = visit(path)
    page = opened.page
    assert page.locator("#heatmap table tbody tr").count() == 31
    page.fill("#search0", "household 04321")
    page.press("#search0", "Enter")
    assert comes_to(lambda: page.inner_text("#story0 .who"), "household 04321")
    one = answer.stakeholder("household 04321")
    assert format_number(one.overall_unfairness, True) in page.inner_text("#story0 .words")
    assert page.locator("[data-kind=heatmap] svg .mark-rect path").count() == 60 * 6
    opened.fine()


@pytest.mark.skipif(not VACCINATIONS.exists(), reason="the real log is not available")
def test_the_real_log(folder, visit):
    answer = audit(
        str(VACCINATIONS),
        stakeholder="location",
        time="date",
        amount="total_distributed",
        cumulative=True,
        exclude=["United States"],
        every="week",
    )
    path = folder / "real.html"
    path.write_bytes(report(answer))
    opened = visit(path)
    page = opened.page
    marks = page.locator("[data-kind=welfare] svg .mark-symbol path")
    assert marks.count() == 16 + 1 + len({time for time, _, _ in answer.corrections})
    lines = page.locator("[data-kind=welfare] svg .mark-line path")
    dashes = [line.get_attribute("stroke-dasharray") for line in lines.all()]
    assert "2,4" in dashes  # the unfinished period is dotted
    page.fill("#search0", "wiscon")
    page.press("#search0", "Enter")
    assert comes_to(lambda: "recovered" in page.inner_text("#story0 .words"), True)
    opened.fine()
