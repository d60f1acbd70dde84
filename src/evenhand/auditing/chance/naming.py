"""Naming somebody among many, such that nobody is named by chance more often than is said.

How far each is behind is measured by how far chance carries that one, and set against the furthest
that anybody is carried: the step-down maximum of Westfall and Young (1993). If chance alone was at
work, the probability that anybody is named is at most the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.chance.measures import at_least

if TYPE_CHECKING:
    from jaxtyping import Float, Int

LEVEL = 0.05  # the probability of naming anybody if chance alone was at work


@dataclass(frozen=True)
class PersonFinding:
    """One stakeholder beside chance."""

    name: str
    spreads: float  # how far behind, in standard deviations of what chance makes of it
    p: float  # how often chance leaves this one as far behind
    p_among_all: float  # how often it leaves anybody as far behind (step by step)
    q: float  # the false discovery rate of a list down to this one

    @property
    def named(self) -> bool:
        return self.p_among_all <= LEVEL

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "named": self.named}


@dataclass(frozen=True, eq=False)
class Spread:
    """What chance makes of each: the mean overall unfairness, and its standard deviation."""

    mean: Float[np.ndarray, " status"]
    deviation: Float[np.ndarray, " status"]

    @classmethod
    def of(
        cls,
        log: Float[np.ndarray, "1 status"],
        drawn: Float[np.ndarray, "draw status"],
        kinds: Int[np.ndarray, " status"],
    ) -> Spread:
        """From drawn histories and the log, which must count as one of them to be exact.

        Those whom chance treats alike share a mean and a deviation: estimated for each alone these
        would differ a little, and decide between histories in which one or the other is as far
        behind.

        Args:
            log: The overall unfairness of each in the log.
            drawn: The same in drawn histories.
            kinds: The number of each one's kind; chance treats those of one kind alike.
        """
        values = np.concatenate((log, drawn))
        size = float(np.abs(values).max()) or 1.0  # squares of huge amounts would not be numbers
        values = values / size

        def shared(of_each: Float[np.ndarray, " status"]) -> Float[np.ndarray, " status"]:
            return (np.bincount(kinds, of_each) / np.maximum(np.bincount(kinds), 1))[kinds]

        mean = shared(values.mean(axis=0))
        deviation = np.sqrt(shared(((values - mean) ** 2).mean(axis=0)))
        return cls(mean * size, deviation * size)

    def behind(self, overall: Float[np.ndarray, "*draw status"]) -> np.ndarray:
        """How many standard deviations each is behind; 0 for whom nothing is left to chance."""
        known = self.deviation > 0
        return np.where(known, self.mean - overall, 0.0) / np.where(known, self.deviation, 1.0)


def name_people(
    names: tuple[str, ...],
    log: Float[np.ndarray, " status"],
    drawn: Float[np.ndarray, "draw status"],
) -> tuple[PersonFinding, ...]:
    """Everyone beside chance, the furthest behind first.

    Args:
        names: Of those judged.
        log: How far behind each is in the log, in standard deviations.
        drawn: The same in drawn histories.
    """
    own = np.atleast_1d(at_least(drawn, log))
    order = np.argsort(-log, kind="stable")
    # The furthest of those who are not yet named, from the last place upwards.
    rest = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
    among_all = np.maximum.accumulate(at_least(rest, log[order]))
    rates = false_discovery_rates(own)
    return tuple(
        PersonFinding(names[i], float(log[i]), float(own[i]), float(joint), float(rates[i]))
        for i, joint in zip(order, among_all, strict=True)
    )


def false_discovery_rates(p: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The smallest level at which each is found, whatever the dependence (Benjamini, Yekutieli).

    >>> false_discovery_rates(np.array([0.01, 0.5])).round(3)
    array([0.03, 0.75])
    """
    size = len(p)
    order = np.argsort(p, kind="stable")
    factor = size * (1.0 / np.arange(1, size + 1)).sum() / np.arange(1, size + 1)
    ascending = np.minimum.accumulate((p[order] * factor)[::-1])[::-1]
    rates = np.empty(size)
    rates[order] = np.minimum(ascending, 1.0)
    return rates
