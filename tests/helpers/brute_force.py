"""The best that any deterministic policy can do, by trying; shares no code with the package.

Worlds are written from RULES.md (vaccines and the waiting list from their descriptions), scores
from the definitions. A score is computed only of a complete history, so nothing here supposes that
anything is Markovian: a policy may depend on all that was seen before it decides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple


class DecisionRecord(NamedTuple):
    """One step of a history: who got what, what stands in for the welfare, what was left."""

    rewards: tuple[float, ...]
    override: float | None
    state: Any


History = tuple[DecisionRecord, ...]
Draws = list[tuple[float, Any]]  # everything that may be, with its probability


def coins(probabilities: Sequence[float]) -> Draws:
    """Who of several is there, each by an own coin."""
    draws = []
    for there in itertools.product((False, True), repeat=len(probabilities)):
        chance = math.prod(p if x else 1 - p for x, p in zip(there, probabilities, strict=True))
        if chance > 0:
            draws.append((chance, there))
    return draws


def one_for(i: int, n: int) -> tuple[float, ...]:
    return tuple(1.0 if j == i else 0.0 for j in range(n))


# Worlds: start, horizon, actions, noises, and what an action in (time, state, noise) may do


@dataclass
class Shop:
    """Doughnuts; `wasted=None` is the shop without overrides."""

    horizon: int
    presence: Sequence[float]
    wasted: float | None = 0.0
    start: Any = ()

    @property
    def actions(self) -> range:
        return range(len(self.presence))

    def noises(self) -> Draws:
        return coins(self.presence)

    def outcomes(self, time: int, state: Any, present: Any, action: int) -> Draws:
        n = len(self.presence)
        if present[action]:
            return [(1.0, DecisionRecord(one_for(action, n), None, ()))]
        return [(1.0, DecisionRecord((0.0,) * n, self.wasted, ()))]


@dataclass
class Bank:
    """Lending, with r = 1 and c = 0.1; the state is (credit scores in tenths, profit)."""

    horizon: int
    credit: Sequence[int]
    applying: float = 0.9

    @property
    def start(self) -> Any:
        return tuple(self.credit), 0

    @property
    def actions(self) -> range:
        return range(len(self.credit))

    def noises(self) -> Draws:
        return coins([self.applying] * len(self.credit))

    def outcomes(self, time: int, state: Any, applied: Any, action: int) -> Draws:
        credit, profit = state
        n = len(credit)
        if not applied[action]:
            penalty = -10.0 * self.horizon if self.missed(time, profit) else -1.0 * self.horizon
            return [(1.0, DecisionRecord((0.0,) * n, penalty, state))]
        found = []
        for chance, change in ((credit[action] / 10, 1), (1 - credit[action] / 10, -1)):
            scores = list(credit)
            scores[action] = min(9, max(2, scores[action] + change))
            penalty = -10.0 * self.horizon if self.missed(time, profit + change) else None
            after = tuple(scores), profit + change
            found.append((chance, DecisionRecord(one_for(action, n), penalty, after)))
        return found

    def missed(self, time: int, profit: int) -> bool:
        return time == self.horizon and profit < Fraction(1, 10) * self.horizon


@dataclass
class Shipping:
    """Vaccines: the state is what is on its way to each country."""

    horizon: int
    supplies: Sequence[int]
    chances: Sequence[float]
    cost: Sequence[int]
    delay: Sequence[float]

    @property
    def start(self) -> Any:
        return (0,) * len(self.cost)

    @property
    def actions(self) -> range:
        return range(len(self.cost))

    def noises(self) -> Draws:
        return list(zip(self.chances, self.supplies, strict=True))

    def outcomes(self, time: int, late: Any, supply: Any, action: int) -> Draws:
        doses = max(supply - self.cost[action], 0)
        sent = tuple(doses if i == action else 0 for i in self.actions)
        now = tuple(float(a + b) for a, b in zip(late, sent, strict=True))
        later = tuple(map(float, late))
        none = (0,) * len(sent)
        both = [
            (1 - self.delay[action], DecisionRecord(now, None, none)),
            (self.delay[action], DecisionRecord(later, None, sent)),
        ]
        return [(chance, what) for chance, what in both if chance > 0]


@dataclass
class Clinic:
    """The waiting list, every patient for themselves: (waits of those waiting, of those treated).

    The state after a step is the waits of everyone who ever joined, by class.
    """

    horizon: int
    arrivals: Sequence[float]
    capacity: int

    @property
    def start(self) -> Any:
        return tuple(((), ()) for _ in self.arrivals)

    @property
    def actions(self) -> range:
        return range(len(self.arrivals))

    def noises(self) -> Draws:
        return coins(self.arrivals)

    def outcomes(self, time: int, state: Any, arrives: Any, action: int) -> Draws:
        after, rewards = [], []
        for i, (waiting, treated) in enumerate(state):
            if arrives[i] and len(waiting) < self.capacity:
                waiting = (*waiting, 0)
            rewards.append(float(i == action and len(waiting) > 0))
            if rewards[-1]:
                longest = waiting.index(max(waiting))
                treated = (*treated, waiting[longest])
                waiting = waiting[:longest] + waiting[longest + 1 :]
            after.append((tuple(wait + 1 for wait in waiting), treated))
        return [(1.0, DecisionRecord(tuple(rewards), None, tuple(after)))]


@dataclass
class Chain:
    """A finite MDP given as nested lists: P[s][a][s'] and R[s][a][s'][i]."""

    horizon: int
    start: int
    transitions: Any
    rewards: Any

    @property
    def actions(self) -> range:
        return range(len(self.transitions[0]))

    def noises(self) -> Draws:
        return [(1.0, None)]

    def outcomes(self, time: int, state: int, noise: Any, action: int) -> Draws:
        return [
            (
                chance,
                DecisionRecord(tuple(map(float, self.rewards[state][action][after])), None, after),
            )
            for after, chance in enumerate(self.transitions[state][action])
            if chance > 0
        ]


# Scores of whole histories


def received(history: History) -> list[float]:
    """What each has received so far."""
    return [sum(amounts) for amounts in zip(*(step.rewards for step in history), strict=True)]


def by_group(groups: Sequence[Sequence[int]]) -> Callable[[History], list[float]]:
    return lambda history: [sum(received(history)[i] for i in part) for part in groups]


def mean_waits(history: History) -> list[float]:
    """Minus the mean wait of each class."""
    return [
        -sum(waiting + treated) / max(len(waiting + treated), 1)
        for waiting, treated in history[-1].state
    ]


def log_nash(u: Sequence[float]) -> float:
    return sum(math.log(x + 1) for x in u)


def parity(u: Sequence[float]) -> float:
    return -max(abs(x - y) for x in u for y in u)


def minus_variance(u: Sequence[float]) -> float:
    return -sum((x - sum(u) / len(u)) ** 2 for x in u) / len(u)


def always(history: History, horizon: int) -> bool:
    return True


def at_the_end(history: History, horizon: int) -> bool:
    return len(history) == horizon


def every(period: int) -> Callable[[History, int], bool]:
    return lambda history, horizon: len(history) % period == 0


def after_each(amount: float) -> Callable[[History, int], bool]:
    def fires(history: History, horizon: int) -> bool:
        reached = [sum(received(history[:t])) // amount for t in range(1, len(history) + 1)]
        return reached[-1] > max([0, *reached[:-1]])

    return fires


def discounted(discount: float) -> Callable[[list[float]], float]:
    return lambda w: sum(discount**j * x for j, x in enumerate(w))


@dataclass
class Scheme:
    """⟨U, W_temporal ∘ W or balanced unfairness, B⟩, and the score of nothing assessed."""

    welfare: Callable[[Sequence[float]], float] = log_nash
    over_time: Callable[[list[float]], float] | None = sum  # None: balanced unfairness
    assessed: Callable[[History, int], bool] = always
    status: Callable[[History], list[float]] = received
    empty: float | None = None

    def score(self, history: History, horizon: int) -> float:
        statuses, values = [], []
        for t in range(1, len(history) + 1):
            override = history[t - 1].override
            if self.assessed(history[:t], horizon) or override is not None:
                statuses.append(self.status(history[:t]))
                values.append(self.welfare(statuses[-1]) if override is None else override)
        if not values:
            assert self.empty is not None, "nothing was assessed"
            return self.empty
        if self.over_time is not None:
            return self.over_time(values)
        unfair = [[u_i - sum(u) / len(u) for u_i in u] for u in statuses]
        return -sum(sum(of_i) ** 2 for of_i in zip(*unfair, strict=True))


# Policies


def best_value(world: Any, scheme: Scheme) -> float:
    """The maximum over policies that see everything so far: expectimax over whole histories."""
    return _value(world, scheme, (), world.start, max)


def random_value(world: Any, scheme: Scheme) -> float:
    """The expected score of choosing every action with the same probability."""
    return _value(world, scheme, (), world.start, lambda values: sum(values) / len(values))


def action_values(
    world: Any, scheme: Scheme, history: History, state: Any, noise: Any
) -> list[float]:
    """What each action is worth after a history, with the best decisions from then on."""
    return _action_values(world, scheme, history, state, noise, max)


def _value(world: Any, scheme: Scheme, history: History, state: Any, choose: Any) -> float:
    if len(history) == world.horizon:
        return scheme.score(history, world.horizon)
    return sum(
        chance * choose(_action_values(world, scheme, history, state, noise, choose))
        for chance, noise in world.noises()
    )


def _action_values(
    world: Any, scheme: Scheme, history: History, state: Any, noise: Any, choose: Any
) -> list[float]:
    return [
        sum(
            chance * _value(world, scheme, (*history, what), what.state, choose)
            for chance, what in world.outcomes(len(history) + 1, state, noise, action)
        )
        for action in world.actions
    ]


def values_of_all_policies(world: Any, scheme: Scheme) -> Iterator[float]:
    """The value of every deterministic history-dependent policy, one after the other.

    A policy is an action for each situation (history and noise) that its own earlier actions can
    lead to; policies that differ only in what never comes up are one.
    """
    yield from _policies(world, scheme, [(1.0, (), world.start)])


def _policies(world: Any, scheme: Scheme, nodes: list[tuple[float, History, Any]]) -> Any:
    situations = [
        (reach * chance, history, state, noise)
        for reach, history, state in nodes
        for chance, noise in world.noises()
    ]
    time = len(situations[0][1]) + 1
    after = [
        [
            [
                (reach * chance, (*history, what), what.state)
                for chance, what in world.outcomes(time, state, noise, action)
            ]
            for action in world.actions
        ]
        for reach, history, state, noise in situations
    ]
    if time == world.horizon:
        worth = [
            [sum(r * scheme.score(h, world.horizon) for r, h, _ in nodes) for nodes in by_action]
            for by_action in after
        ]
        yield from map(sum, itertools.product(*worth))
    else:
        for rule in itertools.product(*after):
            yield from _policies(world, scheme, [node for nodes in rule for node in nodes])
