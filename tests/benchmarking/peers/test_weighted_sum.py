"""Linear scalarisation: the reward of a step by hand."""

from __future__ import annotations

import pytest

from evenhand import Trace
from evenhand.benchmarking.peers.weighted_sum import candidate_weights, linear_scheme


def test_a_history_is_worth_the_weighted_sum_of_what_it_brought():
    trace = Trace(rewards=[[1.0, 0.0], [0.0, 4.0], [2.0, 1.0]])
    assert linear_scheme((1.0, 1.0)).score(trace) == pytest.approx(8.0)
    assert linear_scheme((0.5, 0.1)).score(trace) == pytest.approx(0.5 * 3 + 0.1 * 5)


def test_weights_are_spread_over_the_simplex():
    found = candidate_weights(3, 4)
    assert found[0] == pytest.approx((1 / 3, 1 / 3, 1 / 3), abs=1e-6)
    assert len(set(found)) == 4
    for weights in found:
        assert min(weights) > 0
        assert sum(weights) == pytest.approx(1.0, abs=1e-5)
    assert found == candidate_weights(3, 4)
