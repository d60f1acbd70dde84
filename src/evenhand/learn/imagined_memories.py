"""m' (section 5.2): which memories to imagine beside the one that was real."""

from __future__ import annotations

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import require_whole
from evenhand._util.registry import Registry
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Memory

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

    from evenhand.learn.tabular.tabular_model import MemoryRows


# Section 5.2: what a set of imagined memories is, and what it may be chosen by.
#
# A proposal chooses before the outcome of the action is known: it is given the memory, the past and
# random numbers of its own, and nothing else. The proof of Theorem 3 needs that, and a proposal
# that sees the outcome cannot be written.
#
# A proposal of one's own is a subclass of `Proposal` with `near`, which networks and tables ask
# alike. One that draws at random, or from the past, has `imagine` for networks. Tables know all
# their memories, so a proposal may choose among them instead (`rows`, `draw`).


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


# The appendix's proposals: every memory a little above, or around, the real one.

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


# Proposals that draw a fixed number of memories at every step, however many stakeholders.
#
# They cost as much as the number times what one memory takes. The draw is made before the outcome
# is seen and depends on nothing but the past, so that Theorem 3 holds for them too.


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


# Proposals for tables, which know all their memories.

MAX_IMAGINED = 1 << 24  # entries in the list of rows that may be imagined from each row


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


# Section 5.2: M'_t, which memories to imagine beside the real one.

__all__ = [
    "PROPOSALS",
    "Above",
    "Around",
    "Everything",
    "NoProposal",
    "Past",
    "Proposal",
    "ProposalContext",
    "ReachableNow",
    "Replayed",
    "SomeAbove",
    "SomeAround",
    "Visited",
]


# Section 5.2: the memories that a proposal imagines beside a real one, as agents store them.


class PastStep(NamedTuple):
    """A step that was taken, and the imaginable part of the memory before it."""

    memory: Any
    step: Step


def imagine_memories(
    proposal: Proposal,
    memory: Memory,
    key: PRNGKeyArray,
    real: Any,
    recalled: PastStep | None,
    exist: Bool[Array, " recalled"],
) -> tuple[Any, Bool[Array, " proposal"]]:
    """Whole memories, on a leading axis, and which of them exist: never the real one.

    Args:
        proposal: What to imagine.
        memory: The memory whose states they are.
        key: Randomness of the proposal's own.
        real: The state of the memory before the step.
        recalled: Steps of the past, as many as the proposal asks for.
        exist: Which of those were taken.
    """

    def update(part: Any, step: Step) -> Any:
        return memory.imaginable(memory.update(memory.imagined(real, part), step))

    visited, steps = (None, None) if recalled is None else recalled
    past = Past(memory.imaginable(real), visited, steps, exist, update)
    parts, there = proposal.imagine(key, past)
    imagined = jax.vmap(lambda part: memory.imagined(real, part))(parts)
    return imagined, there & jax.vmap(lambda one: _differ(one, real))(imagined)


def _differ(one: Any, other: Any) -> Bool[Array, ""]:
    leaves = jax.tree.leaves(jax.tree.map(lambda a, b: jnp.any(a != b), one, other))
    return functools.reduce(jnp.logical_or, leaves)
