"""The page of `evenhand serve` in a real browser: a newcomer's way, live, by keys, on a phone."""

from __future__ import annotations

import time

import pytest

from at_the_page import HOSTILE, LONG
from evenhand.serve.api.middleware import Role, make_token
from serving import Process, new_store

pytestmark = pytest.mark.system

NAMES = ("Ana Kovač", "Ben", HOSTILE, LONG, "Émile", " ")


def untidy_log(rows: int = 200) -> bytes:
    """A rota as a spreadsheet of Windows saves it: a title, semicolons, decimal commas."""
    lines = ["Review rota 2026;;;", ";;;", "Datum / date;Reviewer;Hours;Remark"]
    names = ("Zoë", "Ben", "Chen", "Dalia", "Emeka")
    for k in range(rows):
        name = names[(7 * k + k // 5) % 5] if k % 7 else names[k % 2]
        spelled = {11: name.upper(), 40: f" {name} "}.get(k, name)
        day = f"{k % 28 + 1:02}.{3 + k // 28:02}.2026"
        hours = ("1", "2", "1,5", "0,5", "3")[k % 5] if k != 120 else ""
        lines.append(f"{day};{spelled};{hours};{'swap' if k % 9 == 0 else ''}")
    return "\r\n".join([*lines, "Source: team spreadsheet;;;"]).encode("cp1252")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with people of any name, in a process of its own; and a reader's token."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "log.csv").write_text(
        "date,who\n" + "".join(f'2026-01-{k + 1:02},"{n.replace(chr(34), 2 * chr(34))}"\n'
                               for k, n in enumerate(NAMES * 3)),
        encoding="utf-8",
    )  # fmt: skip
    store = new_store(folder)
    secret = make_token(store, "boss", Role.OWNER)
    reader = make_token(store, "reader", Role.READER)
    store.close()
    process = Process(folder / "decisions.db")
    process.secret, process.reader, process.folder = secret, reader, folder
    yield process
    process.stop()


@pytest.fixture
def visit(browser, service):
    """Somebody with a browser of their own, signed in."""
    opened = []

    def come(secret=None, **options):
        options = {"viewport": {"width": 1200, "height": 800}} | options
        context = browser.new_context(**options)
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
        page.goto(service.address)
        page.complaints.clear()  # that the sign-in has the status 401
        page.fill("#token", secret or service.secret)
        page.click("text=Sign in")
        page.wait_for_selector("h1:has-text('Pools')")
        return page

    yield come
    for context in opened:
        context.close()


def go(page, service, path):
    page.goto(service.address + path)


def unfold(page):
    page.evaluate("for (const one of document.querySelectorAll('details.more')) one.open = true")


@pytest.fixture
def odd_pool(service, visit):
    """The pool of odd names, imported from the page once."""
    page = visit()
    if not page.locator("a:text-is('odd')").count():
        page.click("text=Make a pool")
        page.set_input_files("#log", service.folder / "log.csv")
        page.click("text=Go on")
        page.fill("#pool", "odd")
        page.click("button:text-is('Import')")
        page.wait_for_selector("text=18 decisions of 6 people")
    return "/pools/odd"


def test_a_newcomer_imports_asks_overrides_and_reads_why(service, visit, tmp_path):
    started = time.monotonic()
    log = tmp_path / "review rota.csv"
    log.write_bytes(untidy_log())
    page = visit()
    page.click("text=Make a pool")
    page.set_input_files("#log", log)
    page.click("text=Go on")
    assert page.input_value("#stakeholder") == "Reviewer"
    assert page.input_value("#time") == "Datum / date"
    assert page.input_value("#amount") == "Hours"
    assert page.input_value("#pool") == "review-rota"
    page.click("button:text-is('Import')")
    page.wait_for_selector("[role=alert]:has-text('Are these the same?')")
    page.select_option("#alike", "one")
    page.click("button:text-is('Import')")
    page.wait_for_selector("text=199 decisions of 5 people")
    page.click("text=Who is next?")
    first = page.inner_text("#next .who")
    page.click("#take")
    page.wait_for_selector(f".done:has-text('1 to {first}')")
    proposed = page.inner_text("#next .who")
    other, third = [name for name in ("Ben", "Chen", "Dalia") if name != proposed][:2]
    page.click("summary:has-text('Somebody else')")
    page.select_option("#instead", label=other)
    page.fill("#instead-reason", "knows the parser")
    page.click("text=Decide so")
    page.wait_for_selector(f".done:has-text('1 to {other}')")
    page.click(".done a:text-is('Why?')")
    words = page.inner_text("main")
    assert f"The rule proposed 1 to {proposed}." in words
    assert "knows the parser" in words
    page.select_option("#place", label=third)
    page.click("button:text-is('Ask')")
    assert f"{third} is" in page.inner_text(".result")
    assert all("422" in one for one in page.complaints)  # the question about names
    assert time.monotonic() - started < 120  # nothing on the way takes long


def test_what_others_do_is_shown_at_once(service, visit, odd_pool):
    one, other = visit(), visit()
    for page in (one, other):
        go(page, service, odd_pool)
    before = one.inner_text("#next .who")
    one.click("summary:has-text('Somebody else')")
    one.fill("#instead-reason", "half written")
    other.click("#take")
    one.wait_for_function(
        "before => document.querySelector('#next .who').innerText !== before", arg=before
    )
    assert one.locator("#take").is_disabled()  # nobody presses it for somebody they did not read
    assert one.input_value("#instead-reason") == "half written"
    one.wait_for_selector("#take:not([disabled])")
    after = one.inner_text("#next .who")
    assert after == other.inner_text("#next .who")
    assert one.inner_text("#news") == "Something happened: this page is up to date."
    one.select_option("#instead", label="Ben")
    one.click("text=Decide so")
    one.wait_for_selector(".done:has-text('1 to Ben')")  # the form knew that it is another turn
    assert one.complaints == other.complaints == []


PAGES = ("", "?place=1", "/standing", "/log", "/judged", "/people/2", "/people/3", "/decisions/9")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(service, visit, odd_pool, barriers, scheme):
    page = visit(color_scheme=scheme, bypass_csp=True)
    for path in ("/", "/new", *(odd_pool + one for one in PAGES), "/pools/none"):
        go(page, service, path)
        unfold(page)
        serious, passed = barriers(page)
        assert (path, serious) == (path, [])
        assert passed > 10
    page.context.clear_cookies()
    go(page, service, odd_pool)
    assert barriers(page)[0] == []


@pytest.mark.parametrize("width", [360, 1200])
def test_every_page_fits_and_names_are_data(service, visit, odd_pool, width):
    page = visit(viewport={"width": width, "height": 700})
    for path in ("/", "/new", *(odd_pool + one for one in PAGES)):
        go(page, service, path)
        unfold(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("window.ran") is None
        assert page.locator("img").count() == 0
    assert page.complaints == []


def test_nothing_but_our_script_runs(service, visit, odd_pool):
    page = visit()
    go(page, service, odd_pool)
    ran = page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "window.ran = 1";
          document.body.append(script);
          let fetched = true;
          await fetch("https://example.org/").catch(() => { fetched = false; });
          return [window.ran === undefined, fetched, document.cookie];
        }"""
    )
    assert ran == [True, False, ""]  # no script sees the cookie


def test_with_keys_alone(service, visit, odd_pool):
    page = visit()
    go(page, service, odd_pool)
    who = page.inner_text("#take")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "take":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector(".done")
    assert page.inner_text("#take") != who
    fold = page.locator("summary:has-text('Somebody else')")
    fold.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Ben")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("with keys")
    page.keyboard.press("Enter")
    page.wait_for_selector(".done:has-text('with keys')")


def test_without_a_script_everything_still_works(service, visit, odd_pool):
    page = visit(java_script_enabled=False)
    go(page, service, odd_pool)
    page.click("#take")
    page.wait_for_selector(".done")
    page.click("summary:has-text('What if')")
    page.select_option("#away", label="Ben")
    page.click("text=Who would be next?")
    assert "If Ben is away" in page.inner_text(".result")
    go(page, service, f"{odd_pool}/standing")
    page.click("button:has-text('Pause') >> nth=0")
    page.click("button:has-text('Resume')")
    sync_api = pytest.importorskip("playwright.sync_api")
    lines = page.locator(".plotted svg path.line")
    sync_api.expect(lines).to_have_count(len(NAMES) + 1)  # the page may still be on its way


def test_a_reader_looks_and_cannot_decide(service, visit, odd_pool):
    page = visit(service.reader)
    for path in ("/", *(odd_pool + one for one in PAGES)):
        go(page, service, path)
        assert page.locator("form[method=post]").count() == 1  # sign out
    go(page, service, f"{odd_pool}/judged")
    with page.expect_download() as download:
        page.click("text=Decisions as CSV")
    assert "stakeholder" in download.value.path().read_text(encoding="utf-8")
    page.click("text=Open the audit")
    page.wait_for_selector("#verdict")
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.complaints == []


def test_a_link_from_elsewhere_needs_no_second_sign_in(service, visit, odd_pool):
    page = visit()
    other = service.address.replace("127.0.0.1", "localhost")  # another site, with other cookies
    page.goto(f"{other}/")
    page.evaluate(f"location.href = '{service.address}{odd_pool}'")
    page.wait_for_selector("#next .who")
