"""Section 5.2: what a set of imagined memories is, and what it may be chosen by.

A proposal chooses before the outcome of the action is known: it is given the memory, the past and
random numbers of its own, and nothing else. The proof of Theorem 3 needs that, and a proposal that
sees the outcome cannot be written.

A proposal of one's own is a subclass of `Proposal` with `near`, which networks and tables ask
alike. One that draws at random, or from the past, has `imagine` for networks. Tables know all their
memories, so a proposal may choose among them instead (`rows`, `draw`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.registry import Registry
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

    from evenhand.learn.tabular.memory_rows import MemoryRows
    from evenhand.memory.memory import Memory


class ProposalContext(NamedTuple):
    """What a proposal for tables may know at a step: all of it from before the outcome."""

    row: Int[Array, ""]  # the real one
    listed: Int[Array, " proposal"]  # what `rows` says of it
    alike: Bool[Array, " row"]  # the rows that differ from the real one in their memory alone
    reachable: Bool[Array, " row"]  # the rows that can be reached by this step number
    visits: Float[Array, " row"]  # how often each was the real one


class Past(NamedTuple):
    """What a proposal for networks may know at a step: all of it from before the outcome.

    Memories are the parts of them that may be imagined otherwise. `recalled` of the past are drawn
    anew at every step, with replacement, as many as `Proposal.num_recalled` says.
    """

    memory: Any  # the real one
    visited: Any  # the real ones at the recalled steps
    steps: Step | None  # what happened at the recalled steps
    exist: Bool[Array, " recalled"]  # whether there was a past to recall
    update: Callable[[Any, Step], Any]  # μ: the memory after a step


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

    @property
    def num_recalled(self) -> int:
        """How many steps of the past `imagine` is given at each step."""
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
            "have: use Above, Around or one that draws, such as Replayed or Visited."
        )

    def imagine(self, key: PRNGKeyArray, past: Past) -> tuple[Any, Bool[Array, " proposal"]]:
        """For networks: the imagined memories of a step, and which of them exist.

        Args:
            key: Randomness of its own, independent of what is about to happen.
            past: What is known before the outcome.
        """
        return self.near(past.memory)

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        """For each row of a table the rows that may be imagined from it; −1 for none."""
        return memories.near(self)

    def draw(
        self, context: ProposalContext, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        """The rows of M'_t at a step, and which of them exist; those below 0 never do."""
        return context.listed, context.listed >= 0

    def require_near(self, memory: Memory, num_stakeholders: int) -> None:
        """Refuse a proposal that cannot be asked by a deep agent, with this memory."""
        if type(self).imagine is not Proposal.imagine:
            self.require_memory(memory.imaginable(memory.init(num_stakeholders)))
            return
        jax.eval_shape(self.near, memory.imaginable(memory.init(num_stakeholders)))

    def require_memory(self, memory: Any) -> None:
        """Refuse a memory of a form that it cannot imagine otherwise. The default takes any."""

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


def require_vector(proposal: Proposal, memory: Any) -> None:
    """Refuse a memory that is not one number per stakeholder or group."""
    if getattr(memory, "ndim", None) != 1:
        raise BadParameter(
            f"{type(proposal).__name__} imagines memories of one number per stakeholder or group, "
            "and this one has another form: use Replayed or Visited, which imagine any."
        )
