"""A process on the host, step by step: what happened as one vector, and back again."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.trace import Override
from evenhand.learn.host_world import HostWorld, Walk
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.process import Transition


class Counting:
    """The state is how many decisions were taken; each pays its action to the first of two."""

    num_stakeholders = 2

    def __init__(self, ends=99, override=None):
        self.ends, self.override = ends, override

    def initial(self, rng):
        return 0

    def step(self, state, action, rng):
        after = state + 1
        return Transition(after, [action, 0.0], self.override, terminated=after == self.ends)


def walk(process, **more):
    world = HostWorld(process, 3, 4, lambda state: [1.0, state], 2, **more)
    return world, Walk(world, process, np.random.default_rng(0))


def test_what_happened_is_a_vector_that_can_be_read_again():
    world, taken = walk(Counting(ends=3))
    assert world.outcome_size == 2 + 2 * 2 + 4
    rows = [world.unpack(taken.step(action)) for action in (2, 0, 1, 2)]
    assert [row[0].tolist() for row in rows] == [[2, 0], [0, 0], [1, 0], [2, 0]]
    assert [row[2].tolist() for row in rows] == [[1, 1], [1, 2], [1, 3], [1, 1]]
    # The third ends it: another episode begins, and the fourth is its first decision.
    assert [row[3].tolist() for row in rows] == [[1, 1], [1, 2], [1, 0], [1, 1]]
    assert [bool(row[4]) for row in rows] == [False, False, True, False]
    assert [bool(row[5]) for row in rows] == [False, False, True, False]
    assert all(row[1] is None for row in rows)


def test_at_the_horizon_it_is_over_and_has_not_ended():
    world, taken = walk(Counting())
    rows = [world.unpack(taken.step(0)) for _ in range(5)]
    assert [bool(row[4]) for row in rows] == [False, False, False, True, False]
    assert not any(row[5] for row in rows)
    stays = walk(Counting(ends=1))[1]
    stays.step(0, again=False)
    assert (stays.state, stays.decided) == (1, 1)


def test_a_reward_in_place_of_the_welfare():
    world, taken = walk(Counting(override=Override(True, -3.0)), may_override=True)
    override = world.unpack(taken.step(1))[1]
    assert (bool(override.applies), float(override.value)) == (True, -3.0)
    world, taken = walk(Counting(), may_override=True)
    none = world.unpack(taken.step(1))[1]
    assert (bool(none.applies), float(none.value)) == (False, 0.0)
    with pytest.raises(BadParameter, match="may_override=True"):
        walk(Counting(override=Override(True, -3.0)))[1].step(0)


def test_actions_that_are_not_possible_are_not_drawn():
    process = Counting()
    world = HostWorld(process, 3, 4, lambda state: [0.0, 1.0, state % 2, 9.0], 4, masked=True)
    taken, rng = Walk(world, process, np.random.default_rng(0)), np.random.default_rng(1)
    assert {taken.random_action(rng) for _ in range(20)} == {1}
    taken.step(1)
    assert {taken.random_action(rng) for _ in range(20)} == {1, 2}
    free = walk(process)[1]
    assert {free.random_action(rng) for _ in range(40)} == {0, 1, 2}
    nothing = HostWorld(process, 2, 4, lambda state: [0.0, 0.0], 2, masked=True)
    assert Walk(nothing, process, rng).random_action(rng) == 0


def test_lengths_that_change_are_refused():
    world = HostWorld(Counting(), 3, 4, lambda state: [1.0] * (1 + state), 1)
    taken = Walk(world, world.process, np.random.default_rng(0))
    with pytest.raises(UnequalLengths, match="2 numbers where 1 were announced"):
        taken.step(0)
    world = HostWorld(Counting(), 3, 4, lambda state: [0.0], 1)
    world.process.num_stakeholders = 3
    with pytest.raises(UnequalLengths, match=r"rewards of shape \(2,\) to 3 stakeholders"):
        Walk(world, world.process, np.random.default_rng(0)).step(0)


def test_it_runs_on_the_host_alone():
    world, _ = walk(Counting())
    assert not world.compiled
    assert world.initial(None).shape == (2,)
    for asked in (lambda: world.step(None, None, 0), lambda: world.is_over(None)):
        with pytest.raises(BadParameter, match="runs on the host"):
            asked()


def test_a_layout_says_which_numbers_are_whose_and_must_fit():
    layout = FeatureLayout.in_blocks(2, 1, shared=1)
    world = HostWorld(Counting(), 3, 4, lambda state: [1.0, state, 0.5], 3, layout=layout)
    parts = world.attributes(np.array([7.0, 8.0, 9.0]))
    assert [(part.values.tolist(), part.shared) for part in parts] == [
        *(([7.0, 8.0], False), ([9.0], True))
    ]
    (whole,) = walk(Counting())[0].attributes(np.array([7.0, 8.0]))
    assert whole.values.tolist() == [7.0, 8.0]
    with pytest.raises(UnequalLengths, match="observation of 2 numbers"):
        HostWorld(Counting(), 3, 4, lambda state: [1.0, state], 2, layout=layout)
