"""Tests of report.html.audit_page."""

from __future__ import annotations

import base64
import datetime
import hashlib
import html
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from evenhand import __version__
from evenhand._util.wording import format_number
from evenhand.auditing import audit, compare
from evenhand.fairness.aggregation import BalancedUnfairness
from evenhand.fairness.filters import Always
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns
from evenhand.report import report
from evenhand.report.html.element import asset
from evenhand.report.html.first_screen import verdict

# The page of an audit, read as a browser without scripts reads it.

MAPPED = {"stakeholder": "who", "time": "date", "amount": "amount"}
FIRST_A = pd.DataFrame(
    {
        "date": pd.to_datetime(["2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30"]),
        "who": list("AABB"),
        "amount": 20_000.0,
    }
)
LIGHT = re.compile(r'<p class="light (\w+)"><b>([\w ]+)\.')


def text_of(page: bytes) -> str:
    """What is to be read, without scripts and style."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page.decode(), flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", "", body))


def test_every_part_is_there():
    answer = audit(FIRST_A, **MAPPED, every="month")
    answer.origin["command"] = "evenhand audit log.csv"
    made = datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
    page = report(answer, made)
    text = text_of(page)
    assert answer.verdict in text
    titles = re.findall(r"<h2 id[^>]*>(.*?)</h2>", page.decode())
    assert titles == [
        "The verdict",
        "Fairness over time",
        "Who was below the mean, and when",
        "Who recovered, who fell behind",
        "One stakeholder over time",
        "Does the verdict depend on the question?",
        "Data notes",
        "How to read this",
        "How this file was made",
    ]
    for note in answer.notes:
        assert note in text
    for words in ("evenhand audit log.csv", "2024-05-06 07:08:09 UTC", f"evenhand {__version__}"):
        assert words in text
    assert answer.origin["fingerprint"] in text
    assert "≠ nobody" in text  # at the end nobody was treated worst
    assert page == report(answer, made)  # the same audit, the same bytes


def test_the_policy_names_every_script_and_nothing_else():
    page = report(audit(FIRST_A, **MAPPED)).decode()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    assert len(scripts) == 3
    for script in [*scripts, asset("page.css")]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert page.count("Copyright (c) University of Washington") == 1  # embedded once
    assert not re.search(r'(src|href)="(?!#)', re.sub(r"<script.*?</script>", "", page, flags=re.S))


def test_green_amber_and_red_only_where_there_is_a_threshold():
    def lights(**options):
        return LIGHT.findall(verdict(audit(FIRST_A, **MAPPED, welfare="parity", **options)))

    # The furthest below is 20,000, and the score −20,000.
    assert lights() == []
    assert lights(max_unfairness=30_000) == [("green", "Met")]
    assert lights(max_unfairness=21_000) == [("amber", "Just met")]
    assert lights(max_unfairness=15_000) == [("red", "Breached")]
    assert lights(min_score=-50_000) == [("green", "Met")]
    assert lights(min_score=-20_500) == [("amber", "Just met")]
    assert lights(min_score=0) == [("red", "Breached")]
    assert len(lights(min_score=0, max_unfairness=1)) == 2


def test_an_unfinished_period_that_would_breach_a_threshold_is_amber():
    late = pd.DataFrame({"date": ["2021-05-02"], "who": ["A"], "amount": [90_000.0]})
    log = pd.concat([FIRST_A.assign(date=FIRST_A.date.dt.strftime("%Y-%m-%d")), late])
    page = report(audit(log, **MAPPED, every="month", max_unfairness=30_000)).decode()
    assert LIGHT.findall(page) == [("amber", "Met so far")]
    assert "unfinished, not scored" in text_of(page.encode())


def test_two_logs_side_by_side():
    even = pd.DataFrame(
        {
            "date": np.repeat(FIRST_A.date.values, 2),
            "who": list("ABABABAB"),
            "amount": 10_000.0,
        }
    )
    found = compare(FIRST_A, even, **MAPPED, every="month")
    text = text_of(report(found))
    assert found.verdict in text
    assert found.first.verdict in text
    assert found.second.verdict in text
    for match in found.questions:
        assert format_number(match.scores[0]) in text


@pytest.mark.system  # takes seconds
def test_many_stakeholders_are_extremes_and_data():
    rng = np.random.default_rng(0)
    size = 700
    log = pd.DataFrame(
        {
            "date": np.repeat([1, 2, 3], size),
            "who": [f"n{k:04}" for k in range(size)] * 3,
            "amount": rng.integers(0, 99, 3 * size),
        }
    )
    answer = audit(log, **MAPPED)
    page = report(answer).decode()
    table = re.search(r'<section id="heatmap".*?</section>', page, flags=re.S)[0]
    assert table.count("<tr>") == 1 + 15 + 1 + 15
    assert "… 670 more" in table
    assert all(one.name in page for one in answer.by_stakeholder)  # as data


@pytest.mark.system  # takes seconds
def test_times_that_are_numbers_and_an_end_alone():
    log = pd.DataFrame({"date": [1, 2, 2.5], "who": ["A", "B", "A"], "amount": [1.0, 2.0, 3.0]})
    for options in ({}, {"at_end": True}, {"every": 2}):
        answer = audit(log, **MAPPED, **options)
        assert answer.verdict in text_of(report(answer))


@pytest.mark.system  # takes seconds
def test_one_stakeholder_and_a_scheme_without_welfare():
    alone = audit(FIRST_A[:2], **MAPPED)
    assert "Nobody recovered or fell behind" in text_of(report(alone))
    scheme = FairnessScheme(Returns(), BalancedUnfairness(), Always())
    balanced = audit(FIRST_A, **MAPPED, scheme=scheme)
    assert "no welfare at each assessment" in text_of(report(balanced))


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "=cmd()", "x" * 500]
)
def test_hostile_names_are_text(name):
    log = FIRST_A.assign(who=["A", "A", name, name])
    page = report(audit(log, **MAPPED, every="month"))
    assert name in text_of(page)
    assert b"<script>alert" not in page
    assert b"<img" not in re.sub(rb"<script.*?</script>", b"", page, flags=re.S)


# An answer in a notebook: the first screen of the page and a small table, escaped.

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


def text_of_notebook(page: str) -> str:
    return html.unescape(re.sub(r"<style.*?</style>|<[^>]+>", "", page, flags=re.S))


def test_the_first_screen_of_the_page_and_a_table():
    answer = answered(["A", "B"], min_score=1_000, title="Who got what")
    page = answer._repr_html_()
    text = text_of_notebook(page)
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
    assert "10 of 40, treated worst first" in text_of_notebook(page)


def test_names_from_the_log_are_shown_and_never_obeyed():
    names = [HOSTILE, CUNNING, "\x1b[31m", "a" * 500, " "]
    page = answered(names)._repr_html_()
    parser = Tags()
    parser.feed(page)
    assert not parser.tags & {"script", "img", "iframe", "a"}
    assert page.count("<style") == 1
    assert not any(name.startswith("on") or name in ("src", "href") for name in parser.attributes)
    text = text_of_notebook(page)
    assert HOSTILE in text
    assert CUNNING in text
    assert "\x1b" not in page
