from __future__ import annotations

import numpy as np
import pytest

from evenhand import Trace
from evenhand.errors import UnequalLengths
from evenhand.fairness import Circumstances


def test_circumstances_are_cut_and_looked_up_step_by_step():
    known = Circumstances(asked=np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    trace = Trace(rewards=np.zeros((3, 2)), circumstances=known)
    assert trace.block(1, 3).circumstances.asked.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    seen = [step.circumstances.asked.tolist() for step in trace.steps()]
    assert seen == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert trace.circumstances.level is None
    again = Trace.from_steps(trace.steps()).circumstances
    assert again.asked.tolist() == known.asked.tolist()
    assert again.level is None


def test_what_is_known_for_longer_than_the_trace_does_not_fit():
    known = Circumstances(asked=np.zeros((2, 2)), level=np.zeros((3, 2)))
    with pytest.raises(UnequalLengths, match="circumstances has 3 entries, expected 2"):
        Trace(rewards=np.zeros((2, 2)), circumstances=known)
