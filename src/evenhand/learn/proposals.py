"""Section 5.2: M'_t, which memories to imagine beside the real one.

A proposal chooses before the outcome of the action is seen: it is given the memory, the step
number and what has been visited, and nothing else. The proof of Theorem 3 needs that, and a
proposal that peeks cannot be written.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp

from evenhand._util.registry import Registry
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float


class Proposal(ABC):
    """A set of imagined memories, of a fixed size with those that exist marked."""

    def steps_ahead(self, num_stakeholders: int) -> int:
        """How many steps it may take to get from the real memory to an imagined one, and past it.

        A table must reach so much further for the imagined memories to be in it.
        """
        return 0

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "it imagines …"."""


class Neighbours(Proposal):
    """Memories near the real one, found from it alone."""

    @abstractmethod
    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        """The imagined memories, and which of them exist."""


PROPOSALS = Registry("proposal")


@PROPOSALS.register("none")
@dataclass(frozen=True)
class NoProposal(Proposal):
    """No imagined memory: plain Q-learning."""

    def describe(self) -> str:
        return "nothing"


@PROPOSALS.register("above")
@dataclass(frozen=True)
class Above(Neighbours):
    """Appendix: all m' with m_i < m'_i ≤ m_i + reach for each i; never m itself."""

    reach: int = 2

    def __post_init__(self) -> None:
        _require_reach(self.reach)

    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        steps = range(1, self.reach + 1)
        offsets = jnp.asarray(list(itertools.product(steps, repeat=memory.shape[0])))
        return memory + offsets, jnp.ones(len(offsets), dtype=bool)

    def steps_ahead(self, num_stakeholders: int) -> int:
        return self.reach * num_stakeholders + 1

    def describe(self) -> str:
        return f"every memory in which all have 1 to {self.reach} more"


@PROPOSALS.register("around")
@dataclass(frozen=True)
class Around(Neighbours):
    """Appendix: of a difference ⟨x, 0⟩ or ⟨0, x⟩ those with x − reach … x + reach, without x.

    Those below 0 are dropped. Of ⟨0, 0⟩ the first entry is the one that varies.
    """

    reach: int = 5

    def __post_init__(self) -> None:
        _require_reach(self.reach)

    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        offsets = jnp.asarray([k for k in range(-self.reach, self.reach + 1) if k])
        leader = jnp.arange(memory.shape[0]) == jnp.argmax(memory)
        imagined = memory + offsets[:, None] * leader
        return imagined, jnp.min(imagined, axis=-1) >= 0

    def steps_ahead(self, num_stakeholders: int) -> int:
        return self.reach + 1

    def describe(self) -> str:
        return f"every lead within {self.reach} of the real one"


@PROPOSALS.register("all")
@dataclass(frozen=True)
class Everything(Proposal):
    """Every other memory there is."""

    def describe(self) -> str:
        return "every other memory"


@PROPOSALS.register("reachable")
@dataclass(frozen=True)
class ReachableNow(Proposal):
    """Every other memory that can be reached by this step number."""

    def describe(self) -> str:
        return "every other memory that can be reached by now"


@PROPOSALS.register("visited")
@dataclass(frozen=True)
class Visited(Proposal):
    """Memories that were visited before, drawn anew at every step, each as likely as it was."""

    number: int = 8

    def __post_init__(self) -> None:
        _require_reach(self.number)

    def describe(self) -> str:
        return f"{self.number} of the memories visited before"


def _require_reach(reach: int) -> None:
    if isinstance(reach, bool) or reach != int(reach) or reach < 1:
        raise BadParameter(f"{reach!r} is not how far or how many: give a whole number from 1.")
