"""Tests of decide.hindsight.division."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evenhand import Mean, TimepointFirst, Worst, best_there_was, errors
from evenhand.decide.hindsight.best_division import best_in_lots
from evenhand.decide.hindsight.division import Division, WholeLots, merge_alike
from evenhand.decide.hindsight.linear import LinearModel, linear_welfare
from evenhand.decide.hindsight.priced import solve_priced
from evenhand.fairness.welfare import GiniWelfare, LogNash, NegativeVariance, Rawls
from evenhand.log.history import Lots
from small_logs import FILTERS, WELFARES, division_of, small_log, with_unequal_rows

# What is held fixed: supply, those who could take it, and requests.


def division(supply, eligible, asked=None):
    eligible = np.array(eligible, dtype=bool)
    size = eligible.shape[1]
    return Division(
        names=tuple("ABC"[:size]),
        supply=np.array(supply, dtype=float),
        eligible=eligible,
        asked=None if asked is None else np.array(asked, dtype=float),
        after=np.array([len(supply)]),
        slope=np.ones((1, size)),
        start=np.zeros((1, size)),
        weight=np.ones((1, size)),
    )


def test_supply_that_nobody_could_take_is_refused_with_the_moment():
    with pytest.raises(errors.BadLog, match="at 1 3 was given out and nobody could have taken it"):
        division([1, 3], [[True, True], [False, False]])
    division([1, 0], [[True, True], [False, False]])


def test_what_breaks_what_is_held_fixed_is_measured():
    held = division([4, 4], [[True, False], [True, True]], asked=[[4, 0], [5, 4]])
    assert held.misses(np.array([[4.0, 0.0], [1.0, 3.0]])) == 0.0
    assert held.misses(np.array([[4.0, 0.0], [2.0, 2.0]])) == pytest.approx(1 / 8)  # A asked for 5
    assert held.misses(np.array([[3.0, 1.0], [1.0, 3.0]])) == pytest.approx(1 / 8)  # B not there
    assert held.misses(np.array([[4.0, 0.0], [0.0, 3.0]])) == pytest.approx(1 / 8)  # 1 is left


def test_what_is_beyond_a_request_goes_to_those_who_asked_for_more():
    held = division([4, 4], [[True, True], [True, True]], asked=[[2, 4], [5, 4]])
    found = held.within_requests(np.array([[3.0, 1.0], [2.0, 2.0]]))
    assert found.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert held.misses(found) == 0.0


def test_what_would_take_too_long_is_refused_at_once():
    held = division([4, 4], [[True, True], [True, True]])
    held.require_work(8, 8)
    with pytest.raises(errors.BadParameter, match="2 kinds of stakeholders at 2 points"):
        held.require_work(9, 8)


# Stakeholders who are alike taken as one: fewer columns, and the same best.


def crowd(weighted=True):
    """Twelve of four sizes; half of them come at the third of four points."""
    size = np.array([1.0, 2.0, 3.0, 5.0] * 3)
    late = np.arange(12) >= 6
    eligible = np.arange(4)[:, None] >= 2 * late
    weight = eligible * (size if weighted else 1.0)
    weight = weight * (eligible.sum(axis=1) / weight.sum(axis=1))[:, None]
    return Division(
        names=tuple("ABCDEFGHIJKL"),
        supply=np.array([3.0, 7.0, 11.0, 2.0]),
        eligible=eligible,
        asked=None,
        after=np.arange(1, 5),
        slope=np.tile(1 / size, (4, 1)),
        start=np.zeros((4, 12)),
        weight=weight,
    )


def best_apart(division, welfare):
    """By one linear program with a column for everybody."""
    model = LinearModel(division)
    part = linear_welfare(model, welfare)
    model.maximise(part.values, 0.25)
    return model.solve().bound


def test_those_who_differ_in_size_alone_are_one_kind():
    merged = merge_alike(crowd())
    assert len(merged.division.names) == 2
    np.testing.assert_allclose(merged.share.sum(), 2.0)
    np.testing.assert_allclose(merged.division.weight.sum(axis=1), [6, 6, 12, 12])
    spread = merged.spread(merged.division.even())
    np.testing.assert_allclose(spread.sum(axis=1), crowd().supply)


def test_unweighted_sizes_are_kinds_of_their_own():
    assert len(merge_alike(crowd(weighted=False)).division.names) == 8
    assert len(merge_alike(crowd(weighted=False), sizes_matter=False).division.names) == 2


def test_requests_that_are_not_in_proportion_keep_apart():
    division = crowd()
    asked = np.tile(10.0 / division.slope[0], (4, 1))
    assert len(merge_alike(replace(division, asked=asked)).division.names) == 2
    asked[:, 0] += 1.0
    assert len(merge_alike(replace(division, asked=asked)).division.names) == 3


@pytest.mark.parametrize("welfare", [Rawls(), GiniWelfare()], ids=repr)
@pytest.mark.parametrize("weighted", [True, False])
def test_the_best_of_kinds_is_the_best_of_all(welfare, weighted):
    division = crowd(weighted)
    kinds = merge_alike(division, sizes_matter=not isinstance(welfare, Rawls)).division
    assert best_apart(kinds, welfare) == pytest.approx(best_apart(division, welfare), rel=1e-7)


@pytest.mark.parametrize("welfare", [LogNash(), Rawls(), NegativeVariance()], ids=repr)
def test_what_is_found_for_kinds_is_worth_as_much_when_spread(welfare):
    division = crowd()
    found = solve_priced(division, welfare, np.full(4, 0.25))
    score = division.score(found.allocation, TimepointFirst(welfare, Mean()))
    assert division.misses(found.allocation) < 1e-12
    assert score <= found.bound + 1e-12
    assert score == pytest.approx(found.bound, rel=1e-6, abs=1e-9)


# Rows that are not divided: the best of all allocations, tried one by one.


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
