"""A world of three rooms in plain Python, and the same world as an environment to learn in.

What a learner should make of a step is written out here from the definitions, without arrays: the
pay, the shaping, the bootstrap, and the target Q(x, a) moves to. Every rule of the world shows in
some number: a coin is seen before acting, outcomes are drawn, a step may be overridden, and the
last step pays by a rule of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from brute_force import DecisionRecord
from evenhand.envs.environment import Environment, Outcomes
from evenhand.fairness.trace import Override

HEADS = 0.75  # how likely the coin shows 1
STAYS = 0.4  # how likely action 0 leads nowhere
COLD = -0.5  # what is paid in room 2 under coin 0, whatever the welfare
SHUT_OUT = -2.0  # what is paid where the last step leads to room 0

Counts = tuple[float, float]


# In plain Python


def moves(room: int, action: int) -> list[tuple[float, int]]:
    """Where an action may lead, with the probability of each."""
    if action == 0:
        return [(1 - STAYS, (room + 1) % 3), (STAYS, room)]
    return [(1.0, (room + 2) % 3)]


def received(room: int, coin: int, action: int) -> Counts:
    """Who receives what: the one named by the action if the coin allows it, else the other."""
    one = action if coin else 1 - action
    amount = 2.0 if room == 1 else 1.0
    return (amount, 0.0) if one == 0 else (0.0, amount)


def override(room: int, coin: int, after: int, last: bool) -> float | None:
    """What stands in for the welfare of the step, if anything does."""
    if last and after == 0:
        return SHUT_OUT
    return COLD if room == 2 and coin == 0 else None


def welfare(counts: Counts) -> float:
    """Log-Nash: Σ log(1 + u)."""
    return sum(math.log(1.0 + u) for u in counts)


def plus(counts: Counts, more: Counts) -> Counts:
    return counts[0] + more[0], counts[1] + more[1]


@dataclass(frozen=True)
class Rooms:
    """The world as `brute_force` takes worlds."""

    horizon: int = 3
    start: int = 0

    @property
    def actions(self) -> range:
        return range(2)

    def noises(self) -> list[tuple[float, int]]:
        return [(1 - HEADS, 0), (HEADS, 1)]

    def outcomes(self, time: int, state: int, noise: int, action: int) -> Any:
        return [
            (
                chance,
                DecisionRecord(
                    received(state, noise, action),
                    override(state, noise, after, time == self.horizon),
                    after,
                ),
            )
            for chance, after in moves(state, action)
        ]


class Happened(NamedTuple):
    """One step as it happened, from 0: where, under which coin, what was done, and what came."""

    time: int
    room: int
    coin: int
    counts: Counts
    action: int
    after: int
    next_coin: int

    @property
    def next_counts(self) -> Counts:
        return plus(self.counts, received(self.room, self.coin, self.action))


@dataclass(frozen=True)
class Goals:
    """What a learner is asked to learn from a step."""

    horizon: int = 3
    discount: float = 0.9
    horizon_terminates: bool = False
    shaping: bool = False
    scale: float = 1.0

    def pay(self, step: Happened) -> float:
        """The reward of a step by the scheme: the welfare after it, or what stands in for it."""
        last = step.time == self.horizon - 1
        instead = override(step.room, step.coin, step.after, last)
        return welfare(step.next_counts) if instead is None else instead

    def steps_left(self, time: int) -> float:
        """1 + γ + γ² + … for as many steps as there are from this one on, or for ever."""
        if not self.horizon_terminates:
            return 1.0 / (1.0 - self.discount)
        return sum(self.discount**k for k in range(self.horizon - time))

    def reward(self, step: Happened) -> float:
        """The pay, shaped by γΦ(x') − Φ(x) where that is asked for, and scaled."""
        reward = self.pay(step)
        if self.shaping:
            then = self.steps_left(step.time + 1) * welfare(step.next_counts)
            reward += self.discount * then - self.steps_left(step.time) * welfare(step.counts)
        return self.scale * reward

    def bootstrap(self, time: int, steps: int = 1) -> float:
        """The discount of what follows so many steps, the last of them at this step number."""
        ends = self.horizon_terminates and time == self.horizon - 1
        return 0.0 if ends else self.discount**steps

    def target(self, step: Happened, ahead: float) -> float:
        """What Q(x, a) moves to, given the best value of what follows."""
        return self.reward(step) + self.bootstrap(step.time) * ahead


# As an environment


class Place(NamedTuple):
    room: Any
    time: Any


@dataclass(frozen=True)
class ThreeRooms(Environment):
    """The same world in JAX."""

    horizon: int = 3
    first: int = 0

    @property
    def num_stakeholders(self):
        return 2

    @property
    def num_actions(self):
        return 2

    def start(self):
        return Place(jnp.asarray(self.first, jnp.int32), jnp.zeros((), jnp.int32))

    def draw(self, key):
        return jax.random.bernoulli(key, HEADS).astype(jnp.int32)

    def noises(self):
        return jnp.arange(2, dtype=jnp.int32), jnp.array([1 - HEADS, HEADS])

    def outcomes(self, world, noise, action):
        forward = jnp.stack((world.room + 1, world.room)) % 3
        rooms = jnp.where(action == 0, forward, (world.room + 2) % 3).astype(jnp.int32)
        chances = jnp.where(action == 0, jnp.array([1 - STAYS, STAYS]), jnp.array([1.0, 0.0]))
        return Outcomes(chances, Place(rooms, jnp.full(2, world.time + 1)))

    def rewards(self, state, action, world):
        one = jnp.where(state.noise == 1, action, 1 - action)
        return jnp.where(jnp.arange(2) == one, jnp.where(state.world.room == 1, 2.0, 1.0), 0.0)

    def override(self, state, action, world):
        shut_out = (world.time == self.horizon) & (world.room == 0)
        cold = (state.world.room == 2) & (state.noise == 0)
        return Override(shut_out | cold, jnp.where(shut_out, SHUT_OUT, COLD))

    def observation(self, state):
        room = (jnp.arange(3) == state.world.room).astype(float)
        return jnp.concatenate((room, jnp.asarray(state.noise, dtype=float)[None]))
