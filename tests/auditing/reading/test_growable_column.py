"""Columns longer than memory, and audits whose cells lie in files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.auditing import audit
from evenhand.auditing.reading import growable_column
from evenhand.auditing.reading.growable_column import Column


@pytest.mark.parametrize("dtype", [np.int64, np.float64, "datetime64[us]"])
def test_a_column_is_what_was_added_to_it(dtype, monkeypatch):
    monkeypatch.setattr(growable_column, "IN_MEMORY", 10)
    values = np.arange(100).astype(dtype)
    column, short = Column(dtype), Column(dtype)
    for start in range(0, 100, 7):
        column.append(values[start : start + 7])
    short.append(values[:5])
    whole = column.array()
    assert isinstance(whole, np.memmap)
    assert not isinstance(short.array(), np.memmap)
    del column
    assert whole.dtype == values.dtype
    assert (whole == values).all()
    assert len(Column(dtype).array()) == 0


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"until": 450},
        {"roster": pd.DataFrame({"who": list("ABCDE"), "from": [0, 40, 0, 0, 0]})},
        {"after_each": 100},
        {"when": "amount > 2"},
        {"at_end": True},
    ],
)
def test_cells_in_files_give_the_same_answer(options, monkeypatch):
    chance = np.random.default_rng(1)
    log = pd.DataFrame(
        {
            "at": chance.integers(0, 500, 4000).astype(float),
            "who": chance.choice(list("ABCDE"), 4000),
            "amount": chance.integers(0, 10, 4000) / 4,
        }
    )
    if "roster" in options:
        log = log[(log.who != "B") | (log["at"] > 20)]
    asked = {"stakeholder": "who", "time": "at", "amount": "amount", **options}
    expected = audit(log, **asked)
    monkeypatch.setattr(growable_column, "IN_MEMORY", 100)
    monkeypatch.setattr("evenhand.auditing.sources.engines.duckdb.BLOCK_ROWS", 64)
    monkeypatch.setattr("evenhand.auditing.reading.history.BLOCK_VALUES", 250)
    found = audit(log, **asked)
    assert found.origin == expected.origin
    assert found.score == pytest.approx(expected.score, rel=1e-12)
    assert found.notes == expected.notes
    assert found.over_time.times == expected.over_time.times
    expected_course = pytest.approx(expected.over_time.unfairness, abs=1e-9, nan_ok=True)
    assert found.over_time.unfairness == expected_course
