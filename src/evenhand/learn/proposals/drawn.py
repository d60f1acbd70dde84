"""Proposals that draw a fixed number of memories at every step, however many stakeholders.

They cost as much as the number times what one memory takes. The draw is made before the outcome is
seen and depends on nothing but the past, so that Theorem 3 holds for them too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import require_whole
from evenhand.errors import BadParameter
from evenhand.learn.proposals.nearby import Around
from evenhand.learn.proposals.proposal import (
    PROPOSALS,
    Past,
    Proposal,
    ProposalContext,
    require_vector,
)

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

    from evenhand.learn.tabular.memory_rows import MemoryRows


@dataclass(frozen=True)
class _Some(Proposal):
    """A fixed number of memories, drawn at every step."""

    number: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", require_whole(self.number, "number"))

    @property
    def num_dice(self) -> int:
        return self.number

    def draw(
        self, context: ProposalContext, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        """So many of the listed rows, each as likely; one drawn twice counts once."""
        size = context.listed.shape[0]
        rows = context.listed[(dice * size).astype(jnp.int32)]  # dice are below 1
        return rows, _first(rows) & (rows >= 0)


@PROPOSALS.register("some_above")
@dataclass(frozen=True)
class SomeAbove(_Some):
    """So many of the memories in which each has 0 to `reach` more, drawn at every step.

    Each stakeholder's offset is drawn by itself, so that leads change; never m itself.
    """

    reach: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reach", require_whole(self.reach, "reach"))

    def imagine(
        self, key: PRNGKeyArray, past: Past
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        shape = self.number, past.memory.shape[0]
        offsets = jax.random.randint(key, shape, 0, self.reach + 1)
        return past.memory + offsets, jnp.ones(self.number, dtype=bool)

    def require_memory(self, memory: Any) -> None:
        require_vector(self, memory)

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        """All of them: a table has few stakeholders."""
        return memories.near(_EveryOffset(self.reach))

    def steps_ahead(self, num_stakeholders: int) -> int:
        return self.reach * num_stakeholders + 1

    def describe(self) -> str:
        return f"{self.number} memories in which each has 0 to {self.reach} more"


@PROPOSALS.register("some_around")
@dataclass(frozen=True)
class SomeAround(_Some):
    """So many of the leads within `reach` of the real one, drawn at every step: see `Around`."""

    reach: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reach", require_whole(self.reach, "reach"))

    def imagine(
        self, key: PRNGKeyArray, past: Past
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        memory = past.memory
        drawn = jax.random.randint(key, (self.number, 1), 0, 2 * self.reach)
        offsets = drawn - self.reach + (drawn >= self.reach)  # without 0
        leader = jnp.arange(memory.shape[0]) == jnp.argmax(memory)
        imagined = memory + offsets * leader
        return imagined, jnp.min(imagined, axis=1) >= 0

    def require_memory(self, memory: Any) -> None:
        require_vector(self, memory)

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return memories.near(Around(self.reach))

    def steps_ahead(self, num_stakeholders: int) -> int:
        return self.reach + 1

    def describe(self) -> str:
        return f"{self.number} of the leads within {self.reach} of the real one"


@PROPOSALS.register("visited")
@dataclass(frozen=True)
class Visited(_Some):
    """Memories that were real before, drawn anew at every step, each as likely as it was.

    They are imagined in the world as it is: other worlds are not imagined. Networks draw from the
    last steps that were taken, tables from all. Any memory can be imagined so, in any unit.
    """

    @property
    def num_recalled(self) -> int:
        return self.number

    def imagine(self, key: PRNGKeyArray, past: Past) -> tuple[Any, Bool[Array, " proposal"]]:
        return past.visited, past.exist

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return np.zeros((memories.num_rows, 0), dtype=np.int32)

    def draw(
        self, context: ProposalContext, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        chance = jnp.cumsum(jnp.where(context.alike, context.visits, 0.0))
        rows = jnp.searchsorted(chance, dice * chance[-1], side="right")
        rows = jnp.minimum(rows, len(chance) - 1).astype(jnp.int32)
        return rows, _first(rows) & (rows != context.row) & (chance[-1] > 0)

    def describe(self) -> str:
        return f"{self.number} of the memories visited before"


@PROPOSALS.register("replayed")
@dataclass(frozen=True)
class Replayed(_Some):
    """What would be remembered if up to `reach` other steps, drawn from the past, had come too.

    The memory's own μ takes them in, so that what is imagined could be, whatever is remembered and
    in whatever unit: for networks.
    """

    reach: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reach", require_whole(self.reach, "reach"))

    @property
    def num_recalled(self) -> int:
        return self.number * self.reach

    def imagine(self, key: PRNGKeyArray, past: Past) -> tuple[Any, Bool[Array, " proposal"]]:
        shape = self.number, self.reach
        grouped = lambda leaf: leaf.reshape(*shape, *leaf.shape[1:])  # noqa: E731
        steps, exist = jax.tree.map(grouped, (past.steps, past.exist))
        lengths = jax.random.randint(key, (self.number,), 1, self.reach + 1)

        def one(steps: Any, length: Array) -> Any:
            memory = past.memory
            for k in range(self.reach):
                step = jax.tree.map(lambda leaf, k=k: leaf[k], steps)
                after = past.update(memory, step)
                memory = jax.tree.map(
                    lambda new, old, k=k: jnp.where(k < length, new, old), after, memory
                )
            return memory

        return jax.vmap(one)(steps, lengths), exist[:, 0]

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        raise BadParameter(
            "Replayed takes in steps of the past, and tables keep none: use Visited, SomeAbove or "
            "Everything for them."
        )

    def describe(self) -> str:
        return f"{self.number} memories of having taken 1 to {self.reach} other steps as well"


@dataclass(frozen=True)
class _EveryOffset(Proposal):
    """All m' with m_i ≤ m'_i ≤ m_i + reach for each i, without m: what `SomeAbove` draws from."""

    reach: int

    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        require_vector(SomeAbove(), memory)
        axes = np.indices((self.reach + 1,) * memory.shape[0]).reshape(memory.shape[0], -1)
        offsets = jnp.asarray(axes.T[1:])
        return memory + offsets, jnp.ones(len(offsets), dtype=bool)

    def describe(self) -> str:
        return f"every memory in which each has 0 to {self.reach} more"


def _first(rows: Int[Array, " proposal"]) -> Bool[Array, " proposal"]:
    """Which entries are the first of their value."""
    return jnp.argmax(rows[:, None] == rows[None, :], axis=1) == jnp.arange(len(rows))
