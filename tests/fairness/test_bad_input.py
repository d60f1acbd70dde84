"""Bad input is a named error that says what, where and what to do. Nothing else is raised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evenhand import (
    AfterEach,
    AlphaFair,
    BalancedUnfairness,
    Decayed,
    Discounted,
    Equality,
    EvenhandError,
    Every,
    FairnessScheme,
    FeedbackScheme,
    FiniteMDP,
    GeneralisedGini,
    Groups,
    GroupTotals,
    LogNash,
    Nash,
    Parity,
    PerEntitlement,
    Returns,
    TimepointFirst,
    Total,
    Trace,
    TraceFunction,
    WaitingTime,
    When,
    Window,
    anytime,
    bounded,
    long_term,
    over_time,
    periodic,
)
from evenhand import errors as e
from evenhand._util.saved import read_tensors
from evenhand.envs import Doughnuts
from evenhand.fairness import MatrixFunction, Override, WhenPrefix


def refused(error: type[Exception], *words: str):
    """A context that expects this very error, with all the words in its one-line message."""
    pattern = "".join(f"(?=.*{word})" for word in words)
    return pytest.raises(error, match=f"(?s){pattern}")


ONE = Trace(rewards=[[1.0, 2.0]])

CASES = [
    # Unequal lengths
    (lambda: Trace(rewards=[[1, 2], [3]]), e.NotFinite, ["rewards", "equal rows"]),
    (lambda: Trace(rewards=[1, 2]), e.UnequalLengths, ["rewards", "shape"]),
    (lambda: Trace(rewards=np.zeros((3, 0))), e.UnequalLengths, ["no stakeholders"]),
    (lambda: Trace(rewards=[[1, 2]], states=["s"]), e.UnequalLengths, ["states", "1", "2"]),
    (lambda: Trace(rewards=[[1, 2]], actions=[1, 2]), e.UnequalLengths, ["actions"]),
    (lambda: Trace(rewards=[[1, 2]], overrides=[1, None]), e.UnequalLengths, ["overrides"]),
    (lambda: Trace(rewards=[[1, 2]], overrides={2: 1.0}), e.BadParameter, ["time 2", "1 to 1"]),
    (lambda: Trace(rewards=[[1, 2]], overrides={0: 1.0}), e.BadParameter, ["time 0", "1 to 1"]),
    (lambda: Trace(rewards=[[1, 2]], overrides=5), e.UnequalLengths, ["overrides", "a sequence"]),
    (
        lambda: Trace(rewards=[[1]] * 2, overrides=Override(np.array([True]), np.array([1.0]))),
        e.UnequalLengths,
        ["overrides has 1 entries, expected 2"],
    ),
    (
        lambda: Trace(rewards=[[1]], overrides=Override(np.array([True]), np.array([[1.0]]))),
        e.UnequalLengths,
        ["overrides must be plain numbers"],
    ),
    (lambda: Trace(rewards=[[1, 2]], times=[1, 2]), e.UnequalLengths, ["times", "one per step"]),
    (
        lambda: Trace(rewards=[[1, 2, 3]], stakeholders=["A", "B", "B"]),
        e.BadParameter,
        ["two stakeholders are called 'B'"],
    ),
    (lambda: Trace(rewards=[[1, 2]], stakeholders=["A"]), e.UnequalLengths, ["stakeholders"]),
    (lambda: Trace(rewards=[[1, 2]], stakeholders=["A", "A"]), e.BadParameter, ["'A'"]),
    (lambda: Trace(rewards=[[1, 2]], feedback=[]), e.UnequalLengths, ["feedback"]),
    (lambda: anytime().stream(3).push([1, 2]), e.UnequalLengths, ["step 1", "3 stakeholders"]),
    (lambda: anytime().stream(3).extend(ONE), e.UnequalLengths, ["2 stakeholders", "3"]),
    # NaN and infinities
    (lambda: Trace(rewards=[[1, math.nan]]), e.NotFinite, ["rewards", "nan", r"\(0, 1\)"]),
    (lambda: Trace(rewards=[[math.inf, 1]]), e.NotFinite, ["rewards", "inf", r"\(0, 0\)"]),
    (lambda: Trace(rewards=[["x", 1]]), e.NotFinite, ["rewards"]),
    (lambda: Trace(rewards=[[1, 1]], overrides=[math.nan]), e.NotFinite, ["overrides"]),
    (lambda: anytime().stream(1).push([math.nan]), e.NotFinite, ["step 1", "nan"]),
    (lambda: Trace.from_events([(1, "A", math.inf)]), e.NotFinite, ["event 0"]),
    (lambda: Trace.from_events([(math.nan, "A")]), e.BadParameter, ["event 0", "time"]),
    (lambda: Trace.from_events([(1, "A"), ("x", "B")]), e.BadParameter, ["order"]),
    (lambda: Trace.from_events([(1,)]), e.UnequalLengths, ["event 0"]),
    (lambda: Trace.from_events([]), e.UnequalLengths, ["no events"]),
    (lambda: Trace.from_events([(1, "A")], ["B"]), e.BadParameter, ["'A'"]),
    # A status for which the welfare is undefined
    (
        lambda: anytime(LogNash()).score(Trace(rewards=[[1, 1], [1, -2]])),
        e.NegativeStatus,
        ["stakeholder 1", "time 2", "-1", "LogNash", "Rawls"],
    ),
    (
        lambda: anytime(LogNash()).score(
            Trace(rewards=[[1, -1], [1, 0], [0, -1]], overrides={1: 0.0, 2: 0.0})
        ),
        e.NegativeStatus,
        ["stakeholder 1", "time 3", "-2"],
    ),
    (lambda: anytime(Nash(), status=WaitingTime()).score(ONE.prefix(1)), None, []),
    (
        lambda: anytime(Nash(), status=WaitingTime()).score(Trace(rewards=[[0, 1]])),
        e.NegativeStatus,
        ["stakeholder 0", "time 1"],
    ),
    (
        lambda: anytime(AlphaFair(2.0)).score(Trace(rewards=[[0, 1]])),
        e.NegativeStatus,
        ["above 0"],
    ),
    (
        lambda: anytime(Parity(), over_time(LogNash())).score(ONE),
        e.NegativeStatus,
        ["assessment 1", "-1"],
    ),
    (
        lambda: anytime(Nash()).score(Trace(rewards=np.full((1, 200), 1e9))),
        e.WelfareOverflow,
        ["time 1", "LogNash"],
    ),
    (
        lambda: anytime().score(Trace(rewards=[[1e308, 1.0], [1e308, 1.0]])),
        e.WelfareOverflow,
        ["amounts are too large", "time 2", "larger units"],
    ),
    # Entitlements, groups, weights
    (lambda: PerEntitlement([1.0, 0.0]), e.ZeroEntitlement, ["stakeholder 1", "positive"]),
    (lambda: PerEntitlement([1.0, -2.0]), e.ZeroEntitlement, ["-2"]),
    (lambda: PerEntitlement([1.0, math.nan]), e.NotFinite, ["entitlements"]),
    (
        lambda: anytime(status=PerEntitlement([1.0])).score(ONE),
        e.WeightsDoNotFit,
        ["1 entitlements", "2 stakeholders"],
    ),
    (lambda: Groups.of({"A": [0], "B": []}), e.GroupsDoNotFit, ["'B'", "no members"]),
    (lambda: Groups.of({}), e.GroupsDoNotFit, ["no groups"]),
    (lambda: Groups.of({"A": [0], "B": [0]}), e.GroupsDoNotFit, ["stakeholder 0", "twice"]),
    (lambda: Groups.of({"A": ["x"]}), e.GroupsDoNotFit, ["members", "whole numbers"]),
    (lambda: Groups.of({"A": 3}), e.GroupsDoNotFit, ["members", "whole numbers"]),
    (lambda: Groups.of({"A": [-1]}), e.GroupsDoNotFit, ["-1"]),
    (
        lambda: anytime(Parity({"A": [0]})).score(ONE),
        e.GroupsDoNotFit,
        ["stakeholder 1", "no group"],
    ),
    (
        lambda: anytime(status=GroupTotals({"A": [0, 1], "B": [2]})).score(ONE),
        e.GroupsDoNotFit,
        ["'B'", "stakeholder 2", "only 2"],
    ),
    (lambda: GeneralisedGini([1.0, 2.0]), e.WeightsDoNotFit, ["weight 1", "worst-off"]),
    (lambda: GeneralisedGini([1.0, -1.0]), e.WeightsDoNotFit, ["negative"]),
    (lambda: GeneralisedGini([0.0, 0.0]), e.WeightsDoNotFit, ["zero"]),
    (lambda: GeneralisedGini([]), e.WeightsDoNotFit, ["one number per stakeholder"]),
    (
        lambda: anytime(GeneralisedGini([3.0, 2.0, 1.0])).score(ONE),
        e.WeightsDoNotFit,
        ["3 weights", "2 statuses"],
    ),
    # A filter that never fires
    (lambda: periodic(5).score(ONE), e.NothingAssessed, ["every 5 decisions", "1 decisions"]),
    (lambda: long_term().score(ONE.prefix(0)), e.NothingAssessed, ["0 decisions"]),
    (lambda: bounded(When(lambda _: False)).score(ONE), e.NothingAssessed, ["<lambda>"]),
    # Overrides, streams and black boxes
    (
        lambda: FairnessScheme(aggregation=BalancedUnfairness()).score(
            Trace(rewards=[[1, 2]] * 3, overrides={3: 0.0})
        ),
        e.OverridesRefused,
        ["step 3", "BalancedUnfairness"],
    ),
    (
        lambda: anytime(status=TraceFunction(lambda t: t.rewards[-1])).stream(2),
        e.CannotStream,
        ["TraceFunction"],
    ),
    (lambda: bounded(WhenPrefix(lambda t: True)).stream(2), e.CannotStream, ["WhenPrefix"]),
    (
        lambda: FairnessScheme(aggregation=MatrixFunction(np.mean)).stream(2),
        e.CannotStream,
        ["MatrixFunction"],
    ),
    (
        lambda: anytime(status=TraceFunction(lambda t: [[1.0]])).score(ONE),
        e.UnequalLengths,
        ["time 1", "one number per stakeholder"],
    ),
    (lambda: FeedbackScheme().score(ONE), e.BadParameter, ["no feedback"]),
    (FeedbackScheme().require_counterfactuals, e.CounterfactualsRefused, ["black box"]),
    # Parameters
    (lambda: Returns(0.0), e.BadParameter, ["discount"]),
    (lambda: Returns(1.5), e.BadParameter, ["discount", "1.5"]),
    (lambda: Decayed(0.0), e.BadParameter, ["half_life"]),
    (lambda: Window(0), e.BadParameter, ["length"]),
    (lambda: Every(0), e.BadParameter, ["period"]),
    (lambda: Every(1.5), e.BadParameter, ["period", "1.5"]),
    (lambda: AfterEach(0), e.BadParameter, ["amount"]),
    (lambda: Discounted(2.0), e.BadParameter, ["discount"]),
    (lambda: LogNash(-1.0), e.BadParameter, ["offset"]),
    (lambda: AlphaFair(-1.0), e.BadParameter, ["alpha"]),
    (lambda: Equality(-1.0), e.BadParameter, ["tolerance"]),
    (lambda: FairnessScheme(status=LogNash()), e.BadParameter, ["status", "evenhand list"]),
    (lambda: FairnessScheme(empty=math.nan), e.NotFinite, ["empty"]),
    (lambda: ONE.prefix(2), e.BadParameter, ["τ_2", "1 steps"]),
    (lambda: anytime().assess(ONE).unfairness("C", 1), e.BadParameter, ["'C'", "0, 1"]),
    (lambda: anytime().assess(ONE).unfairness(2, 1), e.BadParameter, ["stakeholder 2"]),
    (lambda: anytime().assess(ONE).unfair_to(0), e.BadParameter, ["time point 0"]),
    # Environments
    (lambda: Doughnuts(presence=1.8), e.BadParameter, ["presence is 1.8", "0 and 1"]),
    (lambda: Doughnuts(presence=(1.8, *[0.5] * 4)), e.BadParameter, ["presence of 0 is 1.8"]),
    # Finite MDPs
    (
        lambda: FiniteMDP(0, [[[0.5]]], [[[[1.0]]]]),
        e.BadParameter,
        ["state 0", "action 0", "0.5", "sum to 1"],
    ),
    (lambda: FiniteMDP(1, [[[1.0]]], [[[[1.0]]]]), e.BadParameter, ["initial_state"]),
    (lambda: FiniteMDP(0, [[1.0]], [[[[1.0]]]]), e.UnequalLengths, ["transitions"]),
    (lambda: FiniteMDP(0, [[[1.0]]], [[[1.0]]]), e.UnequalLengths, ["rewards"]),
]


@pytest.mark.parametrize(("attempt", "error", "words"), CASES)
def test_each_mistake_has_its_own_sentence(attempt, error, words):
    if error is None:  # the neighbour of a mistake, which is none
        attempt()
        return
    with refused(error, *words) as caught:
        attempt()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith((".", "…", "?"))


@pytest.mark.parametrize("content", [b"", b"x", b"date,clinic,doses\n" * 9, b"\xff" * 64])
def test_a_file_that_holds_no_policy_is_told_without_internals(tmp_path, content):
    path = tmp_path / "some.policy"
    path.write_bytes(content)
    with refused(e.BadFile, "is not a policy that evenhand wrote") as caught:
        read_tensors(path, "policy")
    assert "header" not in str(caught.value)
    with refused(e.BadFile, "is a folder"):
        read_tensors(tmp_path, "policy")


anything = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-5, 5),
    st.text(max_size=3),
    st.lists(st.floats(), max_size=3),
    st.lists(st.lists(st.floats(-1e3, 1e3), max_size=3), max_size=3),
    hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4)),
)
sizes = st.lists(st.floats(-2, 5), max_size=4)


@given(anything, anything, anything, sizes, st.integers(-1, 4), st.floats())
def test_whatever_comes_in_only_named_errors_come_out(rewards, overrides, states, weights, k, x):
    """Numbers come out, or an EvenhandError: never a NaN, never another exception."""
    attempts = [
        lambda: anytime().score(Trace(rewards=rewards, overrides=overrides, states=states)),
        lambda: anytime(GeneralisedGini(weights)).score(Trace(rewards=rewards)),
        lambda: anytime(status=PerEntitlement(weights)).score(Trace(rewards=rewards)),
        lambda: periodic(k).score(Trace(rewards=rewards)),
        lambda: bounded(AfterEach(x), Nash(), Total()).score(Trace(rewards=rewards)),
        lambda: anytime(Parity({"A": [k], "B": [0]})).score(Trace(rewards=rewards)),
        lambda: anytime(AlphaFair(x, k)).score(Trace(rewards=rewards)),
        lambda: anytime(LogNash(x), Discounted(x), Decayed(x)).score(Trace(rewards=rewards)),
        lambda: FairnessScheme(
            aggregation=TimepointFirst(LogNash(), over_time(GeneralisedGini(weights)))
        ).score(Trace(rewards=rewards)),
    ]
    for attempt in attempts:
        try:
            score = attempt()
        except EvenhandError as error:
            assert str(error)  # noqa: PT017 - either outcome is fine
        else:
            assert math.isfinite(score)
