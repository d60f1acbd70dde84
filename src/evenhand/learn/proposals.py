"""Section 5.2: M'_t, which memories to imagine beside the real one.

A proposal chooses before the outcome of the action is known: it is given the memory, the step
number and what has been visited, and nothing else. The proof of Theorem 3 needs that, and a
proposal that sees the outcome cannot be written.

A proposal of one's own is a subclass of `Proposal` with `near`, which networks and tables ask
alike. Tables know all their memories, so a proposal may choose among them instead (`rows`, `draw`).
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.registry import Registry
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

    from evenhand.learn.tabular.memory_rows import MemoryRows
    from evenhand.memory.memory import Memory

MAX_IMAGINED = 1 << 24  # entries in the list of rows that may be imagined from each row
MOST_NEAR = 100_000  # memories that are imagined at a step


class ProposalContext(NamedTuple):
    """What a proposal for tables may know at a step: all of it from before the outcome."""

    row: Int[Array, ""]  # the real one
    listed: Int[Array, " proposal"]  # what `rows` says of it
    alike: Bool[Array, " row"]  # the rows that differ from the real one in their memory alone
    reachable: Bool[Array, " row"]  # the rows that can be reached by this step number
    visits: Float[Array, " row"]  # how often each was the real one


class Proposal(ABC):
    """A set of imagined memories, of a fixed size with those that exist marked.

    Subclasses must be hashable: make them frozen dataclasses.
    """

    @property
    def imagines(self) -> bool:
        """Whether it ever imagines anything."""
        return True

    @property
    def num_dice(self) -> int:
        """How many random numbers `draw` takes at each step."""
        return 0

    def steps_ahead(self, num_stakeholders: int) -> int:
        """How many steps it may take to get from the real memory to an imagined one, and past it.

        A table must reach so much further for the imagined memories to be in it.
        """
        return 0

    def near(self, memory: Any) -> tuple[Any, Bool[Array, " proposal"]]:
        """The imagined memories, on a leading axis, and which of them exist.

        `memory` is the part of the real memory that may be imagined otherwise. It is asked under
        `jax.vmap`, for networks, and for tables unless `rows` says otherwise.
        """
        raise BadParameter(
            f"{type(self).__name__} needs a list of all memories, which a deep agent does not "
            "have: use Above or Around."
        )

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        """For each row of a table the rows that may be imagined from it; −1 for none."""
        return memories.near(self)

    def draw(
        self, context: ProposalContext, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        """The rows of M'_t at a step, and which of them exist; those below 0 never do."""
        return context.listed, context.listed >= 0

    def require_near(self, memory: Memory, num_stakeholders: int) -> None:
        """Refuse a proposal that cannot be asked from a memory alone."""
        jax.eval_shape(self.near, memory.imaginable(memory.init(num_stakeholders)))

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "it imagines …"."""


PROPOSALS = Registry("proposal")


@PROPOSALS.register("none")
@dataclass(frozen=True)
class NoProposal(Proposal):
    """No imagined memory: plain Q-learning."""

    @property
    def imagines(self) -> bool:
        return False

    def near(self, memory: Any) -> tuple[Any, Bool[Array, " proposal"]]:
        nothing = jax.tree.map(lambda leaf: jnp.zeros((0, *jnp.shape(leaf))), memory)
        return nothing, jnp.zeros(0, dtype=bool)

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return np.zeros((memories.num_rows, 0), dtype=np.int32)

    def describe(self) -> str:
        return "nothing"


@PROPOSALS.register("above")
@dataclass(frozen=True)
class Above(Proposal):
    """Appendix: all m' with m_i < m'_i ≤ m_i + reach for each i; never m itself."""

    reach: int = 2

    def __post_init__(self) -> None:
        _require_reach(self.reach)

    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        _require_vector(self, memory)
        _require_few(self, self.reach, memory.shape[0])
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
        _require_reach(self.reach)

    def near(
        self, memory: Float[Array, " n"]
    ) -> tuple[Float[Array, "proposal n"], Bool[Array, " proposal"]]:
        _require_vector(self, memory)
        _require_few(self, 2 * self.reach)
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

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return _all_others(memories)

    def describe(self) -> str:
        return "every other memory"


@PROPOSALS.register("reachable")
@dataclass(frozen=True)
class ReachableNow(Proposal):
    """Every other memory that can be reached by this step number."""

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return _all_others(memories)

    def draw(
        self, context: ProposalContext, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        return context.listed, (context.listed >= 0) & context.reachable[context.listed]

    def describe(self) -> str:
        return "every other memory that can be reached by now"


@PROPOSALS.register("visited")
@dataclass(frozen=True)
class Visited(Proposal):
    """Memories that were visited before, drawn anew at every step, each as likely as it was.

    They are imagined in the world as it is: other worlds are not imagined.
    """

    number: int = 8

    def __post_init__(self) -> None:
        _require_reach(self.number)

    @property
    def num_dice(self) -> int:
        return self.number

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return np.zeros((memories.num_rows, 0), dtype=np.int32)

    def draw(
        self, context: ProposalContext, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        chance = jnp.cumsum(jnp.where(context.alike, context.visits, 0.0))
        rows = jnp.searchsorted(chance, dice * chance[-1], side="right")
        rows = jnp.minimum(rows, len(chance) - 1).astype(jnp.int32)
        # One drawn twice counts once, and the real one is not imagined.
        first = jnp.argmax(rows[:, None] == rows[None, :], axis=1) == jnp.arange(len(rows))
        return rows, first & (rows != context.row) & (chance[-1] > 0)

    def describe(self) -> str:
        return f"{self.number} of the memories visited before"


def _all_others(memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
    """Every other row of the same group."""
    group = memories.groups
    largest = int(np.bincount(group).max())
    if largest * len(group) > MAX_IMAGINED:
        raise BadParameter(
            f"every one of {len(group)} states would imagine up to {largest} others: use Above, "
            "Around or Visited, which imagine few."
        )
    others = np.full((len(group), largest - 1), -1, dtype=np.int32)
    for number in range(group.max() + 1):
        members = np.flatnonzero(group == number)
        for row in members:
            rest = members[members != row]
            others[row, : len(rest)] = rest
    return others


def _require_few(proposal: Proposal, base: int, power: int = 1) -> None:
    """Refuse to imagine base^power memories at every step, before they are listed."""
    if power * math.log2(base) > math.log2(MOST_NEAR):
        number = f"{base:,}" if power == 1 else f"{base:,} to the power of {power:,}"
        raise BadParameter(
            f"{type(proposal).__name__} imagines {number} memories at every step, and at most "
            f"{MOST_NEAR:,} are imagined: ask for fewer stakeholders or a smaller reach."
        )


def _require_reach(reach: int) -> None:
    if isinstance(reach, bool) or reach != int(reach) or reach < 1:
        raise BadParameter(f"{reach!r} is not how far or how many: give a whole number from 1.")


def _require_vector(proposal: Proposal, memory: Any) -> None:
    if getattr(memory, "ndim", None) != 1:
        raise BadParameter(
            f"{type(proposal).__name__} imagines memories of one number per stakeholder or group: "
            "use it with Full, Min or a memory of groups, or use another proposal."
        )
