"""The best score of a small problem by plain recursion: no jax, no tables, nothing merged.

A world is written out anew for it, as a function of Python numbers, so that a mistake in the
environment or in the planner shows.
"""

from __future__ import annotations

import functools
import itertools
import math


def chances(events):
    """Every combination of independent events, with its probability."""
    for happens in itertools.product((False, True), repeat=len(events)):
        yield math.prod(p if h else 1 - p for h, p in zip(happens, events, strict=True)), happens


def best_score(horizon, start, noises, step, welfare, size):
    """The expected total welfare of the best policy.

    `step(time, world, noise, action)` lists (probability, world, rewards); `noises` lists
    (probability, noise); there is an action for each of `size` stakeholders.
    """

    @functools.cache
    def value(time, world, received):
        if time == horizon:
            return 0.0

        def worth(noise, action):
            total = 0.0
            for p, after, rewards in step(time, world, noise, action):
                now = tuple(a + b for a, b in zip(received, rewards, strict=True))
                total += p * (welfare(now) + value(time + 1, after, now))
            return total

        return sum(p * max(worth(noise, a) for a in range(size)) for p, noise in noises)

    return value(0, start, (0,) * size)


def log_nash(received):
    return sum(math.log(1 + amount) for amount in received)


def one_to(action, amount, size):
    """Rewards of an amount to one of them."""
    return tuple(amount if i == action else 0 for i in range(size))
