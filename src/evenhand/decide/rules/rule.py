"""A rule is a memory and an index: what rules are, spans of time, and how ties are broken."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from evenhand._util.checks import require_whole
from evenhand._util.numbers import DAY
from evenhand._util.registry import Registry
from evenhand._util.wording import format_number
from evenhand.errors import argument

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool, Float

    from evenhand.decide.rules.state import RuleState


# Numbers that look random and depend on nothing but a seed and who draws for the how-manieth time.
#
# So a state that is a fold over a log of decisions draws the same numbers whenever it is made
# again.

_MASK = (1 << 64) - 1
LONGEST_TYPED = 100  # characters of a seed


def uniform(seed: int, place: int, count: int) -> float:
    """A number in (0, 1): splitmix64 of the three.

    >>> 0 < uniform(0, 3, 1) < 1, uniform(0, 3, 1) == uniform(0, 3, 2)
    (True, False)
    """
    bits = _mixed(_mixed(_mixed(seed & _MASK) ^ place) ^ count)
    return ((bits >> 11) + 0.5) * 2.0**-53


def exponential(seed: int, place: int, count: int) -> float:
    """A waiting time of mean 1."""
    return -math.log(uniform(seed, place, count))


def read_seed(seed: Any) -> int:
    """A seed as somebody gave or typed it: a text is read as the number that it shows.

    >>> read_seed(7), read_seed(" 7 ")
    (7, 7)
    """
    typed = isinstance(seed, str) and seed.isascii() and seed.strip().isdigit()
    number = int(seed) if typed and len(seed) <= LONGEST_TYPED else seed
    return require_whole(number, argument("seed"), least=0)


def _mixed(bits: int) -> int:
    bits = (bits + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


# How ties are broken: by the order of joining, or by a draw that a seed repeats.

TIES = Registry("way to break ties")


class TieBreak(ABC):
    """Of equal indexes, whose number is lowest."""

    @abstractmethod
    def number(self, place: int, turn: int) -> float:
        """The number of a place, whose index was last set at a turn."""

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "ties are broken …"."""


@TIES.register("order")
@dataclass(frozen=True)
class InOrder(TieBreak):
    """Whoever joined first; of those who joined together, as at the start, by their order."""

    def number(self, place: int, turn: int) -> float:
        return place

    def describe(self) -> str:
        return "by who joined first, then by the order of the stakeholders"


@TIES.register("draw")
@dataclass(frozen=True)
class ByDraw(TieBreak):
    """By a draw, afresh whenever somebody was served.

    Args:
        seed: What the draws depend on.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", read_seed(self.seed))

    def number(self, place: int, turn: int) -> float:
        # Not the numbers that a lottery with the same seed draws.
        return uniform(~self.seed, place, turn)

    def describe(self) -> str:
        return f"by a draw (seed {self.seed})"


# Stretches of time in words, of dates (in microseconds) or of plain numbers.

UNITS = (("week", 7 * DAY), ("day", DAY), ("hour", 3_600e6), ("minute", 60e6))


def span_in_words(span: float, plain_numbers: bool) -> str:
    """A stretch of time in the largest unit of which it is at least two, or in its own numbers.

    >>> span_in_words(3 * 86_400e6, False), span_in_words(2.5, True), span_in_words(0, False)
    ('3 days', '2.5', '0 seconds')
    """
    if plain_numbers:
        return format_number(span)
    name, unit = next((pair for pair in UNITS if span >= 2 * pair[1]), ("second", 1e6))
    count = format_number(round(span / unit, 1))
    return f"{count} {name}{'' if count == '1' else 's'}"


# Decision 18: a rule is a memory of each stakeholder and an index of it; the least is next.
#
# The same object is replayed on a log, put into an environment, and decides live. Its functions are
# elementwise: a memory is a tuple of numbers, or of arrays with one entry per stakeholder, so that
# a heap, NumPy and JAX share one definition. Nothing here changes with time for somebody to whom
# nothing happens: the index is chosen such that the order of all others stays as it is.

# What is remembered of one stakeholder (numbers), or of all (arrays with one entry for each).
Remembered: TypeAlias = tuple[Any, ...]


class Instant(NamedTuple):
    """When: a moment as a number (microseconds since 1970, or plain), and how many turns before."""

    time: Any
    turn: Any


class Others(Protocol):
    """What whoever joins or comes back is told of those who are there."""

    front: float  # the index of whoever was chosen last

    def moment_of_turn(self) -> int:
        """How many moments before this one, since the last turn, somebody joined or asked at."""

    def least_index(self) -> float | None:
        """The least index of those who could be chosen; None if there is nobody."""

    def starting_level(self, newcomers: str) -> float:
        """Where newcomers begin: "zero", or the "mean" or "least" level of those there, if any."""


class Entrant(NamedTuple):
    """Somebody who joins, or may be chosen again after a time in which that was not so."""

    place: int  # counted from 0, in the order of joining
    entitlement: float
    instant: Instant
    others: Others
    asked: bool = False  # because of a new request


class Foreseen(NamedTuple):
    """A plan for turns that are known ahead: who is served at each (None: as ever), in words."""

    served: tuple[int, ...] | None
    words: str


class Rule(ABC):
    """Who is next. Subclasses are frozen dataclasses; the memory is theirs to choose."""

    needs_requests: ClassVar[bool] = False  # who asked when, and for how much
    divides: ClassVar[bool] = False  # an amount is shared among all (see `DividingRule`)
    counts_turns: ClassVar[bool] = False  # a turn that somebody could not take is not counted
    takes_back: ClassVar[bool] = False  # an amount may be below 0: a correction
    draws: ClassVar[bool] = False  # the index is a draw, and depends on nothing remembered
    in_environments: ClassVar[bool] = False  # only what is received changes what is remembered
    plans_next: ClassVar[bool] = True  # a supply to come can be planned by it
    learned: ClassVar[bool] = False  # it is a policy that was learned or planned
    parameter: ClassVar[str | None] = None  # what may stand after a colon, as in half_life:7d

    def fitted(self, plain_numbers: bool) -> Rule:
        """The same rule for times of a kind: plain numbers, or else dates as microseconds."""
        return self

    def with_newcomers(self, newcomers: str) -> Rule:
        """The same rule with newcomers beginning elsewhere, if it has a say in that."""
        return self

    def with_seed(self, seed: int) -> Rule:
        """The same rule with other draws, if it draws."""
        return self

    def new_state(self, ties: TieBreak | None = None, by_request: bool = False) -> RuleState:
        """The rule at work, before anybody has joined."""
        from evenhand.decide.rules.state import RuleState  # which knows rules

        return RuleState(self, ties, by_request)

    def number_of(self, name: str) -> int | None:
        """Which of the stakeholders that it knows apart has a name; None: it goes by order."""
        return None

    def learned_from(self, moments: np.ndarray) -> bool:
        """Whether it may have been learned from some of these moments, of a log."""
        return False

    def require_supply(self, stakeholders: int, amounts: Float[np.ndarray, " lot"]) -> None:
        """Refuse stakeholders and lots that the rule cannot decide on. Most can on any."""
        return

    @abstractmethod
    def begin(self, entrant: Entrant) -> Remembered:
        """What is remembered of somebody who joins."""

    @abstractmethod
    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        """What is remembered after somebody received an amount above 0."""

    @abstractmethod
    def index(self, memory: Remembered, entitlement: Any) -> Any:
        """The least of those eligible is next."""

    def compared(self, index: float) -> float:
        """An index as it is compared: without the digits that are rounding, where there are any.

        So who is level is level, and the tie is broken as ties are.
        """
        return index

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        """The index as people read it, which may change with time for all alike."""
        return self.index(memory, entitlement)

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        """What is remembered of somebody who may be chosen again."""
        return memory

    def away(self, memory: Remembered, instant: Instant) -> Remembered:
        """What is remembered of somebody who may not be chosen for now."""
        return memory

    def excused(self, memory: Remembered) -> Remembered:
        """What is remembered of somebody who could not take this turn, if turns are counted."""
        return memory

    def caught_up(self, memory: Remembered, entitlement: Any, front: float) -> Remembered:
        """What is remembered once others were chosen although this one's index was lower."""
        return memory

    def entitled(
        self, memory: Remembered, before: float, entitlement: float, front: float
    ) -> Remembered:
        """What is remembered once somebody is entitled to another amount."""
        return memory

    def asked(self, memory: Remembered, amount: float, instant: Instant) -> Remembered:
        """What is remembered after a request."""
        return memory

    def drawn_index(self, key: Any, memory: Remembered, entitlement: Any) -> Any:
        """The index in an environment, where a random key of JAX is given for each decision."""
        return self.index(memory, entitlement)

    def foresee(self, eligible: Bool[np.ndarray, "turn stakeholder"]) -> Foreseen | None:
        """What to do at each turn where it is known ahead who can take it; None: as ever."""
        return None

    @abstractmethod
    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        """The reason in words: a phrase after the name, such as "has received 3"."""

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "next is …"."""


@dataclass(frozen=True)
class TimedRule(Rule):
    """A rule whose reasons say how long ago something was."""

    plain_numbers: bool = field(default=True, init=False, repr=False)

    def fitted(self, plain_numbers: bool) -> Rule:
        fitted = replace(self)
        object.__setattr__(fitted, "plain_numbers", plain_numbers)
        return fitted

    def since(self, time: float, instant: Instant) -> str:
        """How long ago a moment was, in words."""
        return span_in_words(instant.time - time, self.plain_numbers)


class DividingRule(Rule):
    """A rule that shares each amount among all who are eligible."""

    divides = True

    @abstractmethod
    def shares(
        self,
        amount: float,
        levels: Float[np.ndarray, " eligible"],
        entitlements: Float[np.ndarray, " eligible"],
        room: Float[np.ndarray, " eligible"],
    ) -> Float[np.ndarray, " eligible"]:
        """What each is given; as much as there is room for (what is still wanted, or ∞)."""


RULES = Registry("rule")
SHORTER = 2.0**9 + 1.0  # what takes nine binary digits away from a number (Veltkamp)


def without_last_digits(index: float) -> float:
    """A number to 44 binary digits in place of 53, the last of which are rounding.

    >>> 0.1 + 0.2 == 0.3, without_last_digits(0.1 + 0.2) == without_last_digits(0.3)
    (False, True)
    """
    large = index * SHORTER
    short = large - (large - index)
    return short if math.isfinite(short) else index  # which is too large for this
