"""Every shipped world under its own scheme: what is imagined is what the world would have done.

All schemes and memories are tried in tests/system/test_any_world.py.
"""

from __future__ import annotations

import pytest

from evenhand.envs import ENVIRONMENTS
from evenhand.memory.memory import Full, OfStatus
from imagined_law import WORLDS, learning_starts


def test_every_shipped_world_is_tried():
    shipped = {name for name, one in ENVIRONMENTS.classes.items() if "evenhand" in one.__module__}
    assert set(WORLDS) == shipped - {"log_world"}


@pytest.mark.parametrize("world", ["crates", "triage"])
def test_with_what_the_status_carries_learning_starts_and_imagines_the_truth(world):
    environment = WORLDS[world]
    scheme = environment.default_scheme()
    assert learning_starts(environment, scheme, OfStatus(scheme.status))


def test_a_memory_that_does_not_determine_the_reward_is_refused():
    """Meals per head are not meals."""
    assert not learning_starts(WORLDS["crates"], WORLDS["crates"].default_scheme(), Full())
