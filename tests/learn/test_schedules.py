"""How epsilon and learning rates fall: by hand, with every step, and what is not possible."""

import numpy as np
import pytest

from evenhand.errors import BadParameter
from evenhand.learn.schedules import Constant, Exploration, ExplorationBySteps, Watkins


def test_by_steps_it_falls_in_a_straight_line_and_then_stays():
    falling = ExplorationBySteps(steps=4, start=0.9, floor=0.1)
    epsilon, seen = np.float32(falling.start), []
    for _ in range(6):
        epsilon = falling.after(epsilon)
        seen.append(float(epsilon))
    np.testing.assert_allclose(seen, [0.7, 0.5, 0.3, 0.1, 0.1, 0.1], atol=1e-6)


def test_by_a_factor_it_falls_to_its_floor_and_then_stays():
    falling, epsilon, seen = Exploration(0.8, 0.5, 0.15), np.float32(0.8), []
    for _ in range(4):
        epsilon = falling.after(epsilon)
        seen.append(float(epsilon))
    np.testing.assert_allclose(seen, [0.4, 0.2, 0.15, 0.15], atol=1e-6)


def test_learning_rates_by_hand():
    updates = np.array([0.0, 2.0, 7.0])
    np.testing.assert_allclose(Constant(0.3)(updates), [0.3] * 3, rtol=1e-6)
    np.testing.assert_allclose(Watkins(1.0)(updates), [1 / 2, 1 / 4, 1 / 9], rtol=1e-6)
    np.testing.assert_allclose(Watkins(0.75)(updates + 7.0), np.array([9, 11, 16]) ** -0.75)


def test_it_may_stay_where_it_starts():
    assert ExplorationBySteps(5, start=0.3, floor=0.3).after(np.float32(0.3)) == np.float32(0.3)


def test_a_factor_is_for_episodes_and_a_line_for_steps():
    assert ExplorationBySteps(3).falls_every_step
    assert not Exploration().falls_every_step


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 5, "floor": 0.5, "start": 0.4}])
def test_what_is_not_possible_is_a_sentence(wrong):
    with pytest.raises(BadParameter, match="is not possible"):
        ExplorationBySteps(**wrong)
