"""One scheme at work on assessed statuses, and on the same statuses made even."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.errors import EvenhandError, NegativeStatus, WelfareOverflow
from evenhand.fairness.filters import Always
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.standing import Standing
from evenhand.fairness.status import Status
from evenhand.fairness.stream import Block, Stream
from evenhand.fairness.trace import Step, Trace
from evenhand.fairness.welfare import Average

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

    @property
    def weights_change(self) -> bool:
        return True

    def scan_weights(self, state: Any, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        return None if steps.states is None else steps.states[1:]  # type: ignore[return-value]

    def describe(self) -> str:
        return "known"


class Sides(NamedTuple):
    """The statuses of some assessments as they were, and made even: alike for every scheme."""

    actual: Trace
    even: Trace
    present: Bool[np.ndarray, "time n"] | None

    @classmethod
    def of(cls, block: Block) -> Sides:
        return cls.at(block.statuses, block.standing)

    @classmethod
    def at(cls, statuses: Float[np.ndarray, "time n"], standing: Standing) -> Sides:
        even = standing.judge(_evened, statuses, 0.0)
        return cls(_as_trace(statuses, standing), _as_trace(even, standing), standing.present)


class Added(NamedTuple):
    """What each assessment adds to a score, and to that of the even log where it is defined."""

    actual: Float[np.ndarray, "assessment ..."]
    even: Float[np.ndarray, "assessment ..."] | None


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

    def take(self, sides: Sides) -> Added | None:
        """What each assessment of a block adds, where that is defined."""
        if self.undefined is not None:
            return None
        try:
            actual = _contributions(self.stream, sides.actual, sides.present)
            if self.scheme.aggregation.keeps_history:
                return Added(actual, None)
            return Added(actual, _contributions(self._even, sides.even, sides.present))
        except (NegativeStatus, WelfareOverflow) as error:
            self.undefined = error
            return None

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


def mean_status(
    statuses: Float[np.ndarray, "time n"], weights: Float[np.ndarray, "time n"] | None
) -> Float[np.ndarray, " time"]:
    """The mean at each time point, in which a stakeholder of weight w counts as w equal ones."""
    return Average()(statuses) if weights is None else Average().weighted(statuses, weights)


def _evened(
    statuses: Float[np.ndarray, "time n"], weights: Float[np.ndarray, "time n"] | None
) -> Float[np.ndarray, "time n"]:
    return np.repeat(mean_status(statuses, weights)[:, None], statuses.shape[1], axis=1)


def _as_trace(statuses: Float[np.ndarray, "time n"], standing: Standing) -> Trace:
    """Statuses as a trace for `KnownStatus`; the weights stand in the place of the states."""
    weights = standing.weights
    states = None if weights is None else np.concatenate((weights[:1], weights))
    return Trace(rewards=statuses, states=states)  # type: ignore[arg-type]


def _contributions(
    stream: Stream, trace: Trace, present: Bool[np.ndarray, "time n"] | None
) -> Float[np.ndarray, "assessment ..."]:
    return np.concatenate([block.contributions for block in stream.blocks(trace, present)])


class WelfareNow(NamedTuple):
    """What an assessment would find now, and would find in the even log."""

    actual: float
    even: float | None


def welfare_now(
    scheme: FairnessScheme, status: Float[np.ndarray, " n"], standing: Standing
) -> WelfareNow | None:
    """What an assessment would find now, where that is defined."""
    if scheme.welfare is None or not standing.anybody:
        return None
    try:
        added = Scorer(scheme, len(status)).take(Sides.at(status[None], standing))
    except EvenhandError:
        return None
    if added is None:
        return None
    even = None if added.even is None else float(added.even[0])
    return WelfareNow(float(added.actual[0]), even)
