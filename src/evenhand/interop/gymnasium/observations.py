"""Section 5.1, ⟨s, m⟩ as one observation: where the memory joins what the environment shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from evenhand.errors import CannotCarry

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
                "so that the memory cannot be put behind them: use join=Beside()."
            )
        if isinstance(shown, spaces.Box) and len(shown.shape) == 3 and shown.dtype == np.uint8:
            raise CannotCarry(
                "observations are pictures, and one flattened with the memory behind it is none "
                "any more: use join=Beside()."
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
                "name, as in join=Beside('remembered')."
            )
        return spaces.Dict({**shown.spaces, self.name: beside})

    def join(self, shown: spaces.Space, observation: Any, seen: Float[np.ndarray, " size"]) -> Any:
        if isinstance(shown, spaces.Dict):
            return {**observation, self.name: seen}
        return {"observation": observation, self.name: seen}


def _flattened(shown: spaces.Space) -> spaces.Space | None:
    try:
        return spaces.flatten_space(shown)
    except (NotImplementedError, ValueError):
        return None
