"""Theorem 3 and the appendix: how fast to learn, and how much to explore."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp

from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from jaxtyping import Array, Float


class LearningRate(ABC):
    """The learning rate α of an update of Q(x, a), from how often it was updated before."""

    @abstractmethod
    def __call__(self, updates: Float[Array, ...]) -> Float[Array, ...]: ...


@dataclass(frozen=True)
class Constant(LearningRate):
    """The same rate always, 0.1 in the appendix. It tracks but does not converge."""

    value: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.value < 1.0:
            raise BadParameter(f"the learning rate is {self.value}: it must lie in (0, 1).")

    def __call__(self, updates: Float[Array, ...]) -> Float[Array, ...]:
        return jnp.full_like(updates, self.value)


@dataclass(frozen=True)
class Watkins(LearningRate):
    """α = 1 / (k + 2)^power after k updates: the sum diverges, the sum of squares converges.

    These are the conditions of Theorem 3; they hold for powers in (1/2, 1].
    """

    power: float = 0.7

    def __post_init__(self) -> None:
        if not 0.5 < self.power <= 1.0:
            raise BadParameter(
                f"power is {self.power}: Watkins' conditions hold for powers above 0.5, up to 1."
            )

    def __call__(self, updates: Float[Array, ...]) -> Float[Array, ...]:
        return (updates + 2.0) ** -self.power


class EpsilonSchedule(ABC):
    """How epsilon of an epsilon-greedy learner falls.

    Tables have an epsilon for each augmented state, which falls with each visit. Networks have
    one, which falls at the end of each episode, or with every step (`falls_every_step`).
    """

    start: float
    floor: float

    @property
    def falls_every_step(self) -> bool:
        """Whether a network's epsilon falls with every step rather than with every episode."""
        return False

    @abstractmethod
    def after(self, epsilon: Float[Array, ...]) -> Float[Array, ...]:
        """Epsilon once it has fallen again."""


@dataclass(frozen=True)
class Exploration(EpsilonSchedule):
    """Epsilon is multiplied by a factor with each visit, or episode, down to a floor."""

    start: float = 1.0
    factor: float = 0.95
    floor: float = 0.2

    def __post_init__(self) -> None:
        if not (0.0 <= self.floor <= self.start <= 1.0 and 0.0 < self.factor <= 1.0):
            raise BadParameter(
                f"exploration from {self.start} by {self.factor} to {self.floor} is not possible: "
                "use 0 ≤ floor ≤ start ≤ 1 and a factor in (0, 1]."
            )

    def after(self, epsilon: Float[Array, ...]) -> Float[Array, ...]:
        return jnp.maximum(epsilon * self.factor, self.floor)


@dataclass(frozen=True)
class ExplorationBySteps(EpsilonSchedule):
    """Epsilon falls in a straight line over so many steps, and then stays.

    It falls in a task that never ends as it does in one of short episodes.
    """

    steps: int
    start: float = 1.0
    floor: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 <= self.floor <= self.start <= 1.0 or self.steps < 1:
            raise BadParameter(
                f"exploration from {self.start} to {self.floor} over {self.steps} steps is not "
                "possible: use 0 ≤ floor ≤ start ≤ 1, and at least one step."
            )

    @property
    def falls_every_step(self) -> bool:
        return True

    def after(self, epsilon: Float[Array, ...]) -> Float[Array, ...]:
        return jnp.maximum(epsilon - (self.start - self.floor) / self.steps, self.floor)
