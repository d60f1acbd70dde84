"""Fairness over time on a page: the table of Figure 1 by hand."""

from __future__ import annotations

import html
import re

import pandas as pd

from evenhand.auditing import audit
from evenhand.report.html.over_time import unfairness_by_time

MAPPED = {"stakeholder": "who", "time": "date", "amount": "doses"}
DATES = ["2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30"]


def rows_of(markup: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", markup)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows)
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in cells]


def test_figure_1_by_hand():
    """A has 20, 40, 40, 40 and B 0, 0, 20, 40; the mean is 10, 20, 30, 40 (thousands)."""
    first = pd.DataFrame({"date": DATES, "who": list("AABB"), "doses": 20_000.0})
    found = {"A first, then B": audit(first, **MAPPED, every="month")}
    markup = unfairness_by_time(found)
    assert rows_of(markup) == [
        ["", "2021-01", "2021-02", "2021-03", "2021-04", "overall"],
        ["A first, then B: A", "+10,000", "+20,000", "+10,000", "0", "+40,000"],
        ["A first, then B: B", "−10,000", "−20,000", "−10,000", "0", "−40,000"],
    ]
    assert found["A first, then B"].verdict in html.unescape(markup)
