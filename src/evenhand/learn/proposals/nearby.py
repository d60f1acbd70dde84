"""The appendix's proposals: every memory a little above, or around, the real one."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp

from evenhand._util.checks import require_whole
from evenhand.errors import BadParameter
from evenhand.learn.proposals.proposal import PROPOSALS, Proposal, require_vector

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float

MOST_NEAR = 1 << 12  # memories that are imagined at a step


@PROPOSALS.register("above")
@dataclass(frozen=True)
class Above(Proposal):
    """Appendix: all m' with m_i < m'_i ≤ m_i + reach for each i; never m itself.

    They are reach^n: from a dozen stakeholders on use `SomeAbove`, which draws a few of them. With
    a reach of 1 all leads stay as they are.
    """

    reach: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", require_whole(self.reach, "reach"))

    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        require_vector(self, memory)
        _require_few(self, self.reach, "SomeAbove", memory.shape[0])
        steps = range(1, self.reach + 1)
        offsets = jnp.asarray(list(itertools.product(steps, repeat=memory.shape[0])))
        return memory + offsets, jnp.ones(len(offsets), dtype=bool)

    def steps_ahead(self, num_stakeholders: int) -> int:
        return self.reach * num_stakeholders + 1

    def describe(self) -> str:
        return f"every memory in which all have 1 to {self.reach} more"


@PROPOSALS.register("around")
@dataclass(frozen=True)
class Around(Proposal):
    """Appendix: of a difference ⟨x, 0⟩ or ⟨0, x⟩ those with x − reach … x + reach, without x.

    Those below 0 are dropped. Of ⟨0, 0⟩ the first entry is the one that varies.
    """

    reach: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", require_whole(self.reach, "reach"))

    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        require_vector(self, memory)
        _require_few(self, 2 * self.reach, "SomeAround")
        offsets = jnp.asarray([k for k in range(-self.reach, self.reach + 1) if k])
        leader = jnp.arange(memory.shape[0]) == jnp.argmax(memory)
        imagined = memory + offsets[:, None] * leader
        return imagined, jnp.min(imagined, axis=1) >= 0

    def steps_ahead(self, num_stakeholders: int) -> int:
        return self.reach + 1

    def describe(self) -> str:
        return f"every lead within {self.reach} of the real one"


def _require_few(proposal: Proposal, base: int, instead: str, power: int = 1) -> None:
    """Refuse to imagine base^power memories at every step, before they are listed."""
    if power * math.log2(base) > math.log2(MOST_NEAR):
        number = f"{base:,}" if power == 1 else f"{base:,} to the power of {power:,}"
        raise BadParameter(
            f"{type(proposal).__name__} imagines {number} memories at every step, and at most "
            f"{MOST_NEAR:,} are imagined: use {instead}, which draws a few of them."
        )
