"""The rules, by the names people type: least served, longest wait, half-life, lottery and more."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand._util.numbers import namespace
from evenhand._util.saved import kind_of
from evenhand._util.wording import format_number
from evenhand.decide.rules import deadline  # noqa: F401  # registers its rule
from evenhand.decide.rules.rule import (
    RULES,
    DividingRule,
    Entrant,
    Instant,
    Remembered,
    Rule,
    TimedRule,
    exponential,
    read_seed,
    without_last_digits,
)
from evenhand.errors import BadFile, BadParameter, MissingPartParameter, argument
from evenhand.fairness.scheme import from_table, to_table
from evenhand.log.history import open_amount
from evenhand.log.waits import limit_in_words, read_limit

if TYPE_CHECKING:
    from jaxtyping import Float


# The rules: least served, first come, longest wait, round robin, half-life, lottery and others.

# Least served: whoever has received least, per unit of what each is entitled to. The oracle.

# Where newcomers begin, by the levels of those who are there and what they are entitled to.
BEGIN_AT: Mapping[str, Callable[[np.ndarray, np.ndarray], Any] | None] = {
    "mean": lambda levels, entitled: (levels * entitled).sum() / entitled.sum(),
    "zero": None,
    "least": lambda levels, entitled: levels.min(),
}


def require_start(newcomers: str) -> None:
    """Refuse a beginning that no rule has."""
    if newcomers not in BEGIN_AT:
        raise BadParameter(
            f"{argument('newcomers')} is {newcomers!r}: a rule lets them begin at one of "
            f"{', '.join(BEGIN_AT)}."
        )


@dataclass(frozen=True)
class ByReceived(Rule):
    """Rules that remember what each has received, and the level at which it began."""

    takes_back = True

    newcomers: str = "mean"

    def __post_init__(self) -> None:
        require_start(self.newcomers)

    def with_newcomers(self, newcomers: str) -> Rule:
        return replace(self, newcomers=newcomers)

    def begin(self, entrant: Entrant) -> Remembered:
        return (0.0, entrant.others.starting_level(self.newcomers))

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0] + amount, memory[1])

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1] + memory[0] / entitlement

    def compared(self, index: float) -> float:
        return without_last_digits(index)  # 0.1 and 0.2 received are as much as 0.3

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        received, start = memory
        words = f"has received {format_number(received)}"
        if entitlement != 1.0:
            words += f", {format_number(received / entitlement)} per unit of its entitlement"
        if start:
            words += f", and began level with others at {format_number(start)}"
        return words


@RULES.register("least_served")
@dataclass(frozen=True)
class LeastServed(ByReceived):
    """Whoever has received least, per unit of what each is entitled to.

    Args:
        newcomers: Where those begin who join later: at the "mean" of those there, so neither ahead
            nor behind, at "zero", or at the "least" of those there.
    """

    in_environments = True

    def describe(self) -> str:
        return "whoever has received least, per unit of what each is entitled to"


# First come, first served: whoever's oldest request that is not met is the oldest.


@RULES.register("first_come")
@dataclass(frozen=True)
class FirstCome(TimedRule):
    """Whoever has the oldest request that is not met. What is given meets the oldest request first.

    The memory is the requests that are not met (in order of time), and how much of the first is.
    """

    needs_requests = True

    def begin(self, entrant: Entrant) -> Remembered:
        return ((), 0.0)

    def asked(self, memory: Remembered, amount: float, instant: Instant) -> Remembered:
        requests, part = memory
        return ((*requests, (instant.time, amount)), part)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        requests, part = memory
        part += amount
        met = 0
        while met < len(requests) and not open_amount(requests[met][1], part):
            part = max(0.0, part - requests[met][1])
            met += 1
        # What is given to somebody who asked for nothing more does not count for later requests.
        return (requests[met:], part if met < len(requests) else 0.0)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        requests, _ = memory
        return requests[0][0] if requests else math.inf

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        since = self.index(memory, entitlement)
        if since == math.inf:
            return "has no open request"
        return f"asked {self.since(since, instant)} ago"

    def describe(self) -> str:
        return "whoever asked first"


# Round robin: everyone in a fixed order, again and again; who cannot take its turn misses it.

LAP = float(1 << 31)  # room for so many stakeholders in a round


@RULES.register("round_robin")
@dataclass(frozen=True)
class RoundRobinRule(Rule):
    """Everyone in the order of joining, again and again; who is not eligible misses its turn.

    The memory is the place and the turn to come: round times so many places, plus the place.
    """

    def begin(self, entrant: Entrant) -> Remembered:
        return self.caught_up(
            (entrant.place, float(entrant.place)), entrant.entitlement, entrant.others.front
        )

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        return self.caught_up(memory, entrant.entitlement, entrant.others.front)

    def caught_up(self, memory: Remembered, entitlement: Any, front: float) -> Remembered:
        place, turn = memory
        if turn >= front:
            return memory
        return (place, place + LAP * math.ceil((front - place) / LAP))

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0], memory[1] + LAP)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1]

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        return memory[1] // LAP

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"is due in round {int(memory[1] // LAP) + 1}, at place {int(memory[0]) + 1}"

    def describe(self) -> str:
        return "everyone in the order of joining, again and again"


# Longest wait: whoever has waited longest, however much it has received.

LATER = 2.0**-20  # of a turn, for each moment between two turns


@RULES.register("longest_wait")
@dataclass(frozen=True)
class LongestWait(TimedRule):
    """Whoever has waited longest since it was last served, joined, or asked again.

    However much is given at a time counts alike: this rule shares turns, not amounts. Of those who
    were last served at one moment, the one whose turn came first waits longest.
    """

    in_environments = True

    def begin(self, entrant: Entrant) -> Remembered:
        # After whoever was served last and whoever came before, and before whoever is served next.
        time, turn = entrant.instant
        return (time, turn - 0.5 + min(entrant.others.moment_of_turn() * LATER, 0.25))

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        return self.begin(entrant) if entrant.asked else memory

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (instant.time, instant.turn)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1]

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        return memory[0] - instant.time

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"has waited {self.since(memory[0], instant)}"

    def describe(self) -> str:
        return "whoever has waited longest"


# Virtual time: least served, where whoever comes back does not make up for its absence.
#
# This is the virtual token counter of fair serving, and start-time fair queueing before it: without
# the lift, somebody who was away would be served alone until it had caught up.


@RULES.register("virtual_time")
@dataclass(frozen=True)
class VirtualTime(Rule):
    """Whoever's counter is lowest; who joins or comes back is lifted to the lowest of those there.

    The counter grows by what was received, per unit of what each is entitled to. If nobody else is
    there, it is lifted to the counter of whoever was served last, as it stood then.
    """

    def begin(self, entrant: Entrant) -> Remembered:
        return self.back((0.0,), entrant)

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        least = entrant.others.least_index()
        return (max(memory[0], entrant.others.front if least is None else least),)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0] + amount / entitlement,)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[0]

    def compared(self, index: float) -> float:
        return without_last_digits(index)  # two thirds and three are as much as five thirds

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"stands at {format_number(memory[0])} on its counter"

    def describe(self) -> str:
        return (
            "whoever's counter of what it received is lowest, where those who come back are lifted "
            "to the lowest of those there"
        )


# Half-life: whoever used least lately; what was received counts half after each half-life.
#
# So do Slurm and Kueue count usage. All decay alike, so the order of two changes only when one of
# them receives something: the index is the logarithm of what was received, as of a fixed moment.


@RULES.register("half_life")
@dataclass(frozen=True)
class HalfLife(Rule):
    """Whoever has received least lately: amounts count half after each half-life.

    Args:
        half_life: A time such as "7d", "2w" or "12h"; or a number, in days where times are dates.
        newcomers: Where those begin who join later: "mean", "zero" or "least".
    """

    parameter = "half_life"
    in_environments = True

    half_life: float | str
    newcomers: str = "mean"
    unit: float | None = field(default=None, init=False, repr=False)  # a half-life, of such times

    def __post_init__(self) -> None:
        require_start(self.newcomers)
        read_limit(self.half_life, isinstance(self.half_life, int | float), "the half-life")

    def fitted(self, plain_numbers: bool) -> Rule:
        fitted = replace(self)
        unit = read_limit(self.half_life, plain_numbers, "the half-life")
        object.__setattr__(fitted, "unit", unit)
        return fitted

    @property
    def _unit(self) -> float:
        return float(self.half_life) if self.unit is None else self.unit

    @property
    def _in_words(self) -> str:
        words = limit_in_words(self.half_life)
        # A number alone is in days where times are dates, which is known once the rule is fitted.
        in_days = self.unit is not None and words == str(self.half_life).strip()
        if in_days and self.unit != float(words):
            return limit_in_words(f"{words}d")
        return words

    def with_newcomers(self, newcomers: str) -> Rule:
        return replace(self, newcomers=newcomers)

    def begin(self, entrant: Entrant) -> Remembered:
        start = entrant.others.starting_level(self.newcomers) * entrant.entitlement
        return (_log2(start) + entrant.instant.time / self._unit if start > 0 else -math.inf,)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (_log2_of_sum(memory[0], _log2(amount) + instant.time / self._unit),)

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[0] - _log2(entitlement)

    def compared(self, index: float) -> float:
        return round(index, 9)  # of a logarithm: less than a billionth of what was received

    def level(self, memory: Remembered, entitlement: Any, instant: Instant) -> Any:
        return 2.0 ** (self.index(memory, entitlement) - instant.time / self._unit)

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        now = format_number(self.level(memory, 1.0, instant))
        words = f"has {now} left of what it received, which halves every {self._in_words}"
        if entitlement != 1.0:
            share = format_number(self.level(memory, entitlement, instant))
            words += f": {share} per unit of its entitlement"
        return words

    def describe(self) -> str:
        return f"whoever has received least lately: amounts count half after {self._in_words}"


def _log2(value: Any) -> Any:
    return math.log2(value) if isinstance(value, float | int) else namespace(value).log2(value)


def _log2_of_sum(one: Any, other: Any) -> Any:
    """log2(2^one + 2^other), without ever computing a power that is too large."""
    if not isinstance(one, float):
        return namespace(one).logaddexp2(one, other)
    low, high = (one, other) if one < other else (other, one)
    return high if low == -math.inf else high + math.log2(1.0 + 2.0 ** (low - high))


# Lotteries: anybody eligible with the same chance, or in proportion to entitlements.
#
# Each stakeholder has a clock that rings after an exponential time, and whoever's rings first is
# next. Such clocks have no memory: who has not rung yet need not be drawn again, so that a heap
# does, and every decision is an independent lottery among those eligible then.


@RULES.register("lottery")
@dataclass(frozen=True)
class Lottery(Rule):
    """Anybody who is eligible, all with the same chance.

    Args:
        seed: What the draws depend on.
    """

    parameter = "seed"
    draws = True
    in_environments = True

    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", read_seed(self.seed))

    def with_seed(self, seed: int) -> Rule:
        return replace(self, seed=seed)

    def begin(self, entrant: Entrant) -> Remembered:
        return self._drawn(entrant.place, 0, entrant.others.front, entrant.entitlement)

    def back(self, memory: Remembered, entrant: Entrant) -> Remembered:
        return self.caught_up(memory, entrant.entitlement, entrant.others.front)

    def caught_up(self, memory: Remembered, entitlement: Any, front: float) -> Remembered:
        if memory[0] >= front:
            return memory
        return self._drawn(memory[1], memory[2] + 1, front, entitlement)

    def entitled(
        self, memory: Remembered, before: float, entitlement: float, front: float
    ) -> Remembered:
        rings, place, count = memory
        slower = self._chances(before) / self._chances(entitlement)
        if slower == 1.0 or rings < front:
            return memory
        # The time until a clock rings is as long as if it had run at the new pace all along.
        return (front + (rings - front) * slower, place, count)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return self._drawn(memory[1], memory[2] + 1, memory[0], entitlement)

    def _drawn(self, place: int, count: int, after: float, entitlement: float) -> Remembered:
        rings = after + exponential(self.seed, place, count) / self._chances(entitlement)
        return (rings, place, count)

    def _chances(self, entitlement: Any) -> Any:
        return 1.0

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[0]

    def drawn_index(self, key: Any, memory: Remembered, entitlement: Any) -> Any:
        import jax

        return jax.random.exponential(key, entitlement.shape) / self._chances(entitlement)

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        return f"drew {memory[0]:.4g}, and the lowest number wins"

    def describe(self) -> str:
        return "anybody who is eligible, all with the same chance"


@RULES.register("weighted_lottery")
@dataclass(frozen=True)
class WeightedLottery(Lottery):
    """Anybody who is eligible, with chances in proportion to what each is entitled to.

    Args:
        seed: What the draws depend on.
    """

    def _chances(self, entitlement: Any) -> Any:
        return entitlement

    def describe(self) -> str:
        return "anybody who is eligible, with chances in proportion to entitlements"


# Rules that share an amount among all: in proportion to entitlements, or to even out.


@dataclass(frozen=True)
class Raising(ByReceived, DividingRule):
    """Rules that raise the lowest levels together: those of all receipts, or all from zero."""

    counts_past: ClassVar[bool] = True

    def shares(
        self,
        amount: float,
        levels: Float[np.ndarray, " eligible"],
        entitlements: Float[np.ndarray, " eligible"],
        room: Float[np.ndarray, " eligible"],
    ) -> Float[np.ndarray, " eligible"]:
        begin = levels if self.counts_past else np.zeros(len(levels))
        return raised(amount, begin, entitlements, room)


@RULES.register("proportional")
@dataclass(frozen=True)
class Proportional(Raising):
    """Everyone at once, in proportion to what each is entitled to; the past does not count.

    Where somebody wants less than its part, the rest is shared among the others in the same way.
    """

    counts_past = False

    def describe(self) -> str:
        return "everyone at once, in proportion to what each is entitled to"


@RULES.register("even_out")
@dataclass(frozen=True)
class EvenOut(Raising):
    """Those furthest behind first, until they are level with the next; then these together.

    So the amount makes the levels (received per unit of entitlement) as even as it can.

    Args:
        newcomers: Where those begin who join later: "mean", "zero" or "least".
    """

    def describe(self) -> str:
        return "those furthest behind first, until all are level"


def raised(
    amount: float,
    levels: Float[np.ndarray, " stakeholder"],
    entitlements: Float[np.ndarray, " stakeholder"],
    room: Float[np.ndarray, " stakeholder"],
) -> Float[np.ndarray, " stakeholder"]:
    """What brings the lowest levels up to one level, as far as an amount and the room allow.

    Each takes e·(λ − level) between 0 and its room; what all take grows with λ along straight
    lines, so λ lies between two of the levels at which somebody begins or has enough.

    >>> raised(3.0, np.array([0.0, 1.0, 5.0]), np.ones(3), np.full(3, np.inf))
    array([2., 1., 0.])
    """
    if amount >= room.sum():
        return np.array(room, dtype=float)
    full = levels + room / entitlements
    bends = np.concatenate((levels, full[np.isfinite(full)]))
    slopes = np.concatenate((entitlements, -entitlements[np.isfinite(full)]))
    order = np.argsort(bends, kind="stable")
    bends, slope = bends[order], np.cumsum(slopes[order])
    taken = np.concatenate(([0.0], np.cumsum(slope[:-1] * np.diff(bends))))
    place = min(int(np.searchsorted(taken, amount, side="right")), len(taken)) - 1
    level = bends[place] + (amount - taken[place]) / slope[place]
    given = np.clip((level - levels) * entitlements, 0.0, room)
    return np.minimum(given * (amount / given.sum()), room)  # the last digit, lost on the way


# Rules by the names people type, and rules that are files of policies.

# Rules by their names, as the command line and files write them: least_served, half_life:7d.

# Each registers its rules.


def rule_of(rule: Rule | str | dict[str, Any]) -> Rule:
    """A rule, from its name, with what it needs to know after a colon; or from a table.

    >>> rule_of("half_life:7d").describe()
    'whoever has received least lately: amounts count half after 7 days'
    """
    if isinstance(rule, Rule):
        return rule
    table: Any = rule
    if isinstance(rule, str):
        name, colon, value = rule.partition(":")
        cls: Any = RULES.get(name.strip().replace("-", "_"))
        table = {"name": name.strip().replace("-", "_")}
        if colon and cls.parameter is None:
            raise BadParameter(f"the rule {name} takes nothing after a colon, as in {rule!r}.")
        if colon:
            table[cls.parameter] = value.strip()
    try:
        found: Rule = from_table(table, RULES, "rule")
    except MissingPartParameter as error:
        raise BadParameter(
            f"the rule {error.part} needs a number or a time after a colon, such as "
            f"{error.part}:{EXAMPLES.get(error.part, '10')}."
        ) from None
    return found


__all__ = ["RULES", "rule_of", "rule_to_name", "rule_to_table"]

EXAMPLES = {"half_life": "7d"}


def rule_to_table(rule: Rule) -> Any:
    """A registered rule as JSON has it."""
    return to_table(rule, RULES)


def rule_to_name(rule: Rule) -> str:
    """A rule as the command line writes it; one that is not registered, by its class.

    >>> rule_to_name(rule_of("half_life:7d"))
    'half_life:7d'
    """
    name = RULES.name_of(rule) or type(rule).__name__
    value = None if rule.parameter is None else getattr(rule, rule.parameter)
    return name if value in (None, 0) else f"{name}:{value}"


# A rule as the command line names it: by its name, or by the file of a policy or a plan.


def rule_or_policy(named: Rule | str) -> Rule:
    """A rule, from its name; or the policy or plan of a file as a rule.

    Only for names from whoever may read the files here: a service takes names alone.

    Args:
        named: Such as "least_served", "half_life:7d", "fair.policy" or "fair.plan".
    """
    if not isinstance(named, str) or not is_policy_file(named):
        return rule_of(named)
    return policy_rule(named)


def is_policy_file(name: str) -> bool:
    """Whether a name is that of a file, and not of a rule."""
    if name.partition(":")[0].strip().replace("-", "_") in RULES.classes:
        return False
    return Path(name).suffix in (".policy", ".plan", ".npolicy") or os.path.isfile(name)


def policy_rule(path: str | os.PathLike[str]) -> Rule:
    """The policy of a file that `evenhand train --out` or `evenhand plan --save` wrote, as a rule.

    Of policies learned with several seeds the one decides that scored most where it was learned.

    Args:
        path: The file.
    """
    kind = kind_of(path)
    # Only here: a replay by rules alone does without jax.
    from evenhand.decide import policies
    from evenhand.decide.policies import PolicyRule

    if kind == "plan":
        from evenhand.planning.planner import load_plan

        planned = policies.PlannedChoices(load_plan(path))
        return PolicyRule(planned, Path(path).name)
    if kind == "numpy policy":
        raise BadFile(
            f"{path} is a policy exported for NumPy, which does not say what its choices are: give "
            "the file that it was exported from."
        )
    if kind == "run":
        raise BadFile(
            f"{path} holds what was learned in tables, which decide only in the environment that "
            f"they were learned in: for a log or a pool train a network ({argument('deep')}), or "
            "give the file of an exact plan, which `evenhand plan` and `save_plan` write."
        )
    from evenhand.learn.policy_files import load_policies

    saved = load_policies(path)
    learned = policies.LearnedChoices(saved.policy(_best_seed(saved.header)))
    return PolicyRule(learned, Path(path).name)


def _best_seed(header: Mapping[str, Any]) -> int:
    """The place of the seed that scored most in the last evaluation; the first of several."""
    try:
        last = [float(score) for score in header["measures"]["score"][-1]]
        return last.index(max(last))
    except (KeyError, IndexError, TypeError, ValueError):  # saved from Python without scores
        return 0
