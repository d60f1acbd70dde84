"""Rows that are not divided: the best of all allocations, tried one by one."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from evenhand import Mean, Rawls, TimepointFirst, Worst, best_there_was, errors
from evenhand.decide.hindsight.best_division import best_in_lots
from evenhand.decide.hindsight.whole_lots import WholeLots
from evenhand.fairness.welfare import LogNash
from evenhand.log.history import Lots
from small_logs import FILTERS, WELFARES, division_of, small_log, with_unequal_rows


def check(log, welfare, temporal):
    division, lots = division_of(log)
    aggregation = TimepointFirst(welfare, temporal)
    found = best_in_lots(division, aggregation, lots)
    expected = log.best_by_trying(welfare, temporal)
    scale = max(1.0, abs(expected))
    assert division.score(found.allocation, aggregation) == pytest.approx(
        expected, abs=1e-7 * scale
    )
    assert expected - 1e-7 * scale <= found.bound <= expected + 1e-5 * scale
    assert division.misses(found.allocation) < 1e-9


@pytest.mark.parametrize("welfare", WELFARES, ids=repr)
def test_the_best_of_all_allocations(welfare):
    for seed, when in enumerate(FILTERS[:2]):
        log = small_log(seed, not seed, bool(seed), False, when)
        check(with_unequal_rows(log, seed) if seed else log, welfare, Mean())


def test_the_best_worst_time():
    check(small_log(5, True, True, False, {}), LogNash(), Worst())


def test_requests_are_kept():
    check(small_log(2, False, False, True, {}), Rawls(), Mean())


def test_newcomers_at_zero_as_in_the_rules(run, tmp_path):
    """Lots of one, one a step; B is there from step 3 on: the best gives A, A, B, B."""
    log, roster = tmp_path / "log.csv", tmp_path / "roster.csv"
    log.write_text("step,to\n1,A\n2,A\n3,A\n4,A\n")
    roster.write_text("name,from\nA,1\nB,3\n")
    options = ("--stakeholder", "to", "--time", "step", "--roster", str(roster))
    code, out, err = run(str(log), *options, "--newcomers", "zero", "--best", "--lots", "--json")
    assert code == 0, err
    best = json.loads(out)["best"]
    expected = (2 * math.log(2) + 4 * math.log(3)) / 4
    assert best["score"] == pytest.approx(expected, abs=1e-12)
    assert round(best["score"], 6) == 1.445186
    assert best["bound"] == pytest.approx(expected, abs=1e-6)
    assert best["lots"] is True


def test_a_row_that_takes_back_is_no_lot():
    log = pd.DataFrame({"t": [1, 1, 2], "to": ["A", "B", "B"], "n": [5, -2, 4]})
    with pytest.raises(errors.BadLog, match="a row takes back 2"):
        best_there_was(log, lots=True, stakeholder="to", time="t", amount="n", welfare="rawls")


def test_lots_are_counted_by_size_and_given_in_order():
    slot, who, copies = np.array([1, 0, 0]), np.array([0, 1, 0]), np.array([1, 2, 1])
    lots = WholeLots.of(
        Lots(slot, who, np.array([4.0, 1.0, 3.0]), copies), np.array([0, 1]), np.array([0, 1])
    )
    assert lots.size.tolist() == [3.0, 1.0, 1.0, 4.0]
    assert lots.who.tolist() == [0, 1, 1, 0]
    assert not lots.are_equal
    assert [part.tolist() for part in lots.batches()] == [[0, 0, 1], [1.0, 3.0, 4.0], [2, 1, 1]]
    assert lots.allocation(lots.who, (2, 2)).tolist() == [[3.0, 2.0], [4.0, 0.0]]
