from __future__ import annotations

import numpy as np
import pytest

from evenhand import Step, Trace, anytime
from evenhand.errors import UnequalLengths
from evenhand.fairness import Override


def test_prefixes_are_counted_from_1():
    trace = Trace(rewards=[[1, 0], [0, 1], [1, 1]], states="wxyz", actions=[7, 8, 9])
    assert len(trace.prefix(0)) == 0
    second = trace.prefix(2)
    assert second.rewards.tolist() == [[1, 0], [0, 1]]
    assert (second.states, second.actions) == ("wxy", [7, 8])


def test_a_block_is_a_part_of_everything_that_is_known():
    trace = Trace(
        rewards=[[1, 0], [0, 1], [1, 1], [2, 0]],
        states="vwxyz",
        actions="abcd",
        overrides=[None, -4.0, 2.0, None],
        feedback=[0.5, 0.25, 0.125, 1.0],
        marks=np.array([False, True, False, True]),
        stakeholders=["A", "B"],
        times=[10, 20, 30, 40],
    )
    block = trace.block(1, 3)
    assert block.rewards.tolist() == [[0, 1], [1, 1]]
    assert (block.states, block.actions, block.times) == ("wxy", "bc", [20, 30])
    assert block.feedback.tolist() == [0.25, 0.125]
    assert block.marks.tolist() == [True, False]
    assert block.overrides.applies.tolist() == [True, True]
    assert block.overrides.value.tolist() == [-4.0, 2.0]
    assert block.stakeholders == trace.stakeholders == ("A", "B")


def test_stakeholders_without_names_are_numbered():
    assert Trace(rewards=[[1, 0, 2]]).stakeholders == ("0", "1", "2")


def test_discounted_returns_by_hand():
    trace = Trace(rewards=[[1, 2], [3, 0], [5, 4]])
    # 1 + 3/2 + 5/4 and 2 + 0 + 4/4
    assert trace.returns(0.5).tolist() == [3.75, 3.0]
    assert trace.returns().tolist() == [9.0, 6.0]


def test_the_empty_trace_and_the_one_step_trace_work():
    empty = Trace(rewards=np.zeros((0, 3)))
    assert len(empty) == 0
    assert empty.returns().tolist() == [0, 0, 0]
    assert anytime().stream(3).steps == 0
    one = Trace(rewards=[[0, 0, 0]])
    assert anytime().score(one) == 0.0
    assert Trace.from_steps([], num_stakeholders=2).num_stakeholders == 2


def test_events_at_one_time_are_one_time_point_in_any_order():
    events = [("2021-02", "B", 3), ("2021-01", "A", 1), ("2021-02", "A"), ("2021-02", "B", -1)]
    trace = Trace.from_events(events, stakeholders=["A", "B", "C"])
    assert trace.times == ["2021-01", "2021-02"]
    assert trace.rewards.tolist() == [[1, 0, 0], [1, 2, 0]]
    assert trace.stakeholders == ("A", "B", "C")


def test_no_steps_of_nobody_are_refused():
    with pytest.raises(UnequalLengths, match="no stakeholders"):
        Trace.from_steps([], num_stakeholders=0)
    with pytest.raises(UnequalLengths, match="needs num_stakeholders"):
        Trace.from_steps([])


def test_times_are_not_printed_with_a_trace():
    """There may be a million of them."""
    assert "times" not in repr(Trace(rewards=[[1]], times=[7]))


def test_steps_and_back_again():
    trace = Trace(
        rewards=[[1, 0], [0, 1]],
        states=[0, 1, 2],
        actions=["l", "r"],
        overrides=[None, -4.0],
        feedback=[0.5, 0.25],
        marks=np.array([True, False]),
    )
    again = Trace.from_steps(trace.steps(), initial_state=0)
    assert again.rewards.tolist() == trace.rewards.tolist()
    assert list(again.states) == [0, 1, 2]
    assert list(again.actions) == ["l", "r"]
    assert again.overrides.applies.tolist() == [False, True]
    assert again.overrides.value.tolist() == [0.0, -4.0]
    assert again.feedback.tolist() == [0.5, 0.25]
    assert again.marks.tolist() == [True, False]
    assert Trace.from_steps([Step(0, [1.0])]).marks is None


def test_a_rollout_may_have_an_override_at_every_step():
    steps = [Step(0, [1.0], override=Override(np.True_, value)) for value in (2.0, 3.0)]
    found = Trace.from_steps(steps).overrides
    assert (found.applies.tolist(), found.value.tolist()) == ([True, True], [2.0, 3.0])


def test_overrides_may_be_given_by_time():
    by_time = Trace(rewards=[[1], [1], [1]], overrides={2: 5.0}).overrides
    as_list = Trace(rewards=[[1], [1], [1]], overrides=[None, 5.0, None]).overrides
    assert by_time.applies.tolist() == as_list.applies.tolist() == [False, True, False]
    assert Trace(rewards=[[1]], overrides=[None]).overrides is None


def test_feedback_must_be_complete():
    steps = [Step(0, [1.0], feedback=1.0), Step(0, [1.0])]
    with pytest.raises(ValueError, match="step 2 has no feedback"):
        Trace.from_steps(steps)


def test_an_override_that_does_not_apply_is_none():
    steps = [Step(0, [1.0], override=Override(np.False_, 9.0))]
    assert Trace.from_steps(steps).overrides is None


def test_states_are_kept_where_any_is_known():
    steps = [Step(0, [1.0], next_state="x"), Step(0, [1.0])]
    assert Trace.from_steps(steps).states == [None, "x", None]
    assert Trace.from_steps([Step(0, [1.0])]).states is None
