"""Tests of fairness.trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenhand import (
    Average,
    BalancedUnfairness,
    Discounted,
    Every,
    FairnessScheme,
    GeneralisedGini,
    GiniWelfare,
    Last,
    LogNash,
    Mean,
    OverTime,
    Parity,
    PerEntitlement,
    Rawls,
    Step,
    Stream,
    TimepointFirst,
    Total,
    Trace,
    Utilitarian,
    Worst,
    anytime,
    long_term,
)
from evenhand import errors as e
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness import Circumstances, MatrixFunction, Override
from evenhand.fairness.trace import NONE, Standing, Tolerance
from evenhand.fairness.unfairness import unfairness


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


# Who is there: schemes judge stakeholders who come and go while they are there, and only then.

amounts = st.floats(0, 100).map(lambda x: round(x, 2))


@st.composite
def histories(draw):
    steps, n = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    rewards = draw(hnp.arrays(np.float64, (steps, n), elements=amounts))
    present = draw(hnp.arrays(bool, (steps, n)))
    present[:, 0] |= ~present.any(axis=1)
    return rewards, present


@given(histories())
def test_the_score_is_that_of_the_welfare_of_those_there(history):
    rewards, present = history
    statuses = rewards.cumsum(axis=0)
    for welfare in (LogNash(), Rawls(), GiniWelfare(), Parity()):
        stream = Stream(anytime(welfare, Mean()), rewards.shape[1])
        stream.extend(Trace(rewards=rewards), present)
        each = [float(welfare(u[here])) for u, here in zip(statuses, present, strict=True)]
        assert stream.score == pytest.approx(sum(each) / len(each), abs=1e-9)


@given(histories())
def test_balanced_unfairness_adds_up_what_happened_while_there(history):
    rewards, present = history
    stream = Stream(FairnessScheme(aggregation=BalancedUnfairness()), rewards.shape[1])
    stream.extend(Trace(rewards=rewards), present)
    overall = np.zeros(rewards.shape[1])
    for u, here in zip(rewards.cumsum(axis=0), present, strict=True):
        overall[here] += u[here] - u[here].mean()
    assert stream.score == pytest.approx(-(overall**2).sum(), rel=1e-9, abs=1e-6)


def test_everybody_there_is_as_if_nobody_had_asked():
    rewards = np.arange(12.0).reshape(4, 3)
    stream = Stream(anytime(), 3)
    stream.extend(Trace(rewards=rewards), np.ones((4, 3), dtype=bool))
    assert stream.score == anytime().score(Trace(rewards=rewards))


def test_stretches_are_the_longest_runs():
    present = np.array([[1, 1], [1, 1], [0, 1], [1, 1]], dtype=bool)
    found = [(rows.start, rows.stop, mask.tolist()) for rows, mask in Standing(present).stretches()]
    assert found == [(0, 2, [True, True]), (2, 3, [False, True]), (3, 4, [True, True])]
    assert list(Standing(np.zeros((0, 2), dtype=bool)).stretches()) == []


def test_those_not_there_get_the_value_given():
    there = Standing(np.array([[True, True, False]]))
    apart = there.judge(unfairness, np.array([[1.0, 3.0, 99.0]]), np.nan)
    assert apart[0, :2].tolist() == [-1.0, 1.0]
    assert np.isnan(apart[0, 2])


def test_whoever_has_no_weight_is_not_there():
    weights = np.array([[1.0, 0.0, 0.5], [2.0, 2.0, 2.0]])
    assert Standing.of(None, weights).present.tolist() == [[True, False, True], [True] * 3]
    present = np.array([[True, True, False], [True, True, True]])
    both = Standing.of(present, weights)
    assert both.present.tolist() == [[True, False, False], [True] * 3]
    assert Standing.of(None, weights[1:]).present is None  # all are there
    assert Standing.of(present[1:], weights[1:]).present is None
    assert both.anybody
    assert not Standing.of(None, np.zeros((1, 2))).anybody


def test_weights_have_a_mean_of_1_among_those_there_and_equal_ones_are_none():
    def seen(statuses, weights):
        return np.zeros(statuses.shape) if weights is None else weights

    unequal = Standing.of(None, np.array([[1.0, 0.0, 3.0]]))
    assert unequal.judge(seen, np.ones((1, 3)), np.nan)[0, [0, 2]].tolist() == [0.5, 1.5]
    equal = Standing.of(None, np.array([[0.1, 0.1, 0.1], [0.3, 0.3, 0.3]]))
    assert not equal.judge(seen, np.ones((2, 3)), np.nan).any()
    alike = Standing.of(np.array([[True, False, True]]), np.array([[0.1, 0.7, 0.1]]))
    assert not alike.judge(seen, np.ones((1, 3)), 0.0).any()


def test_those_who_come_and_go_are_judged_by_weight_while_they_are_there():
    """Of weights 1, 3 and 8: A and B alone first, (4·1 + 0·3)/4 = 1; then (4 + 0 + 8)/12 = 1."""
    stream = Stream(anytime(Average(), Total(), PerEntitlement((1, 3, 8))), 3)
    present = np.array([[True, True, False], [True, True, True]])
    stream.extend(Trace(rewards=[[4, 0, 8], [0, 0, 0]]), present)
    assert stream.score == 2.0


def test_where_nobody_is_there_nothing_is_assessed():
    """Statuses (1, 2), (1, 4), (6, 4); at time 2 nobody is there, at time 3 the second one."""
    present = np.array([[True, True], [False, False], [False, True]])
    stream = Stream(anytime(Rawls(), Total()), 2)
    (block,) = stream.blocks(Trace(rewards=[[1, 2], [0, 2], [5, 0]]), present)
    assert block.due.tolist() == [True] * 3
    assert block.assessed.tolist() == [True, False, True]
    assert (stream.assessments, stream.score) == (2, 1.0 + 4.0)


def test_where_nobody_is_there_at_the_end_the_end_is_over():
    """Else the score would be that of an end with everybody there."""
    stream = Stream(long_term(), 2)
    stream.extend(Trace(rewards=[[1, 2]]), np.ones((1, 2), dtype=bool))
    assert stream.end(np.zeros(2, dtype=bool)) is None
    assert stream.assessments == 0
    with pytest.raises(e.NothingAssessed):
        _ = stream.score


def test_who_counts_by_presence_or_by_weight():
    nobody, first = np.zeros((1, 2), dtype=bool), np.array([[True, False]])
    assert not Standing.of(nobody, None).anybody
    assert Standing.of(first, None).anybody
    assert not Standing(first, np.array([[0.0, 1.0]])).anybody  # of two, neither has both


def test_what_cannot_be_judged_is_refused():
    trace = Trace(rewards=[[1.0, 2.0]])
    one = np.array([[True, False]])
    with pytest.raises(e.WeightsDoNotFit):
        Stream(anytime(GeneralisedGini((2.0, 1.0))), 2).extend(trace, one)
    with pytest.raises(e.PresenceRefused, match="come and go"):
        Stream(FairnessScheme(aggregation=MatrixFunction(np.sum)), 2).extend(trace, one)


TEMPORALS = (Last(), Total(), Mean(), Worst(), Discounted(0.9), OverTime(LogNash()))


@given(histories(), st.sampled_from(TEMPORALS), st.integers(1, 3))
def test_the_running_score_is_the_score_of_each_prefix(history, temporal, period):
    rewards, _ = history
    for aggregation in (TimepointFirst(Utilitarian(), temporal), BalancedUnfairness()):
        scheme = FairnessScheme(aggregation=aggregation, filter=Every(period))
        stream = Stream(scheme, rewards.shape[1])
        running = [
            s for block in stream.blocks(Trace(rewards=rewards)) for s in stream.running(block)
        ]
        times = range(period, len(rewards) + 1, period)
        scores = [scheme.score(Trace(rewards=rewards[:t])) for t in times]
        assert running == pytest.approx(scores, rel=1e-9, abs=1e-9)


@given(histories(), st.data())
def test_a_stream_goes_on_from_a_snapshot(history, data):
    rewards, _ = history
    cut = data.draw(st.integers(0, len(rewards)))
    first, second = Stream(anytime(), rewards.shape[1]), Stream(anytime(), rewards.shape[1])
    first.extend(Trace(rewards=rewards[:cut]))
    second.resume(first.snapshot())
    second.extend(Trace(rewards=rewards[cut:]))
    assert second.score == pytest.approx(anytime().score(Trace(rewards=rewards)))


def test_the_end_is_assessed_once():
    stream = Stream(long_term(Rawls()), 2)
    stream.extend(Trace(rewards=[[1.0, 2.0], [3.0, 1.0]]))
    block = stream.end()
    assert block.statuses.tolist() == [[4.0, 3.0]]
    assert stream.score == 3.0
    assert stream.end() is None
    assert Stream(anytime(), 2).end() is None


# A distance from the mean that is let pass.


@pytest.mark.parametrize(
    ("given", "let_pass", "words"),
    [
        (3, [3.0, 3.0, 3.0], "3"),
        ("0.5", [0.5, 0.5, 0.5], "0.5"),
        ("5%", [10.0, 5.0, 0.0], "5%"),
        (" 150% ", [300.0, 150.0, 0.0], "150%"),
        (0, [0.0, 0.0, 0.0], "0"),
    ],
)
def test_an_amount_or_a_share_of_the_mean_whatever_its_sign(given, let_pass, words):
    found = Tolerance.read(given, "tolerance")
    assert found.around(np.array([200.0, -100.0, 0.0])).tolist() == pytest.approx(let_pass)
    assert str(found) == words


def test_without_one_nothing_is_let_pass():
    assert NONE.around(np.array([200.0])).tolist() == [0.0]


@pytest.mark.parametrize("given", [-1, "-5%", "nan", "inf%", "much", "5%%", ""])
def test_what_is_no_distance_is_refused(given):
    with pytest.raises(BadParameter, match="an amount of at least 0, or a share of the mean"):
        Tolerance.read(given, "tolerance")


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
