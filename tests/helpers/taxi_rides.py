"""The fair taxi without the package: a search over deliveries, and one over all decisions."""

from __future__ import annotations

import functools
import itertools

MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))


def welfare(returns) -> float:
    """The geometric mean, 0 where a return is not above 0."""
    product = 1.0
    for value in returns:
        product *= max(value, 0.0)
    return product ** (1 / len(returns))


def cells(size):
    return list(itertools.product(range(size[0]), range(size[1])))


def best_by_deliveries(origins, destinations, size, horizon, fare=30.0) -> float:
    """Long-term optimum: the best numbers of deliveries that fit, from each cell; no error pays.

    Only where the taxi is after a delivery, how often it delivered whom, and the least time that
    takes are looked at.
    """
    return sum(
        _best_from(cell, tuple(origins), tuple(destinations), horizon, fare) for cell in cells(size)
    ) / len(cells(size))


def _best_from(start, origins, destinations, horizon, fare) -> float:
    soonest = {}
    ways = [(start, (0,) * len(origins), 0)]
    while ways:
        at, counts, time = ways.pop()
        if soonest.get((at, counts), horizon + 1) <= time:
            continue
        soonest[at, counts] = time
        for i, (origin, destination) in enumerate(zip(origins, destinations, strict=True)):
            ends = time + _way(at, origin) + 1 + _way(origin, destination) + 1
            if ends <= horizon:
                more = tuple(count + (j == i) for j, count in enumerate(counts))
                ways.append((destination, more, ends))
    return max(welfare([fare * count for count in counts]) for _, counts in soonest)


def _way(one, other) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def step(origins, destinations, size, at, passenger, action, fare=30.0, penalty=10.0):
    """What a decision leads to: the cell, the passenger (or None) and what each origin gets."""
    nothing = [0.0] * len(origins)
    wrong = [-penalty] * len(origins)
    if action < 4:
        row, column = at[0] + MOVES[action][0], at[1] + MOVES[action][1]
        inside = 0 <= row < size[0] and 0 <= column < size[1]
        return ((row, column) if inside else at), passenger, nothing
    if action == 4:
        if passenger is None and at in origins:
            return at, origins.index(at), nothing
        return at, passenger, wrong
    if passenger is not None and at == destinations[passenger]:
        paid = [fare * (i == passenger) for i in range(len(origins))]
        return at, None, paid
    return at, None, wrong


def best_of_all(origins, destinations, size, horizon, assessed) -> float:
    """The optimum over every way to decide, wrong ones too; welfare is added at `assessed`."""

    @functools.cache
    def value(at, passenger, returns, time):
        if time == horizon:
            return 0.0
        found = []
        for action in range(6):
            there, whom, paid = step(origins, destinations, size, at, passenger, action)
            total = tuple(a + b for a, b in zip(returns, paid, strict=True))
            now = welfare(total) if time + 1 in assessed else 0.0
            found.append(now + value(there, whom, total, time + 1))
        return max(found)

    first = (0.0,) * len(origins)
    starts = cells(size)
    return sum(value(cell, None, first, 0) for cell in starts) / len(starts)
