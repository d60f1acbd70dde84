"""Canonical order: whoever is exchanged with an equal, the ordered state is the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenhand import LogNash, Parity, PerEntitlement, Total, anytime
from evenhand.envs import Doughnuts
from evenhand.memory.memory import LastWinner, Min
from evenhand.planning.symmetry import canonical_order, exchangeable
from evenhand.problem.problem import Problem

CLASSES = [[0, 2], [1, 3, 4]]
FEATURES = st.lists(
    st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=3
).map(lambda rows: np.array(rows, dtype=float)[None])


def ordered(features):
    order = canonical_order(features, CLASSES)
    return np.take_along_axis(features, order[:, None, :], axis=2)


@given(FEATURES, st.permutations([0, 2]), st.permutations([1, 3, 4]))
def test_exchanging_equals_changes_nothing(features, first, second):
    exchanged = features.copy()
    exchanged[:, :, [0, 2]] = features[:, :, first]
    exchanged[:, :, [1, 3, 4]] = features[:, :, second]
    np.testing.assert_array_equal(ordered(exchanged), ordered(features))


@given(FEATURES)
def test_everyone_stays_in_their_class_with_all_that_is_theirs(features):
    order = canonical_order(features, CLASSES)[0]
    for members in CLASSES:
        assert sorted(order[members]) == members
    if features.shape[1] == 1:
        keys = features[0, 0, order]
        for members in CLASSES:
            assert (np.diff(keys[members]) >= 0).all()


def test_those_whom_no_part_tells_apart_are_exchangeable():
    shop = Doughnuts(4, 3, (0.5, 0.5, 0.9, 0.5))
    nash = anytime(LogNash(), Total())
    assert exchangeable(Problem(shop, nash), False) == [[0, 1, 3]]
    entitled = anytime(LogNash(), Total(), PerEntitlement((1, 2, 1, 1)))
    assert exchangeable(Problem(shop, entitled), False) == [[0, 3]]
    grouped = anytime(Parity({"A": [0, 1], "B": [2, 3]}), Total())
    assert exchangeable(Problem(shop, grouped), False) == [[0, 1]]
    # A memory counts where it is part of the state.
    names = Problem(shop, nash, LastWinner())
    assert exchangeable(names, False) == [[0, 1, 3]]
    assert exchangeable(names, True) == []
    assert exchangeable(Problem(shop, nash, Min()), True) == [[0, 1, 3]]
