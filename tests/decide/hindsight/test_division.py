"""What is held fixed: supply, those who could take it, and requests."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import errors
from evenhand.decide.hindsight.division import Division


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
