"""Tests of fairness.groups."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields

import numpy as np
import pytest

from evenhand import (
    BalancedUnfairness,
    Clock,
    FairnessScheme,
    Full,
    GroupDifference,
    Groups,
    GroupTotals,
    LastWinner,
    Parity,
    PerEntitlement,
    Product,
    Returns,
    Trace,
    Utilitarian,
    WelfareFunction,
    anytime,
)
from evenhand.errors import GroupsDoNotFit
from evenhand.fairness.groups import all_alike, all_different, by_value, refine
from evenhand.fairness.status import STATUSES, Status
from evenhand.fairness.trace import Circumstances
from evenhand.fairness.welfare import WELFARES

# Groups of stakeholders: one group each, and who is in the wrong place is named.


def test_whoever_is_in_no_group_is_like_no_other():
    assert Groups.of({"A": [0], "B": [1]}).labels(4) == (0, 1, 4, 5)
    assert Groups.of({"A": [2, 0], "B": [1]}).labels(3) == (0, 1, 0)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"A": [0, 1], "B": [2, 1]}, "stakeholder 1 is listed twice"),
        ({"A": [0, 1], "B": [-1]}, "stakeholder -1 does not exist"),
        ({"A": [0], "B": []}, "group 'B' has no members"),
        ({}, "there are no groups"),
        ({"A": ["x"]}, "whole numbers"),
    ],
)
def test_who_is_in_the_wrong_place_is_named(groups, words):
    with pytest.raises(GroupsDoNotFit, match=words):
        Groups.of(groups)


def test_groups_fit_if_everyone_there_is_in_one():
    groups = Groups.of({"A": [0, 2], "B": [1]})
    groups.require_fit(3)
    with pytest.raises(GroupsDoNotFit, match="stakeholder 3 is in no group"):
        groups.require_fit(4)
    with pytest.raises(
        GroupsDoNotFit, match=r"'A' names stakeholder 2, but there are only 2 \(0 to 1\)"
    ):
        groups.require_fit(2)


# Which stakeholders each part treats alike: checked by exchanging them.

GROUPS = {"A": [0, 2], "B": [1, 3]}
PARAMETERS = {
    "group_totals": {"groups": GROUPS},
    "decayed": {"half_life": 2.0},
    "window": {"length": 2},
    "per_entitlement": {"entitlements": (1.0, 2.0, 1.0, 4.0)},
    "modulo": {"modulus": 3},
    "capped": {"cap": 2},
    "generalised_gini": {"weights": (0.4, 0.3, 0.2, 0.1)},
    "alpha_fair": {"alpha": 0.5},
}
# Others register parts of their own: a world from a log has a status that reads nothing else.
BUILT_IN = [
    name for name, kind in STATUSES.classes.items() if "evenhand.fairness" in kind.__module__
]


def swaps(labels):
    """Every exchange of two stakeholders that the labels allow, as a permutation."""
    for i, j in itertools.combinations(range(len(labels)), 2):
        if labels[i] == labels[j]:
            order = np.arange(len(labels))
            order[[i, j]] = j, i
            yield order


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_status_treats_those_alike_whom_it_says(name):
    status = STATUSES.get(name)(**PARAMETERS.get(name, {}))
    rng = np.random.default_rng(0)
    rewards = rng.integers(0, 3, (6, 4)).astype(float)
    known = {part.name: rng.integers(1, 5, (6, 4)).astype(float) for part in fields(Circumstances)}

    def trace(order):
        known_to_all = Circumstances(**{name: part[:, order] for name, part in known.items()})
        return Trace(rewards=rewards[:, order], circumstances=known_to_all)

    _, values = status.scan(status.init(4), trace(np.arange(4)))
    tried = 0
    for order in swaps(status.exchangeable(4)):
        _, exchanged = status.scan(status.init(4), trace(order))
        same = values[:, order] if status.per_stakeholder else values
        np.testing.assert_allclose(exchanged, same)
        tried += 1
    assert tried  # every built-in status treats some of these four alike


@pytest.mark.parametrize("name", WELFARES.classes)
def test_a_welfare_treats_those_alike_whom_it_says(name):
    welfare = WELFARES.get(name)(**PARAMETERS.get(name, {}))
    statuses = np.array([1.0, 4.0, 2.0, 3.0])
    orders = list(swaps(welfare.exchangeable(4)))
    assert len(orders) == 6
    for order in orders:
        assert welfare(statuses[order]) == pytest.approx(welfare(statuses))


def test_what_says_nothing_keeps_all_stakeholders_apart():
    @dataclass(frozen=True)
    class Favourite(Status):
        """Twice what the first has received."""

        def init(self, num_stakeholders):
            return np.zeros(num_stakeholders)

        def update(self, state, step):
            return state + step.rewards * (1 + (np.arange(len(state)) == 0))

        def value(self, state):
            return state

        def describe(self):
            return "what it has received, twice that for the first"

    assert Favourite().exchangeable(3) == (0, 1, 2)
    assert WelfareFunction(np.ptp).exchangeable(3) == (0, 1, 2)
    assert LastWinner().exchangeable(3) == (0, 1, 2)
    assert anytime(status=Favourite()).exchangeable(3) == (0, 1, 2)
    assert anytime(WelfareFunction(np.ptp)).exchangeable(3) == (0, 1, 2)


def test_a_scheme_and_a_product_are_as_fine_as_their_parts():
    assert anytime(Utilitarian()).exchangeable(3) == (0, 0, 0)
    assert anytime(Utilitarian(), status=PerEntitlement((1, 2, 1))).exchangeable(3) == (0, 1, 0)
    assert anytime(Parity(GROUPS)).exchangeable(4) == (0, 1, 0, 1)
    # Of groups the welfare sees totals, in which members cannot differ, whatever it is.
    by_group = GroupTotals(GROUPS)
    assert anytime(WelfareFunction(np.ptp), status=by_group).exchangeable(4) == (0, 1, 0, 1)
    assert FairnessScheme(Returns(), BalancedUnfairness()).exchangeable(2) == (0, 0)
    assert Product((Full(), Clock(3))).exchangeable(2) == (0, 0)
    assert Product((Full(), GroupDifference(GROUPS))).exchangeable(4) == (0, 1, 0, 1)


def test_labels():
    assert all_alike(3) == (0, 0, 0)
    assert all_different(3) == (0, 1, 2)
    assert by_value("abca") == (0, 1, 2, 0)
    assert refine([(0, 0, 1), (5, 7, 7)], 3) == (0, 1, 2)
    assert refine([], 2) == (0, 0)
