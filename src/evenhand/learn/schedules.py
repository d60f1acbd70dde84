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


@dataclass(frozen=True)
class Exploration:
    """Epsilon-greedy by augmented state: each visit multiplies its own epsilon, down to a floor."""

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
        """Epsilon after a visit."""
        return jnp.maximum(epsilon * self.factor, self.floor)
