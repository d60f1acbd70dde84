"""The promise of the deadline: never passed over more than n − 1 times in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.rules.deadline import Deadline
from evenhand.decide.rules.rule_state import RuleState
from evenhand.errors import BadParameter


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
