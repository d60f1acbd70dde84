"""What learners would take up: known from their shapes, before anything is allocated."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import TooLarge
from evenhand.experiments.running.learning_room import bytes_of_learner, require_room_to_learn
from evenhand.experiments.running.run_spec import RunSpec
from evenhand.experiments.running.train_method import prepare

SMALL = Doughnuts(num_stakeholders=2, horizon=4)


def spec(environment=SMALL, seeds=1, **more) -> RunSpec:
    return RunSpec(environment, "full", tuple(range(seeds)), steps=100, every=100, **more)


class Fixed:
    """An agent of 3 · 5 floats and two bytes."""

    def start(self, key):
        return jnp.zeros((3, 5), dtype=jnp.float32), jnp.zeros(2, dtype=jnp.int8)


def test_the_estimate_is_what_a_learner_takes():
    assert bytes_of_learner(Fixed()) == 62


def test_as_many_learners_as_there_is_room_for():
    small = spec(deep=True)
    agent = small.build()
    require_room_to_learn(small, agent, side_by_side=10)
    with pytest.raises(TooLarge, match=r"1,000,000 learners of full would take .* GB"):
        require_room_to_learn(small, agent, side_by_side=1_000_000)


@pytest.mark.system  # takes seconds
def test_a_run_without_room_is_refused_before_it_begins():
    with pytest.raises(
        TooLarge, match=r"the episodes that score it 298\.0 GB .* a shorter horizon"
    ):
        prepare(spec(Doughnuts(num_stakeholders=2, horizon=10**6), deep=True))
    with pytest.raises(TooLarge, match="ask for fewer stakeholders"):
        prepare(spec(Doughnuts(num_stakeholders=100_000, horizon=4), deep=True, recipe="best"))
