"""What is compared between a log and chance: figures of the audit, each with its unfair side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.auditing.chance.history_figures import Figures
from evenhand.auditing.judging.ranking import EQUAL

if TYPE_CHECKING:
    from jaxtyping import Float

CENTRAL = 0.95  # of the drawn histories lie in the interval that is shown


class Measure(ABC):
    """One number of a history."""

    name: ClassVar[str]
    words: ClassVar[str]
    high_is_unfair: ClassVar[bool]

    @abstractmethod
    def of(self, figures: Figures) -> Float[np.ndarray, " draw"] | None:
        """Its value in each of many histories; None where it is not known."""


@dataclass(frozen=True)
class ScoreMeasure(Measure):
    """The fairness score."""

    name, words, high_is_unfair = "score", "the score", False

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"]:
        return figures.score


@dataclass(frozen=True)
class WorstOverall(Measure):
    """The overall unfairness to whoever was treated worst."""

    name, high_is_unfair = "worst_overall_unfairness", False
    words = "the overall unfairness to whoever was treated worst"

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"]:
        return figures.overall.min(axis=1)


@dataclass(frozen=True)
class MostOftenBelow(Measure):
    """The largest share of assessments at which anybody was on the worse side of the mean."""

    name, high_is_unfair = "largest_share_below", True
    words = "the largest share of assessments at which anybody was on the worse side of the mean"

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"]:
        return figures.share_below.max(axis=1)


@dataclass(frozen=True)
class GapBetweenGroups(Measure):
    """How far the groups with the highest and the lowest mean status are apart at the end."""

    name, high_is_unfair = "gap_between_groups", True
    words = "the gap at the end between the groups with the highest and the lowest mean status"

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"] | None:
        return figures.group_gap


MEASURES: tuple[Measure, ...] = (
    ScoreMeasure(),
    WorstOverall(),
    MostOftenBelow(),
    GapBetweenGroups(),
)


@dataclass(frozen=True)
class MeasureFinding:
    """A figure of the log beside those of chance."""

    name: str
    words: str
    high_is_unfair: bool
    found: float  # in the log
    low: float  # the interval of what chance made, and its middle
    middle: float
    high: float
    p: float  # how often chance is at least as unfair
    p_other_side: float  # how often it is at least as fair

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def at_least(
    drawn: Float[np.ndarray, "draw ..."], found: Float[np.ndarray, ...]
) -> Float[np.ndarray, ...]:
    """How often chance is at least as high: (1 + hits) / (1 + draws), and equals are hits.

    That is a valid p-value at any number of draws, since the log counts as one of them.

    >>> at_least(np.array([1.0, 2.0, 3.0]), np.array(3.0))
    np.float64(0.5)
    """
    size = np.maximum(np.abs(drawn).max(axis=0), np.abs(found))
    hits = (drawn >= found - EQUAL * size).sum(axis=0)
    return (1 + hits) / (1 + len(drawn))


def compare(measure: Measure, log: Figures, drawn: Figures) -> MeasureFinding | None:
    """A measure of the log beside those of drawn histories; None where it is not known."""
    one, many = measure.of(log), measure.of(drawn)
    if one is None or many is None or not (np.isfinite(one).all() and np.isfinite(many).all()):
        return None
    found, sign = one[0], 1 if measure.high_is_unfair else -1
    low, middle, high = np.quantile(many, ((1 - CENTRAL) / 2, 0.5, (1 + CENTRAL) / 2))
    return MeasureFinding(
        name=measure.name,
        words=measure.words,
        high_is_unfair=measure.high_is_unfair,
        found=float(found),
        low=float(low),
        middle=float(middle),
        high=float(high),
        p=float(at_least(sign * many, sign * found)),
        p_other_side=float(at_least(-sign * many, -sign * found)),
    )
