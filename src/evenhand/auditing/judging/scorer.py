"""One scheme at work on assessed statuses, and on the same statuses made even."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import EvenhandError, NegativeStatus, WelfareOverflow
from evenhand.fairness.filters import Always, Final
from evenhand.fairness.presence import of_those_present
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns, Status
from evenhand.fairness.stream import Block, Stream
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True)
class KnownStatus(Status):
    """Statuses that are known already: those of an assessment stand in the place of rewards."""

    size: int

    def init(self, num_stakeholders: int) -> Any:
        return np.zeros(self.size)

    def update(self, state: Any, step: Step) -> Any:
        return step.rewards

    def value(self, state: Any) -> Any:
        return state

    def scan(self, state: Any, steps: Trace) -> tuple[Any, Float[np.ndarray, "time status"]]:
        return state, steps.rewards

    def describe(self) -> str:
        return "known"


class Scorer:
    """One scheme at work on assessed statuses, and on those statuses made even.

    Many schemes look at one history at the same times, and its statuses are worked out once.
    """

    def __init__(self, scheme: FairnessScheme, size: int) -> None:
        self.scheme = scheme
        known = replace(scheme, status=KnownStatus(size), filter=Always())
        self.stream, self._even = Stream(known, size), Stream(known, size)
        self.size = size
        self.undefined: EvenhandError | None = None

    def take(self, block: Block) -> Float[np.ndarray, "assessment ..."] | None:
        """What each assessment of a block adds, where that is defined."""
        if self.undefined is not None or not len(block.statuses):
            return None
        try:
            parts = [
                part.contributions
                for part in self.stream.blocks(_as_trace(block.statuses), block.present)
            ]
            if not self.scheme.aggregation.keeps_history:
                even = of_those_present(_evened, block.statuses, block.present, 0.0)
                self._even.extend(_as_trace(even), block.present)
        except (NegativeStatus, WelfareOverflow) as error:
            self.undefined = error
            return None
        return np.concatenate(parts)

    @property
    def score(self) -> float:
        if self.undefined is not None:
            raise self.undefined
        return self.stream.score

    @property
    def even_score(self) -> float | None:
        """The score had everyone who was there had the mean of those who were there."""
        if self.undefined is not None or not self._even.assessments:
            return None
        return self._even.score


def _evened(statuses: Float[np.ndarray, "time n"]) -> Float[np.ndarray, "time n"]:
    return np.repeat(statuses.mean(axis=1, keepdims=True), statuses.shape[1], axis=1)


def _as_trace(statuses: Float[np.ndarray, "time n"]) -> Trace:
    return Trace(rewards=statuses)


def welfare_now(
    scheme: FairnessScheme, status: Float[np.ndarray, " n"], here: Bool[np.ndarray, " n"]
) -> float | None:
    """What an assessment would find now, where that is defined."""
    try:
        stream = Stream(replace(scheme, status=Returns(), filter=Final()), int(here.sum()))
        stream.push(status[here])
        end = stream.end()
    except EvenhandError:
        return None
    if end is None or scheme.welfare is None:
        return None
    return float(end.contributions[0])
