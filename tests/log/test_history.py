"""Tests of log.history."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.auditing import audit
from evenhand.log import history
from evenhand.log.history import Column
from evenhand.log.log import Kept, Supply, log_of
from evenhand.log.options import AuditOptions

# Columns longer than memory, and audits whose cells lie in files.


@pytest.mark.parametrize("dtype", [np.int64, np.float64, "datetime64[us]"])
def test_a_column_is_what_was_added_to_it(dtype, monkeypatch):
    monkeypatch.setattr(history, "IN_MEMORY", 10)
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
    monkeypatch.setattr(history, "IN_MEMORY", 100)
    monkeypatch.setattr("evenhand.log.engines.BLOCK_ROWS", 64)
    monkeypatch.setattr("evenhand.log.history.BLOCK_VALUES", 250)
    found = audit(log, **asked)
    assert found.origin == expected.origin
    assert found.score == pytest.approx(expected.score, rel=1e-12)
    assert found.notes == expected.notes
    assert found.over_time.times == expected.over_time.times
    expected_course = pytest.approx(expected.over_time.unfairness, abs=1e-9, nan_ok=True)
    assert found.over_time.unfairness == expected_course


# The rows of a log as lots, and what is known of those who could have received them.

# Untidy: out of order, two equal rows, two unequal ones of one time, a correction, an empty amount.
LOG = pd.DataFrame(
    {
        "day": [2, 1, 1, 1, 3, 3, 2],
        "who": ["A", "B", "A", "A", "B", "B", "C"],
        "got": [4.0, 5.0, 2.0, 2.0, -1.0, 3.0, np.nan],
    }
)


def prepared(log, lots=True, **options):
    asked = AuditOptions(stakeholder="who", time="day", **{"amount": "got", **options})
    return log_of(log, asked, Kept(rows=lots))


def listed(lots):
    return list(
        zip(
            lots.slot.tolist(),
            lots.who.tolist(),
            lots.amount.tolist(),
            lots.copies.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("form", ["pandas", "csv", "polars"])
def test_equal_rows_are_counted_and_others_stand_apart(form, tmp_path):
    log = LOG
    if form == "csv":
        log = str(tmp_path / "log.csv")
        LOG.to_csv(log, index=False)
    elif form == "polars":
        polars = pytest.importorskip("polars")
        log = polars.from_pandas(LOG)
    assert listed(prepared(log).lots) == [
        (0, 0, 2.0, 2),
        (0, 1, 5.0, 1),
        (1, 0, 4.0, 1),
        (2, 1, -1.0, 1),
        (2, 1, 3.0, 1),
    ]


def test_rows_without_amounts_are_lots_of_one():
    log = pd.DataFrame({"day": [1, 1, 1, 2], "who": ["A", "A", "B", "B"]})
    assert listed(prepared(log, amount=None).lots) == [
        (0, 0, 1.0, 2),
        (0, 1, 1.0, 1),
        (1, 1, 1.0, 1),
    ]


def test_running_totals_give_one_lot_for_each_difference():
    log = pd.DataFrame({"day": [1, 2, 3], "who": ["A", "A", "A"], "got": [2.0, 5.0, 5.0]})
    found = prepared(log, cumulative=True).lots
    assert listed(found) == [(0, 0, 2.0, 1), (1, 0, 3.0, 1), (2, 0, 0.0, 1)]


def test_lots_outside_a_stay_or_a_period_are_not_counted():
    roster = pd.DataFrame({"who": ["A", "B", "C"], "from": [1, 1, 3], "until": [1, 3, 3]})
    found = prepared(LOG, roster=roster, until=2)
    assert listed(found.lots) == [(0, 0, 2.0, 2), (0, 1, 5.0, 1)]
    assert len(found.history.slots) == 1


def test_supply_knows_amounts_presence_requests_and_entitlements():
    roster = pd.DataFrame({"who": ["A", "B", "C"], "from": [1, 1, 3], "until": [2, 3, 3]})
    requests = pd.DataFrame({"day": [1, 1, 2], "who": ["A", "B", "A"], "wants": [4, 9, 4]})
    supply = Supply.of(prepared(LOG, roster=roster, requests=requests, asked="wants"))
    assert supply.names == ("A", "B", "C")
    assert supply.amounts().tolist() == [9.0, 4.0, 2.0]
    assert supply.present().tolist() == [
        [True, True, False],
        [True, True, False],
        [False, True, True],
    ]
    assert supply.asked().by(supply.moments).tolist() == [[4, 9, 0], [8, 9, 0], [8, 9, 0]]
    assert supply.entitled().tolist() == [1, 1, 1]


def test_supply_of_a_log_whose_rows_were_not_kept_has_a_lot_for_each_cell():
    supply = Supply.of(prepared(LOG, lots=False, entitlement={"A": 2, "B": 3, "C": 5}))
    assert listed(supply.lots) == [(0, 0, 4.0, 1), (0, 1, 5.0, 1), (1, 0, 4.0, 1), (2, 1, 2.0, 1)]
    assert supply.asked() is None
    assert supply.present().all()
    assert supply.entitled().tolist() == [2, 3, 5]


def test_supply_of_entitlements_that_change_reads_them_over_time():
    log = LOG.assign(size=[6, 3, 2, 2, 3, 3, 5])
    supply = Supply.of(prepared(log, entitlement="size", exclude=["C"]))
    assert supply.entitled().by(supply.moments).tolist() == [[2, 3], [6, 3], [6, 3]]


def test_a_name_that_ends_with_a_nul_is_a_name_of_its_own():
    log = pd.DataFrame({"day": [1, 2, 3], "who": ["B", "B\0", "\0"], "got": [1.0, 2.0, 3.0]})
    found = prepared(log)
    assert found.history.names == ("\0", "B", "B\0")
    assert found.lots.who.tolist() == [1, 2, 0]
