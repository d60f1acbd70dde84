"""Sharing an amount: against conditions that only the right shares meet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.rules.dividing import EvenOut, Proportional, raised
from evenhand.decide.rules.rule_state import RuleState

SOME = st.lists(
    st.tuples(st.floats(0, 10), st.floats(0.1, 5), st.floats(0, 8) | st.just(float("inf"))),
    min_size=1,
    max_size=6,
)


@given(SOME, st.floats(0.01, 40))
def test_whoever_gets_something_is_level_and_nobody_else_is_below(some, amount):
    """The conditions of Karush, Kuhn and Tucker for the most even levels."""
    levels, entitled, room = map(np.array, zip(*some, strict=True))
    given_out = raised(amount, levels, entitled, room)
    assert given_out.sum() == pytest.approx(min(amount, room.sum()))
    assert (given_out >= 0).all()
    assert (given_out <= room).all()
    after = levels + given_out / entitled
    wants_more = given_out < room * (1 - 1e-9)
    if wants_more.any():
        lowest = after[wants_more].min()
        assert (after[given_out > 1e-9] <= lowest + 1e-6).all()


def test_in_proportion_whatever_was_before():
    state = RuleState(Proportional())
    for entitlement in (1.0, 3.0):
        state.add(entitlement)
    state.give(0, 100.0)
    assert state.shares(8.0) == [(0, 2.0), (1, 6.0)]


def test_to_even_out_whoever_is_behind_comes_first():
    state = RuleState(EvenOut())
    for entitlement in (1.0, 3.0):
        state.add(entitlement)
    state.give(0, 2.0)
    assert state.shares(3.0) == [(1, 3.0)]
    assert state.shares(10.0) == [(0, 1.0), (1, 9.0)]


def test_what_is_not_wanted_goes_to_the_others():
    state = RuleState(Proportional(), by_request=True)
    for place, wanted in enumerate((1.0, 9.0)):
        state.add()
        state.ask(place, wanted)
    assert state.shares(6.0) == [(0, 1.0), (1, 5.0)]
    assert state.shares(20.0) == [(0, 1.0), (1, 9.0)]
