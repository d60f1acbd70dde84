"""Deep Q-learning's parts: how the target network follows, and what an error costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import jax
import jax.numpy as jnp

from evenhand._util.checks import is_finite_number, require_whole
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

Weights = TypeVar("Weights")  # the weights of a network: a pytree of arrays


class TargetUpdate(ABC):
    """How the target network follows the network that learns."""

    @property
    def copies_rarely(self) -> bool:
        """Whether the target changes only where `is_due`, by a copy.

        The target's values can then be stored with what was experienced, and worked out again only
        when it changes.
        """
        return False

    def is_due(self, updates: Int[Array, ...]) -> Bool[Array, ...]:
        """Whether to copy the network after so many updates."""
        return jnp.zeros(jnp.shape(updates), dtype=bool)

    @abstractmethod
    def apply(self, target: Weights, weights: Weights) -> Weights:
        """The target after an update, from the target before it and the network after it."""


@dataclass(frozen=True)
class HardUpdate(TargetUpdate):
    """The target network is a copy of the network, made anew after every so many updates."""

    every: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", require_whole(self.every, "every"))

    @property
    def copies_rarely(self) -> bool:
        return True

    def is_due(self, updates: Int[Array, ...]) -> Bool[Array, ...]:
        return updates % self.every == 0

    def apply(self, target: Weights, weights: Weights) -> Weights:
        return target


@dataclass(frozen=True)
class PolyakUpdate(TargetUpdate):
    """With every update the target network moves a small share of the way to the network."""

    rate: float = 0.005

    def __post_init__(self) -> None:
        if not (is_finite_number(self.rate) and 0.0 < self.rate <= 1.0):
            raise BadParameter(f"rate is {self.rate!r}: it must lie in (0, 1].")

    def apply(self, target: Weights, weights: Weights) -> Weights:
        return jax.tree.map(lambda old, new: old + self.rate * (new - old), target, weights)


class Loss(ABC):
    """What an error of the value costs."""

    @abstractmethod
    def __call__(self, error: Float[Array, ...]) -> Float[Array, ...]: ...


@dataclass(frozen=True)
class Squared(Loss):
    """The square of the error."""

    def __call__(self, error: Float[Array, ...]) -> Float[Array, ...]:
        return error**2


@dataclass(frozen=True)
class Huber(Loss):
    """Half the square up to the threshold, and from there on in proportion."""

    threshold: float = 1.0

    def __post_init__(self) -> None:
        if not (is_finite_number(self.threshold) and self.threshold > 0.0):
            raise BadParameter(f"threshold is {self.threshold!r}: it must be a number above 0.")

    def __call__(self, error: Float[Array, ...]) -> Float[Array, ...]:
        size = jnp.abs(error)
        near = jnp.minimum(size, self.threshold)
        return 0.5 * near**2 + self.threshold * (size - near)
