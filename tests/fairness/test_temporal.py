"""Temporal aggregations are folds: one value at a time or many, from any state, is the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from built_ins import TEMPORAL
from evenhand import (
    Discounted,
    GeneralisedGini,
    GiniWelfare,
    Last,
    LogNash,
    Mean,
    Nash,
    Rawls,
    TimepointFirst,
    Total,
    Utilitarian,
    Worst,
    over_time,
)
from evenhand.errors import BadParameter, NegativeStatus, WeightsDoNotFit
from evenhand.fairness.temporal import OverTime, Temporal

values_of = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), max_size=6).map(np.array)


def updated(temporal: Temporal, state: object, values: np.ndarray) -> object:
    for value in values:
        state = temporal.update(state, np.asarray(value))
    return state


@given(st.sampled_from(TEMPORAL), values_of, values_of, st.floats(0, 3))
def test_extend_and_scan_are_update_repeated(temporal, before, values, last):
    """From the state after some values; `last` goes through a state that must be right as well."""
    state = updated(temporal, temporal.init(), before)
    one_by_one = updated(temporal, state, values)
    at_once = temporal.extend(state, values)
    ends = [temporal.value(temporal.update(s, np.asarray(last))) for s in (one_by_one, at_once)]
    assert ends[1] == pytest.approx(ends[0])
    prefixes = [values[: k + 1] for k in range(len(values))]
    running = [temporal.value(updated(temporal, state, prefix)) for prefix in prefixes]
    np.testing.assert_allclose(temporal.scan(state, values), running)


@pytest.mark.parametrize(
    ("temporal", "expected"),
    [
        (Discounted(0.5), [2.0, 2.0 + 0.5, 2.0 + 0.5 + 0.75, 2.0 + 0.5 + 0.75 + 0.5]),
        (Mean(), [2.0, 1.5, 2.0, 2.5]),
        (over_time(Utilitarian()), [2.0, 3.0, 6.0, 10.0]),
        (OverTime(Utilitarian()), [2.0, 3.0, 6.0, 10.0]),
    ],
    ids=str,
)
def test_by_hand(temporal, expected):
    values = np.array([2.0, 1.0, 3.0, 4.0])
    np.testing.assert_allclose(temporal.scan(temporal.init(), values), expected)


def test_the_mean_of_nothing_is_a_number():
    assert Mean().value(Mean().init()) == 0.0


def test_the_product_of_nothing_is_one():
    product = OverTime(Nash())
    assert product.value(product.init()) == 1.0


def test_what_is_carried_does_not_grow_where_the_welfare_is_a_sum():
    assert not OverTime(LogNash()).keeps_history
    assert OverTime(LogNash()).extend(np.zeros(()), np.array([1.0, 2.0])).shape == ()


def test_an_assessment_that_leaves_the_welfare_over_time_undefined_is_named():
    with pytest.raises(NegativeStatus, match="the value of assessment 2 is -3"):
        OverTime(LogNash()).extend(np.zeros(()), np.array([1.0, -3.0]))


def test_a_welfare_over_time_that_needs_so_many_assessments_says_so():
    ranked = OverTime(GeneralisedGini((2.0, 1.0)))
    assert ranked.value(ranked.extend(ranked.init(), np.array([5.0, 1.0]))) == 7.0
    with pytest.raises(WeightsDoNotFit, match="2 weights for 3 statuses"):
        ranked.value(ranked.extend(ranked.init(), np.array([5.0, 1.0, 1.0])))


@pytest.mark.parametrize("discount", [0.0, -0.5, 1.5, float("nan")])
def test_a_discount_outside_its_range_is_refused(discount):
    with pytest.raises(BadParameter, match="discount is"):
        Discounted(discount)


def test_a_discount_of_one_is_a_sum():
    assert Discounted(1.0).sum_discount == 1.0


@pytest.mark.parametrize(
    ("temporal", "discount", "empty", "keeps"),
    [
        (Last(), None, None, False),
        (Total(), 1.0, 0.0, False),
        (Mean(), None, None, False),
        (Discounted(0.5), 0.5, None, False),
        (Worst(), None, None, False),
        (OverTime(GiniWelfare()), None, None, True),
        (OverTime(LogNash()), None, None, False),
    ],
    ids=str,
)
def test_what_a_temporal_aggregation_says_of_itself(temporal, discount, empty, keeps):
    assert temporal.sum_discount == discount
    assert temporal.empty == empty
    assert temporal.keeps_history is keeps
    assert TimepointFirst(Rawls(), temporal).empty == empty
    assert TimepointFirst(Rawls(), temporal).keeps_history is keeps
