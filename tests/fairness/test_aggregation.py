"""Aggregations are folds: `scan` and `extend` are `update` repeated, from any state."""

from __future__ import annotations

import numpy as np
import pytest

from built_ins import WELFARE, N
from evenhand import (
    Average,
    BalancedUnfairness,
    FairnessScheme,
    Mean,
    Rawls,
    TimepointFirst,
    Total,
    Trace,
    Utilitarian,
)
from evenhand.errors import EvenhandError, OverridesRefused
from evenhand.fairness import MatrixFunction
from evenhand.fairness.aggregation import Aggregation
from evenhand.fairness.trace import Override


def spread(table: np.ndarray) -> float:
    """Not a sum, and another number in another order of the rows."""
    return float((table * np.arange(1, len(table) + 1)[:, None]).max())


@pytest.mark.parametrize(
    "aggregation", [BalancedUnfairness(), MatrixFunction(spread), TimepointFirst(Rawls(), Mean())]
)
@pytest.mark.parametrize("before", [0, 2])
def test_scan_and_extend_are_update_repeated(aggregation: Aggregation, before: int):
    statuses = np.array([[3.0, 1.0], [0.0, 5.0], [4.0, 4.0], [1.0, 0.0], [2.0, 7.0]])
    contributions = aggregation.contribute(statuses, None)
    start = aggregation.init(2)
    for one in contributions[:before]:
        start = aggregation.update(start, one)
    state, running = start, []
    for one in contributions[before:]:
        state = aggregation.update(state, one)
        running.append(float(aggregation.value(state)))
    assert aggregation.scan(start, contributions[before:]).tolist() == pytest.approx(running)
    at_once = aggregation.extend(start, contributions[before:])
    assert float(aggregation.value(at_once)) == pytest.approx(running[-1])


def test_balanced_unfairness_by_hand():
    """(−1, 1) and then (−3, 3) leave −4 and 4; what is favoured later makes good."""
    statuses = np.array([[0.0, 2.0], [0.0, 6.0], [8.0, 0.0]])
    balanced = BalancedUnfairness()
    contributions = balanced.contribute(statuses, None)
    assert balanced.scan(balanced.init(2), contributions).tolist() == [-2.0, -32.0, 0.0]


def test_a_function_of_the_table_sees_all_of_it():
    scheme = FairnessScheme(aggregation=MatrixFunction(spread))
    assert scheme.score(Trace(rewards=[[1, 0], [0, 3], [1, 0]])) == 9.0
    assert MatrixFunction(spread).keeps_history
    assert not BalancedUnfairness().keeps_history


@pytest.mark.parametrize("aggregation", [BalancedUnfairness(), MatrixFunction(spread)])
def test_overrides_have_a_place_in_timepoint_first_alone(aggregation):
    override = Override(np.array([True]), np.array([1.0]))
    with pytest.raises(OverridesRefused, match=type(aggregation).__name__):
        aggregation.contribute(np.zeros((1, 2)), override)
    assert not aggregation.takes_overrides
    assert TimepointFirst().takes_overrides
    assert TimepointFirst().contribute(np.zeros((1, 2)), override).tolist() == [1.0]


STATUSES = np.array([[4.0, 0.0, 9.0], [4.0, 2.0, 9.0], [6.0, 2.0, 1.0]])
BUILT_IN = [*(TimepointFirst(one, Total()) for one in WELFARE), BalancedUnfairness()]
PRESENT = np.array([[True, True, False], [True, True, False], [True, True, True]])


@pytest.mark.parametrize(
    ("aggregation", "weights", "present", "added"),
    [
        (TimepointFirst(Rawls()), None, None, [0, 2, 1]),
        (TimepointFirst(Rawls()), None, PRESENT, [0, 2, 1]),
        (TimepointFirst(Utilitarian()), None, PRESENT, [4, 6, 9]),
        # Of weights 1, 3 and 4: (4 + 0)/4 and (4 + 6)/4, then (6 + 6 + 4)/8.
        (TimepointFirst(Average()), [1.0, 3.0, 4.0], PRESENT, [1, 2.5, 2]),
        (TimepointFirst(Average()), [1.0, 3.0, 0.0], None, [1, 2.5, 3]),  # no weight: not there
        (BalancedUnfairness(), None, PRESENT, [[2, -2, 0], [1, -1, 0], [3, -1, -2]]),
    ],
    ids=str,
)
def test_contributions_are_those_of_whoever_is_there_by_weight(
    aggregation, weights, present, added
):
    scheme = FairnessScheme(aggregation=aggregation)
    weighed = None if weights is None else np.broadcast_to(weights, STATUSES.shape)
    assert scheme.contributions(STATUSES, weighed, present).tolist() == added
    # Many histories at once, each of them by itself.
    many = scheme.contributions(np.stack((STATUSES, STATUSES + 1.0)), weighed, present)
    assert many[0].tolist() == added
    assert many[1].tolist() == scheme.contributions(STATUSES + 1.0, weighed, present).tolist()


@pytest.mark.parametrize("aggregation", BUILT_IN, ids=str)
def test_contributions_are_the_same_on_jax(aggregation):
    jax = pytest.importorskip("jax")
    statuses = np.random.default_rng(3).integers(1, 9, (5, N)) / 2
    weights = np.broadcast_to([1.0, 2.0, 0.5, 4.0], statuses.shape)
    present = np.arange(5)[:, None] < [9, 9, 2, 9]  # all, and then three of them
    ways = [(None, None), (weights, None), (None, present), (weights, present)]
    try:
        aggregation.require_fit(3)
    except EvenhandError:
        ways = ways[:2]  # of a certain number of stakeholders alone
    for way in ways:
        compiled = jax.jit(lambda u, way=way: aggregation.contributions(u, *way))
        expected = aggregation.contributions(statuses, *way)
        np.testing.assert_allclose(compiled(statuses), expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("aggregation", BUILT_IN, ids=str)
def test_a_score_is_its_contributions_folded(aggregation):
    rewards = np.random.default_rng(4).integers(1, 4, (6, N)) / 2
    added = aggregation.contributions(rewards.cumsum(axis=0))
    score = FairnessScheme(aggregation=aggregation).score(Trace(rewards=rewards))
    assert aggregation.fold(added) == pytest.approx(score, rel=1e-12)
