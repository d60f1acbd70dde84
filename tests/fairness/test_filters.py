"""What filters say of when they assess, compared with when they do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from built_ins import FILTER
from evenhand import AfterEach, Always, Every, Final, Trace, When
from evenhand.errors import BadParameter, CannotStream
from evenhand.fairness.filters import Marked, WhenPrefix


@pytest.mark.parametrize(
    "filter_", [Always(), Every(1), Every(3), Final(), AfterEach(2), When(lambda step: True)]
)
def test_what_a_filter_says_of_itself_is_so(filter_):
    steps = Trace(rewards=np.eye(2)[[0, 1, 0, 1, 1]])
    for length in range(1, 6):
        _, fires = filter_.scan(filter_.init(), steps.prefix(length))
        if filter_.always:
            assert fires.all()
        if not filter_.may_fire_within(length):
            assert not fires.any()
            assert not filter_.assesses_end


def test_only_what_is_certain_is_said():
    assert Always().always
    assert not Final().always
    assert Final().assesses_end
    assert not Always().assesses_end
    assert WhenPrefix(len).keeps_history
    assert not Every(1).keeps_history
    assert AfterEach(1).steps_for(3) is None
    assert Every(1).always
    assert not Every(2).always
    assert not When(lambda step: True).always
    assert Every(3).may_fire_within(3)
    assert not Every(3).may_fire_within(2)
    assert AfterEach(2).may_fire_within(1)  # one step may bring any amount


@pytest.mark.parametrize("filter_", [Always(), Every(1), Every(3), Final()], ids=repr)
def test_how_many_of_the_first_steps_are_assessed(filter_):
    horizon = 7
    _, fires = filter_.scan(filter_.init(), Trace(rewards=np.zeros((horizon, 1))))
    fires[-1] |= filter_.assesses_end
    steps = np.arange(horizon + 1)
    expected = [0, *np.cumsum(fires).tolist()]
    assert filter_.assessments_within(steps, horizon).tolist() == expected
    assert filter_.assessments_within(horizon, horizon) == expected[-1]


def test_marks_are_looked_at_step_by_step_and_at_once():
    marked = Marked("at the end of every month")
    trace = Trace(rewards=np.zeros((3, 2)), marks=np.array([True, False, True]))
    assert marked.scan((), trace)[1].tolist() == [True, False, True]
    assert [bool(marked.update((), step)[1]) for step in trace.steps()] == [True, False, True]
    assert marked.describe() == "at the end of every month"


def test_a_filter_of_ones_own_may_look_at_who_received_and_assess_any_number():
    own = When(lambda step: step.rewards[0] > 0)
    assert not own.ignores_who
    assert own.assessments_within(5, 5) is None
    assert AfterEach(2.0).assessments_within(5, 5) is None


amounts = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.1, 0.5, 1.0, 7.0]), max_size=12)


@given(st.sampled_from([*FILTER, AfterEach(0.3)]), amounts, amounts, st.data())
def test_scan_is_update_repeated_from_any_state(filter_, before, after, data):
    """Corrections (amounts below 0) among them; the last step sees the state that was left."""
    past = Trace(rewards=np.reshape(before, (-1, 1)))
    steps = Trace(rewards=np.reshape([*after, 1.0], (-1, 1)))
    state, _ = filter_.scan(filter_.init(), past)
    expected, by_step = [], filter_.init()
    for step in past.steps():
        by_step, _ = filter_.update(by_step, step)
    for step in steps.steps():
        by_step, fired = filter_.update(by_step, step)
        expected.append(bool(fired))
    cut = data.draw(st.integers(0, len(steps)))
    state, first = filter_.scan(state, steps.block(0, cut))
    state, second = filter_.scan(state, steps.block(cut, len(steps)))
    assert [*first.tolist(), *second.tolist()] == expected


@pytest.mark.parametrize("cut", range(7))
def test_what_a_correction_took_must_be_distributed_again(cut):
    """2 amounts of 5 are complete at 11; after −4 there are 7, and 15 is the third."""
    filter_, trace = AfterEach(5), Trace(rewards=[[5], [6], [-4], [4], [3.9], [0.1]])
    state, first = filter_.scan(filter_.init(), trace.block(0, cut))
    state, second = filter_.scan(state, trace.block(cut, 6))
    assert [*first.tolist(), *second.tolist()] == [True, True, False, False, False, True]
    assert state == (15.0, 3.0)


def test_tenths_add_up():
    filter_ = AfterEach(1.0)
    _, fires = filter_.scan(filter_.init(), Trace(rewards=np.full((20, 1), 0.1)))
    assert np.flatnonzero(fires).tolist() == [9, 19]


@given(st.sampled_from([Always(), Every(1), Every(3)]), st.integers(1, 5))
def test_so_many_steps_bring_so_many_assessments(filter_, assessments):
    steps = filter_.steps_for(assessments)
    _, fires = filter_.scan(filter_.init(), Trace(rewards=np.zeros((steps, 1))))
    assert fires.sum() == assessments
    assert fires[-1]


@pytest.mark.parametrize("period", [0, -1, 1.5, True])
def test_a_period_is_a_whole_number_from_1(period):
    with pytest.raises(BadParameter, match="period is"):
        Every(period)


@pytest.mark.parametrize("amount", [0, -1, float("inf"), float("nan")])
def test_an_amount_is_positive(amount):
    with pytest.raises(BadParameter, match="amount is"):
        AfterEach(amount)


def test_a_predicate_of_the_history_sees_every_prefix():
    filter_ = WhenPrefix(lambda trace: len(trace) in (1, 3))
    trace = Trace(rewards=np.zeros((4, 1)))
    _, fires = filter_.scan(filter_.init(), trace)
    assert fires.tolist() == [True, False, True, False]
    with pytest.raises(CannotStream, match="needs the whole history"):
        filter_.update((), next(trace.steps()))
