"""Drawing in proportion to odds: the table is exact, and the frequencies are near."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.chance.sampling import _alias_table, draw_one_each, draw_places


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_an_alias_table_gives_every_place_its_share(odds):
    odds = np.array(odds)
    keep, other = _alias_table(odds)
    share = keep / len(odds)
    np.add.at(share, other, (1 - keep) / len(odds))
    assert share == pytest.approx(odds / odds.sum(), rel=1e-9)
    assert (keep >= -1e-12).all()


@pytest.mark.parametrize("odds", [[1.0, 1.0, 1.0], [1.0, 0.0, 3.0], [5.0, 1.0, 2.0]])
def test_frequencies_are_those_of_the_odds(odds):
    odds, draws = np.array(odds), 20_000
    expected = odds / odds.sum()
    within = 5 * np.sqrt(expected * (1 - expected) / draws) + 1e-12
    many = np.bincount(draw_places(odds, (draws,), np.random.default_rng(1)), minlength=3)
    assert (np.abs(many / draws - expected) <= within).all()
    rows = np.tile(odds, (draws, 1))
    one_each, anybody = draw_one_each(rows, np.random.default_rng(2))
    assert anybody.all()
    assert (np.abs(np.bincount(one_each, minlength=3) / draws - expected) <= within).all()


def test_rows_without_odds_are_told_apart():
    _, anybody = draw_one_each(np.array([[0.0, 0.0], [0.0, 1.0]]), np.random.default_rng(0))
    assert anybody.tolist() == [False, True]
