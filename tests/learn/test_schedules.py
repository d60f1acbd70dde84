"""How epsilon falls: by hand, with every step, and what is not possible."""

import numpy as np
import pytest

from evenhand.errors import BadParameter
from evenhand.learn.schedules import Exploration, ExplorationBySteps


def test_by_steps_it_falls_in_a_straight_line_and_then_stays():
    falling = ExplorationBySteps(steps=4, start=0.9, floor=0.1)
    epsilon, seen = np.float32(falling.start), []
    for _ in range(6):
        epsilon = falling.after(epsilon)
        seen.append(float(epsilon))
    np.testing.assert_allclose(seen, [0.7, 0.5, 0.3, 0.1, 0.1, 0.1], atol=1e-6)


def test_it_may_stay_where_it_starts():
    assert ExplorationBySteps(5, start=0.3, floor=0.3).after(np.float32(0.3)) == np.float32(0.3)


def test_a_factor_is_for_episodes_and_a_line_for_steps():
    assert ExplorationBySteps(3).falls_every_step
    assert not Exploration().falls_every_step


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": 5, "floor": 0.5, "start": 0.4}])
def test_what_is_not_possible_is_a_sentence(wrong):
    with pytest.raises(BadParameter, match="is not possible"):
        ExplorationBySteps(**wrong)
