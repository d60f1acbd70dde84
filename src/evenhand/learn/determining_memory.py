"""A memory that determines the reward, found by trying: the smallest of those that are known.

Whether a memory does is compared with the true status along random episodes; so it is found for
any environment and scheme, with no list of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import jax

from evenhand.errors import EvenhandError
from evenhand.learn.random_play import RandomPlay, random_play
from evenhand.memory.memory import (
    Clock,
    Full,
    GroupDifference,
    GroupFull,
    Memory,
    Min,
    OfStatus,
    Product,
)
from evenhand.problem.checks import require_claim
from evenhand.problem.problem import Problem


class FoundMemory(NamedTuple):
    """A problem with the memory that was found for it, and what random play shows of it."""

    problem: Problem
    play: RandomPlay
    determines: bool  # whether the memory determines the reward
    looks_back: bool  # whether it depends on what it was before, so that it can be imagined


def find_memory(problem: Problem, *, clock: bool, keep: bool = False) -> FoundMemory:
    """The problem with the smallest memory known that determines the reward; else with Full.

    Args:
        problem: An environment and a scheme.
        clock: Whether the number of steps is remembered too.
        keep: Whether to see the problem's own memory rather than to find one.
    """
    memories = (problem.memory,) if keep else tuple(_candidates(problem))
    ticks = Clock(problem.environment.horizon + 1)
    # Full is what is left where none of them determines the reward.
    start = replace(problem, memory=memories[0] if keep else Full())
    play = random_play(start, (*memories, ticks))
    fits = [k for k in range(len(memories)) if _claims(problem, memories[k]) and play.determines(k)]
    chosen = next(iter(fits), 0 if keep else memories.index(Full()))
    parts = (memories[chosen], ticks) if clock else (memories[chosen],)
    seen = replace(problem, memory=Product(parts) if clock else parts[0])
    shown = _seen_with(play, start, (chosen, len(memories)) if clock else (chosen,))
    return FoundMemory(seen, shown, bool(fits), play.looks_back(chosen))


def _candidates(problem: Problem) -> Iterator[Memory]:
    """From the smallest on. What the status itself carries determines it always."""
    status = problem.scheme.status
    known = getattr(problem.environment, "planning_memory", lambda: None)()
    if known is not None:
        yield known
    groups = getattr(status, "groups", None)
    if groups is not None:
        yield from (one for one in (GroupDifference(groups), GroupFull(groups)) if one != known)
    yield from (one for one in (Min(), Full(), OfStatus(status)) if one != known)


def _claims(problem: Problem, memory: Memory) -> bool:
    """Whether it claims a status of the right size."""
    try:
        require_claim(replace(problem, memory=memory))
    except EvenhandError:
        return False
    return True


def _seen_with(play: RandomPlay, start: Problem, chosen: tuple[int, ...]) -> RandomPlay:
    """The play as it is seen with other memories: their attributes in place of the first's."""
    size = start.environment.num_stakeholders
    own = len(start.memory.attributes(start.memory.init(size), start.environment.horizon, size))
    places = len(start.environment.attributes(start.environment.initial(jax.random.key(0))))
    instead = tuple(values for k in chosen for values in play.trials[k].observed)
    seen = (*play.observed[:places], *instead, *play.observed[places + own :])
    return play._replace(observed=seen)
