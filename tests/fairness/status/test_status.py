"""What statuses say of themselves: whether steps may be merged, whether they are value-regular."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import (
    Average,
    Capped,
    Decayed,
    EnvyOfBest,
    FairnessScheme,
    GroupTotals,
    PairwiseEnvy,
    PerEntitlement,
    Rawls,
    Returns,
    TimepointFirst,
    Total,
    Trace,
    WaitingTime,
    Window,
    anytime,
)
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.status import (
    LowerIsBetter,
    Modulo,
    Rate,
    RateWithinPeriod,
    StateStatus,
    Status,
    TraceFunction,
    WhileWaiting,
)
from evenhand.fairness.status.derived import Derived

SUMS = [
    Returns(),
    GroupTotals({"A": [0, 1], "B": [2]}),
    PerEntitlement((1.0, 2.0, 4.0)),
    EnvyOfBest(),
    PairwiseEnvy(of=PerEntitlement((1.0, 2.0, 4.0))),
]
NOT_SUMS = [
    Returns(0.9),
    Decayed(2.0),
    Window(2),
    WaitingTime(),
    Capped(2),
    Modulo(3),
    EnvyOfBest(of=Decayed(2.0)),
]


@pytest.mark.parametrize("status", SUMS, ids=repr)
def test_steps_may_be_merged_under_a_sum(status):
    assert status.is_sum
    rewards = np.array([[1.0, 0, 2], [0, 3, 0], [2, 0, 0], [0, 0, 1]])
    _, apart = status.scan(status.init(3), Trace(rewards=rewards))
    _, merged = status.scan(status.init(3), Trace(rewards=rewards.sum(axis=0, keepdims=True)))
    np.testing.assert_allclose(merged[-1], apart[-1])


@pytest.mark.parametrize("status", SUMS, ids=repr)
def test_the_status_of_totals_is_that_of_one_step_that_brings_them(status):
    """In each of many cases at once; also where a status has no way of its own to tell."""
    totals = np.array([[[1.0, 0, 2], [0, 3, 0]], [[2, 0, 0], [5, 1, 7]]])
    found, plainly = status.of_totals(totals, None), Status.of_totals(status, totals, None)
    for place in np.ndindex(2, 2):
        _, values = status.scan(status.init(3), Trace(rewards=totals[place][None]))
        np.testing.assert_allclose(found[place], values[0])
        np.testing.assert_allclose(plainly[place], values[0])


@pytest.mark.parametrize("status", NOT_SUMS, ids=repr)
def test_what_depends_on_the_order_of_steps_is_no_sum(status):
    assert not status.is_sum
    if not isinstance(status, Derived):
        with pytest.raises(BadParameter, match="depends on more than what each received"):
            status.of_totals(np.ones((2, 3)), None)


@pytest.mark.parametrize(
    ("status", "regular"),
    [
        (Returns(), False),
        (EnvyOfBest(), False),
        (EnvyOfBest(of=Window(2)), True),
        (Modulo(3), True),
        (Capped(3), True),
        (Modulo(3, of=Window(2)), True),
        (Modulo(3, of=Decayed(1.0)), None),  # of what is not value-regular a remainder may be
    ],
    ids=repr,
)
def test_value_regularity_is_declared(status, regular):
    declared = status.value_regular()
    assert declared.regular is regular
    assert declared.reason


BOUNDS = [
    (Returns(), 12.0),
    (Returns(0.5), 5.625),  # 3 + 1.5 + 0.75 + 0.375
    (Decayed(1.0), 6.0),
    (Decayed(100.0), 12.0),
    (Window(2), 6.0),
    (Window(9), 12.0),
    (WaitingTime(), 4.0),
    (GroupTotals({"A": [0, 1], "B": [2]}), 24.0),
    (PerEntitlement((1.0, 2.0, 0.5)), 24.0),
    (EnvyOfBest(), 24.0),
    (EnvyOfBest(of=WaitingTime()), 8.0),
    (LowerIsBetter(), 12.0),
    (PairwiseEnvy(), None),
    (EnvyOfBest(of=PairwiseEnvy()), None),
    (Modulo(3), 3.0),
    (Capped(2.0), 12.0),
    (Capped(2.0, of=WaitingTime()), 4.0),
]


@pytest.mark.parametrize(("status", "bound"), BOUNDS, ids=repr)
def test_no_status_is_beyond_its_bound(status, bound):
    """By hand for four steps of at most 3, and no history of such is beyond it."""
    found = status.magnitude(3.0, 4)
    if bound is None:
        assert found is None
        return
    assert found == pytest.approx(bound)
    rng = np.random.default_rng(0)
    for _ in range(20):
        rewards = rng.choice([-3.0, 0.0, 3.0], size=(4, 3))
        _, values = status.scan(status.init(3), Trace(rewards=rewards))
        assert np.abs(values).max() <= found + 1e-9


def test_weights_that_never_change_are_those_of_every_step():
    class Counted(Returns):
        """What each has received, the second counting as three."""

        @property
        def fixed_weights(self):
            return np.array([1.0, 3.0])

    status, trace = Counted(), Trace(rewards=[[4.0, 0.0], [0.0, 0.0]])
    assert status.weights(status.init(2)).tolist() == [1.0, 3.0]
    assert status.scan_weights(status.init(2), trace).tolist() == [[1.0, 3.0], [1.0, 3.0]]
    assert anytime(Average(), status=status).score(trace) == 1.0


@pytest.mark.parametrize("status", [EnvyOfBest, Rate, RateWithinPeriod, WhileWaiting])
def test_the_status_inside_is_given_by_name(status):
    with pytest.raises(TypeError):
        status(Window(1))
    assert status(of=Window(2)).of == Window(2)


def test_a_status_read_off_the_state():
    status = StateStatus(lambda state: np.array([state, -state]), start=7.0)
    assert status.value(status.init(2)).tolist() == [7.0, 7.0]
    assert StateStatus(abs).init(2).tolist() == [0.0, 0.0]
    trace = Trace(rewards=np.zeros((3, 2)), states=[0, 4, 5, 6])
    state, values = status.scan(status.init(2), trace)
    assert values.tolist() == [[4, -4], [5, -5], [6, -6]]
    assert state.tolist() == [6, -6]


@pytest.mark.parametrize("status", [StateStatus(abs), TraceFunction(len)])
def test_a_history_of_no_steps_has_no_statuses(status):
    """Also where a status has no way of its own to do many steps at once."""
    _, values = status.scan(status.init(3), Trace(rewards=np.zeros((0, 3))))
    assert values.shape == (0, 3)
    scheme = FairnessScheme(status, TimepointFirst(Rawls(), Total()))
    found = scheme.assess(Trace(rewards=np.zeros((0, 3))))
    assert (found.score, found.times.tolist()) == (0.0, [])


@pytest.mark.parametrize("length", [0, -1])
def test_a_window_holds_a_step(length):
    with pytest.raises(BadParameter, match="length is"):
        Window(length)
    assert Window(1).length == 1


@pytest.mark.parametrize("half_life", [0.0, -1.0, float("inf"), float("nan")])
def test_a_half_life_is_positive(half_life):
    with pytest.raises(BadParameter, match="half_life is"):
        Decayed(half_life)


@pytest.mark.parametrize("discount", [0.0, 1.1, float("nan")])
def test_a_discount_lies_above_0_and_up_to_1(discount):
    with pytest.raises(BadParameter, match="discount is"):
        Returns(discount)


def test_a_function_of_the_trace_judges_always_as_many():
    even = TraceFunction(lambda trace: trace.rewards.max(axis=0))
    _, values = even.scan(even.init(2), Trace(rewards=[[1, 2], [3, 0]]))
    assert values.tolist() == [[1, 2], [3, 2]]
    more = TraceFunction(lambda trace: np.zeros(len(trace)))
    with pytest.raises(UnequalLengths, match=r"shape \(2,\) at time 2"):
        more.scan(more.init(1), Trace(rewards=[[1], [1]]))
    table = TraceFunction(lambda trace: np.zeros((1, 1)))
    with pytest.raises(UnequalLengths, match=r"shape \(1, 1\) at time 1"):
        table.scan(table.init(1), Trace(rewards=[[1]]))
