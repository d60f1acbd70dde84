"""Whose features are whose: which numbers of an observation belong to which stakeholder.

An environment says so with `feature_layout`. A network that treats stakeholders alike then knows
each one's own numbers from those of all, and what it learned can be used for another number of
stakeholders.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import UnequalLengths
from evenhand.memory.memory import Attribute

if TYPE_CHECKING:
    from jaxtyping import Array, Float


@dataclass(frozen=True)
class FeatureLayout:
    """Which numbers of an observation are each stakeholder's own, and which are of the whole.

    Args:
        per_stakeholder: For each feature that every stakeholder has, the places of its numbers in
            the observation: one place per stakeholder, in their order.
        shared: The places of the numbers that belong to nobody in particular.

    Three stakeholders with two numbers each (who is there, how urgent it is), and the hour:

    >>> FeatureLayout.in_blocks(3, features=2, shared=1)
    FeatureLayout(per_stakeholder=((0, 1, 2), (3, 4, 5)), shared=(6,))
    >>> FeatureLayout.in_turn(3, features=2, shared=1)
    FeatureLayout(per_stakeholder=((0, 2, 4), (1, 3, 5)), shared=(6,))
    """

    per_stakeholder: tuple[tuple[int, ...], ...] = ()
    shared: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        blocks = tuple(_places(block) for block in self.per_stakeholder)
        object.__setattr__(self, "per_stakeholder", blocks)
        object.__setattr__(self, "shared", _places(self.shared))

    @classmethod
    def in_blocks(cls, num_stakeholders: int, features: int = 1, shared: int = 0) -> FeatureLayout:
        """The first feature of all, then the second of all, and so on; what is shared comes last.

        Args:
            num_stakeholders: How many there are.
            features: How many numbers each has.
            shared: How many numbers belong to nobody in particular.
        """
        owned = np.arange(num_stakeholders * features).reshape(features, num_stakeholders)
        return cls(tuple(map(_places, owned)), _after(owned, shared))

    @classmethod
    def in_turn(cls, num_stakeholders: int, features: int = 1, shared: int = 0) -> FeatureLayout:
        """All features of the first stakeholder, then of the second; what is shared comes last.

        Args:
            num_stakeholders: How many there are.
            features: How many numbers each has.
            shared: How many numbers belong to nobody in particular.
        """
        owned = np.arange(num_stakeholders * features).reshape(num_stakeholders, features)
        return cls(tuple(map(_places, owned.T)), _after(owned, shared))

    @property
    def size(self) -> int:
        """How many numbers an observation has."""
        return sum(map(len, self.per_stakeholder)) + len(self.shared)

    def require_fit(self, num_stakeholders: int, size: int) -> None:
        """Refuse a layout that does not name every number of an observation once.

        Args:
            num_stakeholders: How many there are.
            size: How many numbers an observation has.
        """
        for number, block in enumerate(self.per_stakeholder):
            if len(block) != num_stakeholders:
                raise UnequalLengths(
                    f"feature {number} of the layout has {len(block)} places for "
                    f"{num_stakeholders} stakeholders: give one each."
                )
        named = sorted((*(i for block in self.per_stakeholder for i in block), *self.shared))
        if named != list(range(size)):
            missing = sorted(set(range(size)) - set(named))
            what = f"place {missing[0]} is missing" if missing else "a place is named twice"
            if named and (named[0] < 0 or named[-1] >= size):
                outside = named[0] if named[0] < 0 else named[-1]
                what = f"place {outside} does not exist"
            raise UnequalLengths(
                f"the layout does not fit an observation of {size} numbers: {what}. Name every "
                f"place from 0 to {size - 1} once, those of nobody in particular as shared."
            )

    def attributes(
        self, observation: Float[Array, " feature"], bounds: tuple[Any, Any] = (0.0, 1.0)
    ) -> tuple[Attribute, ...]:
        """An observation in its parts: a number per stakeholder each, and the shared ones.

        Args:
            observation: The numbers.
            bounds: The least and the greatest observation, as `Environment.bounds` has them.
        """
        least, most = (np.broadcast_to(np.asarray(bound, float), self.size) for bound in bounds)
        parts = [(block, False) for block in self.per_stakeholder]
        parts += [(self.shared, True)] if self.shared else []
        return tuple(
            Attribute(observation[np.asarray(block)], *_range(least, most, block), shared=shared)
            for block, shared in parts
        )


def _range(least: np.ndarray, most: np.ndarray, block: tuple[int, ...]) -> tuple[float, float]:
    """The range of a block; 0 to 1, which leaves numbers as they are, where it has no bounds."""
    low, high = float(least[list(block)].min()), float(most[list(block)].max())
    return (low, high) if np.isfinite(high - low) else (0.0, 1.0)


def _after(owned: np.ndarray, shared: int) -> tuple[int, ...]:
    return tuple(range(owned.size, owned.size + shared))


def _places(places: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(place) for place in places)
