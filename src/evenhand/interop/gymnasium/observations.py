"""Section 5.1, ⟨s, m⟩ as one observation: where the memory joins what the environment shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from evenhand.errors import CannotCarry
from evenhand.memory.feature_layout import FeatureLayout

if TYPE_CHECKING:
    from jaxtyping import Float


class Join(ABC):
    """How an observation and what is remembered become one observation."""

    @abstractmethod
    def space(self, shown: spaces.Space, size: int) -> spaces.Space:
        """The space of both together; refuses one that has no place for `size` more numbers."""

    @abstractmethod
    def join(self, shown: spaces.Space, observation: Any, seen: Float[np.ndarray, " size"]) -> Any:
        """Both together."""


@dataclass(frozen=True)
class FlatObservation(Join):
    """One vector: the observation flattened, then what is remembered."""

    def space(self, shown: spaces.Space, size: int) -> spaces.Space:
        flat = _flattened(shown)
        if not isinstance(flat, spaces.Box):
            raise CannotCarry(
                f"observations of the kind {type(shown).__name__} are not vectors of one length, "
                "so that the memory cannot be put behind them: use join=DictObservation()."
            )
        if isinstance(shown, spaces.Box) and len(shown.shape) == 3 and shown.dtype == np.uint8:
            raise CannotCarry(
                "observations are pictures, and a picture flattened and joined with the memory is "
                "no longer a picture: use join=DictObservation()."
            )
        beyond = np.full(size, np.inf)
        low = np.concatenate((flat.low, -beyond)).astype(np.float32)
        return spaces.Box(low, np.concatenate((flat.high, beyond)).astype(np.float32))

    def join(self, shown: spaces.Space, observation: Any, seen: Float[np.ndarray, " size"]) -> Any:
        flat = np.asarray(spaces.flatten(shown, observation), dtype=np.float32)
        return np.concatenate((flat, seen))


@dataclass(frozen=True)
class DictObservation(Join):
    """A dictionary: the observation as it is, and what is remembered beside it."""

    name: str = "memory"

    def space(self, shown: spaces.Space, size: int) -> spaces.Space:
        beside = spaces.Box(-np.inf, np.inf, (size,), dtype=np.float32)
        if not isinstance(shown, spaces.Dict):
            return spaces.Dict({"observation": shown, self.name: beside})
        if self.name in shown.spaces:
            raise CannotCarry(
                f"observations have a part called {self.name!r} already: give the memory another "
                "name, as in join=DictObservation('remembered')."
            )
        return spaces.Dict({**shown.spaces, self.name: beside})

    def join(self, shown: spaces.Space, observation: Any, seen: Float[np.ndarray, " size"]) -> Any:
        if isinstance(shown, spaces.Dict):
            return {**observation, self.name: seen}
        return {"observation": observation, self.name: seen}


def layout_of(shown: spaces.Space, num_stakeholders: int) -> FeatureLayout | None:
    """Whose numbers are whose, as far as the shapes of a space of observations say so.

    An array whose first axis is as long as there are stakeholders has a row for each; one of so
    many choices is about one of them. What no shape tells is nobody's; None: it tells nothing.

    >>> both = spaces.Dict({"asks": spaces.Box(0, 1, (3, 2)), "hour": spaces.Box(0, 24, (1,))})
    >>> layout_of(both, 3)
    FeatureLayout(per_stakeholder=((0, 2, 4), (1, 3, 5)), shared=(6,))
    """
    owned = tuple(_owned(shown, num_stakeholders, 0))
    if not owned:
        return None
    taken = {place for block in owned for place in block}
    rest = (place for place in range(spaces.flatdim(shown)) if place not in taken)
    return FeatureLayout(owned, tuple(rest))


def _owned(shown: spaces.Space, number: int, start: int) -> Iterator[tuple[int, ...]]:
    """The places, in the flattened observation, of each feature that every stakeholder has."""
    parts = _parts(shown)
    if parts:
        for part in parts:
            yield from _owned(part, number, start)
            start += spaces.flatdim(part)
        return
    one_hot = isinstance(shown, spaces.Discrete) and shown.n == number
    rows = isinstance(shown, spaces.Box | spaces.MultiBinary) and shown.shape[:1] == (number,)
    if one_hot or rows:
        features = spaces.flatdim(shown) // number
        for feature in range(features):
            yield tuple(start + i * features + feature for i in range(number))


def _parts(shown: spaces.Space) -> tuple[spaces.Space, ...]:
    if isinstance(shown, spaces.Dict):
        return tuple(shown.spaces.values())
    return tuple(shown.spaces) if isinstance(shown, spaces.Tuple) else ()


def _flattened(shown: spaces.Space) -> spaces.Space | None:
    try:
        return spaces.flatten_space(shown)
    except (NotImplementedError, ValueError):
        return None
