"""Hand arithmetic, laws, and one definition on NumPy and JAX."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import (
    AlphaFair,
    Average,
    Decayed,
    EnvyOfBest,
    Equality,
    GeneralisedGini,
    GeometricMean,
    GiniWelfare,
    Groups,
    GroupTotals,
    Jain,
    LogNash,
    Nash,
    NegativeVariance,
    PairwiseEnvy,
    Parity,
    PerEntitlement,
    Rawls,
    Returns,
    Step,
    Utilitarian,
    WaitingTime,
    WelfareFunction,
    Window,
    unfair_in_favour_of,
    unfair_to,
)
from evenhand.errors import BadParameter, WeightsDoNotFit
from evenhand.fairness.filters import AfterEach, Always, Every, Final
from evenhand.fairness.temporal import Discounted, Last, Mean, OverTime, Total, Worst
from evenhand.fairness.unfairness import overall_unfairness, unfairness

BY_HAND = [
    (Utilitarian(), 7.0),
    (Average(), 7 / 3),
    (Rawls(), 1.0),
    (Nash(), 8.0),
    (GeometricMean(), 2.0),
    (LogNash(), math.log(2) + math.log(3) + math.log(5)),
    (LogNash(0.0), math.log(8)),
    # mean 7/3; mean absolute difference (1+3+2)·2/9 = 4/3, half of it off the mean
    (GiniWelfare(), 7 / 3 - 2 / 3),
    (GeneralisedGini((3.0, 2.0, 1.0)), 3 * 1 + 2 * 2 + 1 * 4),
    (AlphaFair(0.0), 7.0),
    (AlphaFair(1.0), math.log(8)),
    (AlphaFair(2.0), -(1 + 1 / 2 + 1 / 4)),
    (Jain(), 49 / (3 * 21)),
    (Equality(), 0.0),
    (Equality(3.0), 1.0),
    (Parity(), -3.0),
    (Parity({"A": [0, 1], "B": [2]}), -5.0),
    (NegativeVariance(), -(21 / 3 - (7 / 3) ** 2)),
    (WelfareFunction(lambda u: u[0] - u[2]), 3.0),
]


@pytest.mark.parametrize(("welfare", "value"), BY_HAND, ids=lambda x: type(x).__name__)
def test_by_hand(welfare, value):
    u = np.array([4.0, 2.0, 1.0])
    assert welfare(u) == pytest.approx(value)
    assert welfare(np.array([u, u, u])) == pytest.approx([value] * 3)


@pytest.mark.parametrize(("welfare", "value"), BY_HAND, ids=lambda x: type(x).__name__)
def test_the_same_on_jax_under_jit_and_vmap(welfare, value):
    u = jnp.array([[4.0, 2.0, 1.0], [4.0, 2.0, 1.0]])
    np.testing.assert_allclose(jax.jit(jax.vmap(welfare))(u), [value, value], rtol=1e-5)


vectors = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=9).map(np.array)


@given(vectors)
def test_many_logarithms_at_once_are_the_sum_of_logarithms(u):
    assert LogNash()(u) == pytest.approx(sum(math.log(x + 1) for x in u), rel=1e-12, abs=1e-12)


@given(vectors)
def test_welfare_does_not_ask_who_is_who(u):
    for welfare in (Utilitarian(), Rawls(), LogNash(), GiniWelfare(), Jain(), NegativeVariance()):
        assert welfare(u[::-1].copy()) == pytest.approx(welfare(u), rel=1e-9, abs=1e-9)


@given(vectors, st.floats(0.0, 1.0))
def test_giving_from_the_best_off_to_the_worst_off_never_lowers_a_fair_welfare(u, share):
    rich, poor = int(u.argmax()), int(u.argmin())
    gift = share * (u[rich] - u[poor]) / 2
    after = u.copy()
    after[rich] -= gift
    after[poor] += gift
    for welfare in (Rawls(), LogNash(), GiniWelfare(), Jain(), Parity(), NegativeVariance()):
        assert welfare(after) >= welfare(u) - 1e-9 * max(1.0, abs(float(welfare(u))))


@given(vectors)
def test_alpha_fair_joins_utilitarian_and_log_nash(u):
    assert AlphaFair(0.0)(u) == pytest.approx(Utilitarian()(u), rel=1e-12)
    assert AlphaFair(1.0, offset=1.0)(u) == pytest.approx(LogNash()(u), rel=1e-12, abs=1e-12)


def test_jain_of_nobody_having_anything_is_equal():
    assert Jain()(np.zeros(4)) == 1.0
    assert Jain()(np.array([3.0, 0.0, 0.0])) == pytest.approx(1 / 3)
    assert Jain().weighted(np.zeros(4), np.array([0.4, 0.8, 1.2, 1.6])) == pytest.approx(1.0)


@given(st.floats(-1e9, 1e9), st.integers(1, 9))
def test_equal_statuses_are_unfair_to_nobody(value, size):
    u = np.full(size, value)
    assert (unfairness(u) == 0).all()
    assert not unfair_to(u).any()
    assert not unfair_in_favour_of(u).any()


def test_rounding_is_no_unfairness():
    u = np.array([0.1, 0.2, 0.3])  # the mean is 0.2, which no float sum quite says
    assert unfair_to(u).tolist() == [True, False, False]
    assert unfair_in_favour_of(u).tolist() == [False, False, True]
    # Nor where the lowest has nothing: rounding is of the size of the largest.
    third = np.array([0.0, 0.1, 0.2])
    assert unfair_to(third).tolist() == [True, False, False]
    assert unfair_in_favour_of(third).tolist() == [False, False, True]


def test_what_is_rounding_at_one_time_is_none_at_another():
    table = np.array([[0.0, 1.0, 2.0], [1e15, 1e15, 1e15]])
    assert unfair_to(table).tolist() == [[True, False, False], [False] * 3]
    assert unfair_in_favour_of(table).tolist() == [[False, False, True], [False] * 3]


def test_a_function_of_no_vectors_says_nothing():
    assert WelfareFunction(np.sum)(np.zeros((0, 1))).shape == (0,)
    assert WelfareFunction(np.sum)(np.array([[1.0], [2.0]])).tolist() == [1.0, 2.0]


def test_weights_of_ranks_may_be_equal_or_fall_and_end_at_zero():
    u = np.array([4.0, 2.0, 1.0])
    assert GeneralisedGini((1, 1, 1))(u) == Utilitarian()(u)
    assert GeneralisedGini((1, 0, 0))(u) == Rawls()(u)
    assert GeneralisedGini([2, 1]) == GeneralisedGini((2.0, 1.0))
    assert hash(GeneralisedGini([2, 1])) == hash(GeneralisedGini((2.0, 1.0)))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ((3, 2, 2, 5, 7), r"weight 3 \(5\) is larger than the one before it \(2\)"),
        ((1, -1), "must not be negative"),
        ((0, 0), "nor all be zero"),
        ((), "a plain list"),
        (((1, 1),), "a plain list"),
    ],
)
def test_weights_of_ranks_that_cannot_be_are_refused(weights, words):
    with pytest.raises(WeightsDoNotFit, match=words):
        GeneralisedGini(weights)


@pytest.mark.parametrize("value", [-0.5, math.nan, math.inf])
def test_a_parameter_out_of_its_range_is_refused(value):
    for make, what in (
        (LogNash, "offset"),
        (AlphaFair, "alpha"),
        (lambda x: AlphaFair(1.0, x), "offset"),
    ):
        with pytest.raises(BadParameter, match=f"{what} is"):
            make(value)
    assert (LogNash(0.0).offset, AlphaFair(0.0).offset, AlphaFair(0.5, 0.5).alpha) == (0, 0, 0.5)
    if value != math.inf:
        with pytest.raises(BadParameter, match="tolerance is"):
            Equality(value)


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=5))
def test_unfairness_sums_to_zero(table):
    table = np.array(table)
    assert unfairness(table).sum(axis=-1) == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(overall_unfairness(table), unfairness(table).sum(axis=0), atol=1e-9)


def test_totals_by_group():
    groups = Groups.of(["north", "south", "north"])
    assert groups.names == ("north", "south")
    assert groups.totals(np.array([1.0, 2.0, 4.0])).tolist() == [5.0, 2.0]


FOLDS = [
    Returns(),
    Returns(0.9),
    Decayed(2.0),
    Window(2),
    WaitingTime(),
    PerEntitlement((1.0, 2.0, 4.0)),
    EnvyOfBest(),
    PairwiseEnvy(),
    GroupTotals({"A": [0, 2], "B": [1]}),
]


@pytest.mark.parametrize("status", FOLDS, ids=str)
def test_status_folds_run_in_a_jax_scan(status):
    rewards = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 1], [1, 1, 0]], dtype=np.float32)

    def step(state, reward):
        state = status.update(state, Step(action=0, rewards=reward))
        return state, status.value(state)

    start = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=jnp.float32), status.init(3))
    _, values = jax.jit(lambda r: jax.lax.scan(step, start, r))(rewards)
    state, expected = status.init(3), []
    for reward in rewards.astype(float):
        state = status.update(state, Step(action=0, rewards=reward))
        expected.append(status.value(state))
    np.testing.assert_allclose(values, expected, rtol=1e-5)


@pytest.mark.parametrize("filter_", [Always(), Every(2), Final(), AfterEach(2.0)], ids=str)
def test_filter_folds_run_in_a_jax_scan(filter_):
    rewards = np.array([[1, 0], [0, 2], [0, 0], [1, 1], [0, 1]], dtype=np.float32)
    start = jax.tree.map(jnp.asarray, filter_.init())
    step = lambda state, reward: filter_.update(state, Step(action=0, rewards=reward))  # noqa: E731
    _, fires = jax.jit(lambda r: jax.lax.scan(step, start, r))(rewards)
    state, expected = filter_.init(), []
    for reward in rewards.astype(float):
        state, fired = filter_.update(state, Step(action=0, rewards=reward))
        expected.append(bool(fired))
    assert fires.tolist() == expected


TEMPORAL = [
    Last(),
    Mean(),
    Total(),
    Discounted(0.9),
    Worst(),
    OverTime(LogNash()),
    OverTime(Jain()),
]


@pytest.mark.parametrize("temporal", TEMPORAL, ids=str)
@settings(max_examples=30)
@given(values=st.lists(st.floats(0, 100), min_size=1, max_size=8), cut=st.integers(0, 8))
def test_temporal_update_repeated_is_extend(temporal, values, cut):
    values = np.array(values)
    one_by_one = temporal.init()
    for value in values:
        one_by_one = temporal.update(one_by_one, np.asarray(value))
    at_once = temporal.extend(temporal.extend(temporal.init(), values[:cut]), values[cut:])
    assert temporal.value(one_by_one) == pytest.approx(temporal.value(at_once))


BOUNDS = [
    (Utilitarian(), 15.0),
    (Average(), 5.0),
    (Rawls(), 5.0),
    (Nash(), 125.0),
    (GeometricMean(), 5.0),
    (LogNash(), 3 * math.log(6)),
    (LogNash(0.1), 3 * math.log(10)),
    (LogNash(0.0), None),
    (GeneralisedGini((3.0, 2.0, 1.0)), 30.0),
    (GiniWelfare(), 5.0),
    (AlphaFair(0.0), 15.0),
    (AlphaFair(0.5), 3 * 2 * math.sqrt(5)),
    (AlphaFair(1.0), None),
    (AlphaFair(1.0, offset=0.1), 3 * math.log(10)),
    (AlphaFair(2.0, offset=0.5), 6.0),
    (Jain(), 1.0),
    (Equality(), 1.0),
    (Parity(), 30.0),
    (NegativeVariance(), 25.0),
    (WelfareFunction(np.sum), None),
]


@pytest.mark.parametrize(
    ("welfare", "bound"), [pytest.param(*one, id=one[0].describe()) for one in BOUNDS]
)
def test_no_welfare_is_beyond_its_bound(welfare, bound):
    """By hand for three statuses of at most 5, and no vector of such is beyond it."""
    found = welfare.magnitude(5.0, 3)
    assert found == (None if bound is None else pytest.approx(bound))
    if bound is not None:
        least = 0.0 if welfare.least_status == 0.0 else -5.0
        corners = np.array(list(itertools.product((least, 0.0, 5.0), repeat=3)))
        assert np.abs(welfare(corners)).max() <= bound + 1e-9
