"""Small worlds with known answers, for learners to be tried on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.envs.environment import Environment, Outcomes, State
from evenhand.fairness.trace import Override


class Cell(NamedTuple):
    sign: Any  # what was seen at the start: 0 or 1
    time: Any


@dataclass(frozen=True)
class Paid(Environment):
    """Each step is paid by a table: [last step or not, action]. Nobody receives anything.

    A coin is tossed before each step. With `recall` the last step pays 1 just if the action is
    what the first coin said, so that it must be remembered.
    """

    horizon: int = 1
    early: tuple[float, float] = (0.0, 0.0)
    late: tuple[float, float] = (1.0, 1.0)
    recall: bool = False
    blind: bool = False  # every state looks the same

    @property
    def num_stakeholders(self):
        return 2

    @property
    def num_actions(self):
        return 2

    def start(self):
        return Cell(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def draw(self, key):
        return jax.random.bernoulli(key).astype(jnp.int32)

    def outcomes(self, world, noise, action):
        sign = jnp.where(world.time == 0, noise, world.sign)
        return Outcomes(jnp.ones(1), Cell(sign[None], world.time[None] + 1))

    def rewards(self, state, action, world):
        return jnp.zeros(2)

    def override(self, state, action, world):
        last = world.time == self.horizon
        paid = jnp.where(last, jnp.asarray(self.late)[action], jnp.asarray(self.early)[action])
        if self.recall:
            paid = jnp.where(last, world.sign == action, 0.0)
        return Override(jnp.ones((), bool), paid.astype(float))

    def observation(self, state: State):
        first = jnp.where(self.blind, 0.0, state.world.time == 0)
        return jnp.stack((first, first * state.noise))
