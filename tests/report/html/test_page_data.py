"""Tests of report.html.page_data."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing import audit
from evenhand.report.html import page_data
from evenhand.report.html.charts import TimeAxis, positions
from evenhand.report.html.page_data import packed
from page_numbers import unpacked

# Packed numbers, read back letter by letter in plain Python.


def test_by_hand():
    # 100 is 200 + 1 = 201 = 9 + 6 · 32: the letters of 9 + 32 and 6. Then −101, of which 202 = 10
    # + 6 · 32 is the code; then nothing, which is A.
    assert packed(np.array([[100.0, -1.0, np.nan]])) == "pGqGA"


@given(
    st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.none() | st.integers(-(10**7), 10**7), min_size=columns, max_size=columns),
            min_size=1,
            max_size=4,
        )
    )
)
def test_what_is_packed_is_read_back(rows):
    text = packed(np.array([[np.nan if x is None else x for x in row] for row in rows], float))
    assert unpacked(text, len(rows[0])) == rows


# The data in a page: the numbers of the answer, in the structure of --json, in compact form.

MAPPED = {"stakeholder": "who", "time": "date", "amount": "amount"}


def logged(amounts, dates=None):
    steps, size = amounts.shape
    return pd.DataFrame(
        {
            "date": np.repeat(np.arange(steps) if dates is None else dates, size),
            "who": [f"p{k}" for k in range(size)] * steps,
            "amount": amounts.ravel(),
        }
    )


def unpack(matrix):
    """What the page's script does."""
    if "rows" in matrix:
        return np.array(matrix["rows"], dtype=float)
    rows = np.array(unpacked(matrix["packed"], matrix["columns"]), dtype=float)
    return rows / matrix["per"] * matrix["unit"]


def test_a_small_log_is_there_with_every_digit():
    answer = audit(logged(np.random.default_rng(0).random((5, 3))), **MAPPED)
    held = page_data.compact_answer(answer)
    assert (
        unpack(held["over_time"]["unfairness"]).tolist() == answer.over_time.unfairness.T.tolist()
    )
    assert held["stakeholders"]["columns"][0] == "name"
    assert held["stakeholders"]["rows"][0][0] == answer.by_stakeholder[0].name
    assert not page_data.is_rounded(answer)
    json.dumps(held, allow_nan=False)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_a_large_log_keeps_seven_digits(scale, monkeypatch):
    monkeypatch.setattr(page_data, "PLAIN", 10)
    answer = audit(logged(scale * np.random.default_rng(1).random((40, 5))), **MAPPED)
    held = page_data.compact_answer(answer)["over_time"]["unfairness"]
    deviation = answer.over_time.unfairness.T
    assert "packed" in held
    assert np.abs(unpack(held) - deviation).max() <= 0.51e-6 * np.abs(deviation).max()
    assert page_data.is_rounded(answer)


def test_a_stakeholder_that_is_absent_has_no_number(monkeypatch):
    roster = pd.DataFrame(
        {"who": ["p0", "p1", "p2"], "from": [None, "2021-02-01", None], "until": [None] * 3}
    )
    dates = pd.to_datetime(["2021-01-31", "2021-02-28", "2021-03-31"])
    answer = audit(
        logged(np.ones((3, 3)), dates), **MAPPED, every="month", roster=roster, welfare="rawls"
    )
    plain = page_data.compact_answer(answer)["over_time"]
    assert plain["unfairness"]["rows"][1][0] is None
    # Of p0 and p2, then of all three, where p1 begins at 1.
    assert plain["mean"] == [1.0, 2.0, 3.0]
    monkeypatch.setattr(page_data, "PLAIN", 1)
    squeezed = page_data.compact_answer(answer)["over_time"]["unfairness"]
    assert np.isnan(unpack(squeezed)[1, 0])


def test_of_too_many_assessments_some_are_kept_with_the_last(monkeypatch):
    answer = audit(logged(np.ones((300, 4))), **MAPPED)
    monkeypatch.setattr(page_data, "MAX_VALUES", 80)
    kept = page_data.kept_assessments(answer)
    assert (len(kept), kept[0], kept[-1]) == (20, 0, 299)
    held = page_data.compact_answer(answer)
    assert len(held["over_time"]["times"]) == len(held["axis"]["x"]) == 20
    assert held["over_time"]["times"][-1] == "299"


def test_corrections_gaps_and_the_unfinished_period_stand_on_the_axis():
    log = pd.DataFrame(
        {
            "date": ["2021-01-05", "2021-01-20", "2021-03-31", "2021-04-02"],
            "who": ["A", "B", "A", "B"],
            "amount": [4.0, 6.0, -1.0, 2.0],
        }
    )
    answer = audit(log, **MAPPED, every="month")
    axis = page_data.compact_answer(answer)["axis"]
    moment = [
        datetime.datetime(2021, *day, tzinfo=datetime.UTC).timestamp() * 1000
        for day in ((1, 1), (2, 1), (3, 1), (4, 1), (3, 31))
    ]
    assert axis["x"] == moment[:3]
    assert axis["open"] == moment[3]
    assert axis["marks"] == [
        {"kind": "gap", "x": moment[1], "words": "2021-02: no events"},
        {"kind": "correction", "x": moment[4], "words": "2021-03-31: correction\nA −1"},
    ]
    assert answer.over_time.mean.tolist() == [5.0, 5.0, 4.5]


def test_class_bounds_divide_distances_into_thirds():
    answer = audit(logged(np.array([[0.0, 6.0], [0.0, 3.0], [0.0, 3.0]])), **MAPPED)
    # From the mean: 3, 4.5 and 6, each twice.
    assert page_data.class_bounds(answer) == [4.0, 5.0]
    even = audit(logged(np.ones((3, 2))), **MAPPED)
    assert page_data.class_bounds(even) == []


def test_ticks_are_written_as_the_audit_writes_times():
    def axis(*labels):
        return TimeAxis.of(labels, *positions(labels))

    assert axis("2021-01", "2021-02").format == "%Y-%m"
    assert axis("2021-W01", "2021-W02").format == "%G-W%V"
    assert axis("2021-Q1", "2021-Q2").format == "%Y-Q%q"
    assert axis("2021-01-01", "2021-01-02").format == "%Y-%m-%d"
    assert axis("2021-01-01", "2021-01-02 10:00:00").format == "%Y-%m-%d %H:%M"
    assert axis("1", "2").format is None
    assert len(axis(*map(str, range(1000))).ticks) == 12
    assert positions(["2020", "2021"]) == (False, [2020.0, 2021.0])
