"""Aggregations are folds: `scan` and `extend` are `update` repeated, from any state."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import BalancedUnfairness, FairnessScheme, Mean, Rawls, TimepointFirst, Trace
from evenhand.errors import OverridesRefused
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
