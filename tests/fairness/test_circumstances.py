from __future__ import annotations

import numpy as np
import pytest

from evenhand import Trace
from evenhand.errors import UnequalLengths
from evenhand.fairness import Circumstances


def test_circumstances_are_cut_and_looked_up_as_states_are():
    known = Circumstances(asked=np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    trace = Trace(rewards=np.zeros((2, 2)), states=known)
    assert trace.block(1, 2).states.asked.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert [step.next_state.asked.tolist() for step in trace.steps()] == [[2.0, 3.0], [4.0, 5.0]]
    assert trace.states.level is None


def test_what_is_known_for_longer_than_the_trace_does_not_fit():
    known = Circumstances(asked=np.zeros((3, 2)), level=np.zeros((4, 2)))
    with pytest.raises(UnequalLengths, match="states has 4 entries, expected 3"):
        Trace(rewards=np.zeros((2, 2)), states=known)
