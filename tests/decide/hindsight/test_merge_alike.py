"""Stakeholders who are alike taken as one: fewer columns, and the same best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand import Mean, TimepointFirst
from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.linear_model import LinearModel
from evenhand.decide.hindsight.linear_welfares import linear_welfare
from evenhand.decide.hindsight.merge_alike import merge_alike
from evenhand.decide.hindsight.priced import solve_priced
from evenhand.fairness.welfare import GiniWelfare, LogNash, NegativeVariance, Rawls


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
