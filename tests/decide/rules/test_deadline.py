"""Tests of decide.rules.deadline."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.rules import deadline
from evenhand.decide.rules.deadline import Deadline, keeps_deadline, plan_deadline
from evenhand.decide.rules.state import RuleState
from evenhand.errors import BadParameter

# The promise of the deadline: never passed over more than n − 1 times in a row.


@given(
    size=st.integers(1, 5),
    turns=st.lists(st.sets(st.integers(0, 4)), max_size=60),
    announced=st.booleans(),
)
def test_nobody_waits_more_turns_than_there_are_stakeholders(size, turns, announced):
    """Absences come unannounced: as pauses, or as turns that only some can take."""
    state, passed = RuleState(Deadline(size)), [0] * size
    for _ in range(size):
        state.add()
    for there in turns:
        able = sorted(place for place in there if place < size)
        if announced:
            for place in range(size):
                (state.resume if place in able else state.pause)(place)
            chosen = state.first()
        else:
            chosen = state.first(1.0, able)
        if not able:
            assert chosen is None
            continue
        state.give(chosen, 1.0, None if announced else able)
        for place in able:
            passed[place] = 0 if place == chosen else passed[place] + 1
        assert max(passed) <= size - 1


def test_what_can_be_promised():
    assert "Nobody waits more than 3 turns" in Deadline(3).promise(3)
    assert "what is promised is 4 turns" in Deadline(3).promise(4)


@pytest.mark.parametrize("turns", [0, -1, "soon", 2.5])
def test_a_deadline_is_a_number_of_turns(turns):
    with pytest.raises(BadParameter, match="whole number of turns"):
        Deadline(turns)


# A deadline where eligibility is known ahead: against every way to serve, tried one by one.

ELIGIBLE = st.integers(1, 3).flatmap(
    lambda size: st.lists(
        st.lists(st.booleans(), min_size=size, max_size=size), min_size=1, max_size=7
    )
)


def passed_over(eligible, served, turns):
    """The definition: of `turns` turns in a row that somebody could take, one is its own."""
    for who in range(eligible.shape[1]):
        own = [turn for turn in range(len(eligible)) if eligible[turn, who]]
        for k in range(len(own) - turns + 1):
            if all(served[turn] != who for turn in own[k : k + turns]):
                return True
    return False


@given(ELIGIBLE, st.integers(1, 4))
def test_kept_exactly_when_it_can_be(rows, turns):
    eligible = np.array(rows)
    found = plan_deadline(eligible, turns)
    choices = [[-1, *np.flatnonzero(able)] for able in eligible]
    possible = any(
        not passed_over(eligible, served, turns) for served in itertools.product(*choices)
    )
    assert found.possible is possible
    if possible:
        assert not passed_over(eligible, found.served, turns)
        for able, one in zip(eligible, found.served, strict=True):
            assert able[one] if able.any() else one == -1


@given(ELIGIBLE, st.data())
def test_what_counts_as_kept(rows, data):
    eligible, turns = np.array(rows), data.draw(st.integers(1, 4))
    served = [data.draw(st.sampled_from([-1, *np.flatnonzero(able)])) for able in eligible]
    assert keeps_deadline(eligible, served, turns) is not passed_over(eligible, served, turns)


def test_looking_ahead_does_what_serving_whoever_is_due_does_not():
    """C comes back to the third turn, for which A is due by then, unless it was served second."""
    eligible = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]], dtype=bool)
    simple = deadline._most_passed_over_first(eligible)
    assert passed_over(eligible, simple, 2)
    assert not passed_over(eligible, plan_deadline(eligible, 2).served, 2)


def test_what_takes_too_long_is_not_called_impossible(monkeypatch):
    monkeypatch.setattr(deadline, "MOST_VARIABLES", 0)
    monkeypatch.setattr(deadline, "_too_many", lambda *_: False)
    assert plan_deadline(np.ones((3, 2), dtype=bool), 1).possible is None


@pytest.mark.parametrize("size", [3, 6])
def test_everyone_always_there(size):
    eligible = np.ones((30, size), dtype=bool)
    assert plan_deadline(eligible, size).possible
    assert plan_deadline(eligible, size - 1).possible is False
