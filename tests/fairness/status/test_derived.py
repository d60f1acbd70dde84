"""Statuses of another status: who counts as how many, in words too, and what may be imagined."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import EnvyOfBest, GroupTotals, PerEntitlement, Returns, Trace, WaitingTime
from evenhand.fairness.status import LowerIsBetter, PerCurrentEntitlement

GROUPS = {"A": [0, 2], "B": [1]}
STEPS = Trace(rewards=np.zeros((5, 3)))


@pytest.mark.parametrize(
    ("status", "weights"),
    [
        (PerEntitlement((1, 2, 4)), [1, 2, 4]),
        (EnvyOfBest(of=PerEntitlement((1, 2, 4))), [1, 2, 4]),
        (GroupTotals(GROUPS, of=PerEntitlement((1, 2, 4))), [5, 2]),  # 1 and 4, and 2
    ],
    ids=repr,
)
def test_whoever_is_entitled_to_more_counts_as_more(status, weights):
    state = status.init(3)
    assert status.fixed_weights.tolist() == weights
    assert status.weights(state).tolist() == weights
    assert status.scan_weights(state, STEPS).tolist() == [weights] * 5


@pytest.mark.parametrize(
    "status",
    [
        Returns(),
        GroupTotals(GROUPS),
        PerEntitlement((2, 2, 2)),
        PerEntitlement((1, 2, 4), weighted=False),
    ],
    ids=repr,
)
def test_where_all_count_alike_there_are_no_weights(status):
    state = status.init(3)
    assert status.fixed_weights is None
    assert status.weights(state) is None
    assert status.scan_weights(state, STEPS) is None


def test_entitlements_may_be_any_list_of_numbers():
    given, plain = PerEntitlement([1, 2]), PerEntitlement((1.0, 2.0))
    assert given == plain
    assert hash(given) == hash(plain)  # what is compiled for one serves the other


PER_UNIT = "the mean per unit of entitlement (all amounts over all entitlements)"
BY_ENTITLEMENT = "the mean (each counted by its entitlement)"
ALL_ALIKE = "the mean (all counted alike, whatever their entitlement)"


@pytest.mark.parametrize(
    ("weighted", "of", "words"),
    [
        (True, Returns(), PER_UNIT),
        (True, Returns(0.9), BY_ENTITLEMENT),
        (False, Returns(), ALL_ALIKE),
        (False, Returns(0.9), ALL_ALIKE),
    ],
)
def test_the_mean_per_entitlement_is_called_what_it_is(weighted, of, words):
    assert PerEntitlement((1.0, 2.0), weighted, of=of).describe_mean() == words
    assert PerCurrentEntitlement(weighted, of=of).describe_mean() == words
    assert LowerIsBetter(of=PerEntitlement((1.0, 2.0), weighted, of=of)).describe_mean() == words


def test_what_is_imagined_is_what_was_received():
    status = EnvyOfBest()
    state = status.init(2)
    imagined = status.imagined(state, np.array([3.0, 1.0]))
    assert status.value(imagined).tolist() == [0.0, -2.0]
    assert status.imaginable(imagined).tolist() == [3.0, 1.0]
    assert status.value(state).tolist() == [0.0, 0.0]


def test_nobody_is_imagined_to_wait_less_than_no_time():
    waits = WaitingTime()
    assert waits.imagined(waits.init(3), np.array([-2.0, 0.5, 3.0])).tolist() == [-2.0, 0.0, 0.0]
