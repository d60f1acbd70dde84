"""Whose features are whose: by hand, and as networks see it."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import Doughnuts, Problem
from evenhand.envs import Vaccines, WaitingList
from evenhand.errors import UnequalLengths
from evenhand.learn.deep.encoders import Raw
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Nothing


@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 3))
def test_blocks_and_turns_are_the_same_features_in_another_order(size, features, shared):
    table = np.arange(size * features).reshape(size, features)
    rest = np.arange(shared) + 100
    in_turn = FeatureLayout.in_turn(size, features, shared)
    in_blocks = FeatureLayout.in_blocks(size, features, shared)
    one = in_turn.attributes(np.concatenate((table.ravel(), rest)))
    other = in_blocks.attributes(np.concatenate((table.T.ravel(), rest)))
    assert [part.values.tolist() for part in one] == [part.values.tolist() for part in other]
    assert [part.values.tolist() for part in one[:features]] == table.T.tolist()
    assert [part.shared for part in one] == [False] * features + [True] * (shared > 0)
    for layout in (in_turn, in_blocks):
        assert layout.size == size * features + shared
        layout.require_fit(size, layout.size)


def test_places_may_be_lists_or_arrays():
    layout = FeatureLayout([np.array([0, 1]), [2, 3]], shared=[4])
    assert layout == FeatureLayout(((0, 1), (2, 3)), shared=(4,))
    assert hash(layout) == hash(FeatureLayout(((0, 1), (2, 3)), shared=(4,)))


def test_one_number_each_and_none_shared_unless_said_otherwise():
    assert FeatureLayout.in_blocks(3) == FeatureLayout.in_turn(3) == FeatureLayout(((0, 1, 2),), ())
    assert FeatureLayout.in_blocks(2, 2) == FeatureLayout(((0, 1), (2, 3)), ())
    assert FeatureLayout.in_turn(2, 2) == FeatureLayout(((0, 2), (1, 3)), ())


def test_a_part_knows_its_range_where_there_is_one():
    layout = FeatureLayout(((0, 1),), shared=(2,))
    own, common = layout.attributes(np.array([3.0, 4.0, 5.0]), (0.0, [6.0, 8.0, np.inf]))
    assert (own.least, own.most) == (0.0, 8.0)
    assert (common.least, common.most) == (0.0, 1.0)
    plain, _ = layout.attributes(np.array([3.0, 4.0, 5.0]))  # of an environment without bounds
    assert (plain.least, plain.most) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (FeatureLayout(((0, 1, 2),)), "3 places for 2 stakeholders"),
        (FeatureLayout(((0, 1),)), "place 2 is missing"),
        (FeatureLayout(((0, 1),), (2, 2)), "named twice"),
        (FeatureLayout(((0, 1),), (2, 3)), "place 3 does not exist"),
        (FeatureLayout(((0, -1),), (2,)), "place -1 does not exist"),
        (FeatureLayout(((0, 1),), (7,)), "place 7 does not exist"),
        (FeatureLayout(((-2, 5),), (1,)), "place -2 does not exist"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(layout, said):
    with pytest.raises(UnequalLengths, match=said):
        layout.require_fit(2, 3)


@dataclass(frozen=True)
class Queues(Doughnuts):
    """A shop that also shows how long the queue of each is, and as many numbers of nobody's."""

    def observation(self, state):
        size = self.num_stakeholders
        return jnp.concatenate((state.noise, 10.0 + jnp.arange(size), 20.0 + jnp.arange(size)))

    attributes = Vaccines.__mro__[1].attributes  # that of any environment

    def feature_layout(self):
        size = self.num_stakeholders
        return FeatureLayout.in_blocks(size, features=2, shared=size)


def features(environment):
    problem = Problem(environment, environment.default_scheme(), Nothing())
    at = problem.initial(jax.random.key(0))
    return Raw().features(problem, at.state, at.seen)


def test_a_network_is_given_each_ones_own_features():
    own, common = features(Queues(3, 6, presence=1.0))
    assert own.tolist() == [[1.0, 10.0], [1.0, 11.0], [1.0, 12.0]]
    assert common.tolist() == [20.0, 21.0, 22.0]


def test_the_worlds_that_show_more_than_one_number_each_say_whose_they_are():
    assert [part.shape for part in features(Vaccines())] == [(6, 1), (1,)]
    assert [part.shape for part in features(WaitingList())] == [(4, 3), (0,)]
