"""What statuses say of themselves: whether steps may be merged, whether they are value-regular."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import (
    Capped,
    Decayed,
    EnvyOfBest,
    GroupTotals,
    PairwiseEnvy,
    PerEntitlement,
    Returns,
    Trace,
    WaitingTime,
    Window,
)
from evenhand.fairness.status import Modulo

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


@pytest.mark.parametrize("status", NOT_SUMS, ids=repr)
def test_what_depends_on_the_order_of_steps_is_no_sum(status):
    assert not status.is_sum


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
