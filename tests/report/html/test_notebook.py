"""An answer in a notebook: the first screen of the page and a small table, escaped."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pandas as pd

from evenhand.auditing import audit

HOSTILE = '<script>alert("x")</script>'
CUNNING = "\"><img src=x onerror=alert(1)>'&amp;"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def answered(names, **options):
    rows = [(k + 1, name, 10 * (k + 1)) for k, name in enumerate(names)]
    frame = pd.DataFrame(rows, columns=["t", "who", "much"])
    return audit(frame, stakeholder="who", time="t", amount="much", welfare="rawls", **options)


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<style.*?</style>|<[^>]+>", "", page, flags=re.S))


def test_the_first_screen_of_the_page_and_a_table():
    answer = answered(["A", "B"], min_score=1_000, title="Who got what")
    page = answer._repr_html_()
    text = text_of(page)
    assert "Who got what" in text
    assert answer.summary in text
    assert "Score5an even log scores 10" in text
    assert "1 to 2, assessed: each event" in text
    assert "Breached. The threshold min_score is 1,000; the value found is 5." in text
    assert "A10−5050%1" in text  # 10 in all; −5 at the end, 0 over all; below at one of two; rank
    assert page.count("<tr>") == 3  # the head, and one row for each
    assert 'value="-5.0"' in page
    assert "href" not in page  # there is nothing to link to


def test_the_style_is_for_its_own_element_alone():
    """What a notebook shows beside it keeps its looks."""
    style = re.search(r"<style>(.*?)</style>", answered(["A", "B"])._repr_html_(), flags=re.S)[1]
    selectors = [part for rule in re.findall(r"([^{}]+)\{", style) for part in rule.split(",")]
    assert len(selectors) > 10
    assert all(selector.strip().startswith(".evenhand") for selector in selectors)


def test_only_the_worst_treated_are_shown():
    page = answered([f"name {k}" for k in range(40)])._repr_html_()
    assert page.count("<tr>") == 11
    assert "10 of 40, treated worst first" in text_of(page)


def test_names_from_the_log_are_shown_and_never_obeyed():
    names = [HOSTILE, CUNNING, "\x1b[31m", "a" * 500, " "]
    page = answered(names)._repr_html_()
    parser = Tags()
    parser.feed(page)
    assert not parser.tags & {"script", "img", "iframe", "a"}
    assert page.count("<style") == 1
    assert not any(name.startswith("on") or name in ("src", "href") for name in parser.attributes)
    text = text_of(page)
    assert HOSTILE in text
    assert CUNNING in text
    assert "\x1b" not in page
