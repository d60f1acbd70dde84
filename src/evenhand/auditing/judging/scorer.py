"""One scheme at work on assessed statuses, and on the same statuses made even."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
    from jaxtyping import Float


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
        standing, present = block.standing, block.standing.present
        try:
            parts = [
                part.contributions
                for part in self.stream.blocks(_as_trace(block.statuses, standing), present)
            ]
            if not self.scheme.aggregation.keeps_history:
                even = standing.judge(_evened, block.statuses, 0.0)
                self._even.extend(_as_trace(even, standing), present)
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


def welfare_now(
    scheme: FairnessScheme, status: Float[np.ndarray, " n"], standing: Standing
) -> float | None:
    """What an assessment would find now, where that is defined."""
    try:
        known = replace(scheme, status=KnownStatus(len(status)), filter=Always())
        stream = Stream(known, len(status))
        trace = _as_trace(status[None], standing)
        (end,) = stream.blocks(trace, standing.present)
    except EvenhandError:
        return None
    if scheme.welfare is None or not len(end.contributions):  # nobody counts now
        return None
    return float(end.contributions[0])
