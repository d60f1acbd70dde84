"""⟨M, m_init, μ⟩ (section 5.1): memories that an agent can see, each an `init` and an `update`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from evenhand._util.checks import MOST_STEPS, require_whole
from evenhand._util.numbers import Array, namespace
from evenhand._util.registry import Registry
from evenhand.errors import SchemeFileError
from evenhand.fairness.groups import Exchanging, Groups, Labels, refine
from evenhand.fairness.scheme import from_table, to_table
from evenhand.fairness.status import Decayed, Status, Window
from evenhand.fairness.trace import Step

if TYPE_CHECKING:
    from jaxtyping import Float


# What an agent can observe, in parts that say what they are, so that they can be coded.


class Attribute(NamedTuple):
    """Something observed: a number for each stakeholder, for each group, or of the whole.

    Numbers that are `whole` lie in least … most, both included, so that they can be coded in bits.
    `counts` are amounts received, of which the differences matter most. As many numbers as there
    are stakeholders are one each, unless they are `shared`.
    """

    values: Any
    least: float = 0.0
    most: float = 1.0
    whole: bool = False
    counts: bool = False
    groups: Groups | None = None
    shared: bool = False


# Section 5.1: ⟨M, m_init, μ⟩, what a policy remembers of the past.
#
# A memory is an init/update pair of pure functions, for NumPy and for JAX under jit and vmap.
# Unlike the paper's μ(m, a, s'), `update` sees the whole step: whether a doughnut was wasted is
# decided by who stood at the counter, which is in s.

Value = TypeVar("Value")  # a memory state m: an array, or a tuple of memory states


class Memory(Exchanging, ABC, Generic[Value]):
    """Definition "memory augmentation": m_init and μ, the set M being whatever they reach."""

    @abstractmethod
    def init(self, num_stakeholders: int) -> Value:
        """m_init; refuses a number of stakeholders that does not fit."""

    @abstractmethod
    def update(self, memory: Value, step: Step) -> Value:
        """μ: the memory after a step."""

    def implied_status(self, memory: Value) -> Float[Array, " status"] | None:
        """The status vector this memory claims to know, as far as the reward depends on it.

        Full knows the counts. Min knows them up to a common amount, which is enough where the
        reward depends on differences only. A memory that claims nothing returns None.
        Claims are checked: see `Problem.require_memory_pays`.
        """
        return None

    def imaginable(self, memory: Value) -> Value:
        """The part of the memory that may be imagined otherwise: what it claims to know."""
        return memory

    def imagined(self, memory: Value, part: Value) -> Value:
        """The memory with that part replaced, or the nearest one that can be.

        Clocks and the like stay as they are.
        """
        return part

    def attributes(self, memory: Value, horizon: int, size: int) -> tuple[Attribute, ...]:
        """The memory in its parts, for those who code it, after at most `horizon` steps."""
        return _received(memory, horizon)

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "it remembers …"."""


MEMORIES = Registry("memory")


@MEMORIES.register("full")
@dataclass(frozen=True)
class Full(Memory[Array]):
    """Everything each stakeholder has received so far."""

    symmetric = True

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros(num_stakeholders)

    def update(self, memory: Array, step: Step) -> Array:
        return memory + step.rewards

    def implied_status(self, memory: Array) -> Float[Array, " status"]:
        return memory

    def describe(self) -> str:
        return "all that each stakeholder has received"


@MEMORIES.register("min")
@dataclass(frozen=True)
class Min(Memory[Array]):
    """Each stakeholder's lead over the one who has received least."""

    symmetric = True

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros(num_stakeholders)

    def update(self, memory: Array, step: Step) -> Array:
        return _minus_least(memory + step.rewards)

    def imagined(self, memory: Array, part: Array) -> Array:
        return _minus_least(part)

    def implied_status(self, memory: Array) -> Float[Array, " status"]:
        return memory

    def describe(self) -> str:
        return "each stakeholder's lead over the one who has received least"


@MEMORIES.register("reset")
@dataclass(frozen=True)
class Reset(Memory[Array]):
    """What each has received since all were last equal: it counts from zero again then."""

    symmetric = True

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros(num_stakeholders)

    def update(self, memory: Array, step: Step) -> Array:
        received = memory + step.rewards
        xp = namespace(received)
        return xp.where(xp.all(received == received[0]), xp.zeros_like(received), received)

    def describe(self) -> str:
        return "what each stakeholder has received since all were last equal"


@MEMORIES.register("group_full")
@dataclass(frozen=True)
class GroupFull(Memory[Array]):
    """Everything each group has received so far."""

    groups: Groups

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", Groups.of(self.groups))

    def init(self, num_stakeholders: int) -> Array:
        self.groups.require_fit(num_stakeholders)
        return np.zeros(len(self.groups.names))

    def update(self, memory: Array, step: Step) -> Array:
        return memory + self.groups.totals(step.rewards)

    def implied_status(self, memory: Array) -> Float[Array, " status"]:
        return memory

    def exchangeable(self, size: int) -> Labels:
        return self.groups.labels(size)

    def attributes(self, memory: Array, horizon: int, size: int) -> tuple[Attribute, ...]:
        return _received(memory, horizon, self.groups)

    def describe(self) -> str:
        return f"all that each group ({', '.join(self.groups.names)}) has received"


@MEMORIES.register("group_difference")
@dataclass(frozen=True)
class GroupDifference(Memory[Array]):
    """Each group's lead over the one that has received least: ⟨x, 0⟩ or ⟨0, x⟩ for two groups."""

    groups: Groups

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", Groups.of(self.groups))

    def init(self, num_stakeholders: int) -> Array:
        self.groups.require_fit(num_stakeholders)
        return np.zeros(len(self.groups.names))

    def update(self, memory: Array, step: Step) -> Array:
        return _minus_least(memory + self.groups.totals(step.rewards))

    def imagined(self, memory: Array, part: Array) -> Array:
        return _minus_least(part)

    def implied_status(self, memory: Array) -> Float[Array, " status"]:
        return memory

    def exchangeable(self, size: int) -> Labels:
        return self.groups.labels(size)

    def attributes(self, memory: Array, horizon: int, size: int) -> tuple[Attribute, ...]:
        return _received(memory, horizon, self.groups)

    def describe(self) -> str:
        return f"each group's lead ({', '.join(self.groups.names)}) over the one with least"


@MEMORIES.register("last_winner")
@dataclass(frozen=True)
class LastWinner(Memory[Array]):
    """Who received something last: an index, or the number of stakeholders for nobody yet."""

    def init(self, num_stakeholders: int) -> Array:
        return np.asarray(num_stakeholders)

    def update(self, memory: Array, step: Step) -> Array:
        xp = namespace(step.rewards)
        served = xp.max(step.rewards) > 0
        return xp.where(served, xp.astype(xp.argmax(step.rewards), memory.dtype), memory)

    def attributes(self, memory: Array, horizon: int, size: int) -> tuple[Attribute, ...]:
        return (Attribute(memory == namespace(memory).arange(size), whole=True),)

    def describe(self) -> str:
        return "who received something last"


@MEMORIES.register("clock")
@dataclass(frozen=True)
class Clock(Memory[Array]):
    """The number of steps so far, modulo `period`.

    Those who code it see it as if a period had `shown_as` steps, if that is given: what was learned
    with a shorter clock then reads a longer one.
    """

    symmetric = True

    period: int
    shown_as: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("period", self.period), ("shown_as", self.shown_as)):
            if value is not None:
                object.__setattr__(self, name, require_whole(value, name, most=MOST_STEPS))

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros((), dtype=np.int32)

    def update(self, memory: Array, step: Step) -> Array:
        return (memory + 1) % self.period

    def attributes(self, memory: Array, horizon: int, size: int) -> tuple[Attribute, ...]:
        if self.shown_as is None or self.shown_as == self.period:
            return (Attribute(memory, 0, self.period - 1, whole=True),)
        shown = memory * ((self.shown_as - 1) / max(1, self.period - 1))
        xp = namespace(shown)
        return (Attribute(xp.floor(shown), 0, self.shown_as - 1, whole=True),)

    def describe(self) -> str:
        return f"the number of steps modulo {self.period}"


@MEMORIES.register("of_status")
@dataclass(frozen=True)
class OfStatus(Memory[Any]):
    """Whatever a status function carries from step to step: it determines that status."""

    status: Status

    def init(self, num_stakeholders: int) -> Any:
        return self.status.init(num_stakeholders)

    def update(self, memory: Any, step: Step) -> Any:
        return self.status.update(memory, step)

    def implied_status(self, memory: Any) -> Float[Array, " status"]:
        return self.status.value(memory)

    def imaginable(self, memory: Any) -> Any:
        return self.status.imaginable(memory)

    def imagined(self, memory: Any, part: Any) -> Any:
        return self.status.imagined(memory, part)

    def exchangeable(self, size: int) -> Labels:
        return self.status.exchangeable(size)

    def attributes(self, memory: Any, horizon: int, size: int) -> tuple[Attribute, ...]:
        return tuple(Attribute(leaf, 0, horizon) for leaf in _leaves(memory))

    def describe(self) -> str:
        return f"for each stakeholder {self.status.describe()}"


def fading(half_life: float) -> OfStatus:
    """What each has received, fading by half every `half_life` steps."""
    return OfStatus(Decayed(half_life))


def recent(length: int) -> OfStatus:
    """What each has received in each of the last `length` steps."""
    return OfStatus(Window(length))


@MEMORIES.register("nothing")
@dataclass(frozen=True)
class Nothing(Memory[Array]):
    """No memory: the present state alone."""

    symmetric = True

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros(0)

    def update(self, memory: Array, step: Step) -> Array:
        return memory

    def attributes(self, memory: Array, horizon: int, size: int) -> tuple[Attribute, ...]:
        return ()

    def describe(self) -> str:
        return "nothing"


@dataclass(frozen=True)
class Product(Memory[tuple[Any, ...]]):
    """Several memories side by side. It claims to know what the first that claims anything does."""

    parts: tuple[Memory, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))

    def init(self, num_stakeholders: int) -> tuple[Any, ...]:
        return tuple(part.init(num_stakeholders) for part in self.parts)

    def update(self, memory: tuple[Any, ...], step: Step) -> tuple[Any, ...]:
        pairs = zip(self.parts, memory, strict=True)
        return tuple(part.update(value, step) for part, value in pairs)

    def implied_status(self, memory: tuple[Any, ...]) -> Float[Array, " status"] | None:
        claim = self._claim(memory)
        return None if claim is None else self.parts[claim].implied_status(memory[claim])

    def imaginable(self, memory: tuple[Any, ...]) -> tuple[Any, ...]:
        claim = self._claim(memory)
        return memory if claim is None else self.parts[claim].imaginable(memory[claim])

    def imagined(self, memory: tuple[Any, ...], part: tuple[Any, ...]) -> tuple[Any, ...]:
        claim = self._claim(memory)
        if claim is None:
            return part
        changed = self.parts[claim].imagined(memory[claim], part)
        return (*memory[:claim], changed, *memory[claim + 1 :])

    def exchangeable(self, size: int) -> Labels:
        return refine([part.exchangeable(size) for part in self.parts], size)

    def attributes(self, memory: tuple[Any, ...], horizon: int, size: int) -> tuple[Attribute, ...]:
        pairs = zip(self.parts, memory, strict=True)
        return tuple(a for part, value in pairs for a in part.attributes(value, horizon, size))

    def _claim(self, memory: tuple[Any, ...]) -> int | None:
        """Which part claims to know a status."""
        pairs = zip(self.parts, memory, strict=True)
        claims = (i for i, (p, value) in enumerate(pairs) if p.implied_status(value) is not None)
        return next(claims, None)

    def describe(self) -> str:
        return ", and ".join(part.describe() for part in self.parts) or "nothing"


def _received(
    counts: Float[Array, " n"], horizon: int, groups: Groups | None = None
) -> tuple[Attribute, ...]:
    return (Attribute(counts, 0, horizon, whole=True, counts=True, groups=groups),)


def _leaves(value: Any) -> list[Any]:
    """The arrays of a nested tuple of them."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]


def _minus_least(received: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    return received - namespace(received).min(received, axis=-1, keepdims=True)


# A memory in words and numbers that JSON has, and built from them: the one place for both.


def memory_to_table(memory: Memory) -> Any:
    """A memory as its name and parameters; several side by side (`Product`) as a list."""
    if isinstance(memory, Product):
        return [memory_to_table(part) for part in memory.parts]
    return to_table(memory, MEMORIES)


def memory_from_table(table: Any) -> Memory:
    """The memory of a name, of a table of its name and parameters, or of a list of these."""
    if isinstance(table, list) and not table:
        raise SchemeFileError("memory is an empty list: name at least one memory.")
    if isinstance(table, list):
        return Product(tuple(memory_from_table(part) for part in table))
    return from_table(table, MEMORIES, "memory")
