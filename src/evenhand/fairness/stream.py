"""A scheme at work: it takes steps, one or many at a time, and always holds the score so far."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand._util.numbers import as_float64
from evenhand.errors import (
    NothingAssessed,
    OverridesRefused,
    PresenceRefused,
    StatusPlace,
    UnequalLengths,
    WelfareOverflow,
)
from evenhand.fairness.trace import Override, Standing, Step, Trace
from evenhand.fairness.welfare import require_defined

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from evenhand.fairness.aggregation import Aggregation
    from evenhand.fairness.scheme import FairnessScheme

BLOCK_VALUES = 1 << 17  # statuses at a time: few enough to stay in the cache, and to bound memory


class Assessed(NamedTuple):
    """The assessed time points among the steps that follow step `before`."""

    before: int
    assessed: Bool[np.ndarray, " step"]
    statuses: Float[np.ndarray, "time status"]
    standing: Standing = Standing()
    override: Override | None = None

    def time(self, row: int) -> int:
        """The time point, from 1, of a row of the statuses."""
        return self.before + 1 + int(np.flatnonzero(self.assessed)[row])

    def status_at(self, row: int, stakeholder: int) -> StatusPlace:
        """What a row of the statuses without an override is called in an error."""
        own = row if self.override is None else int(np.flatnonzero(~self.override.applies)[row])
        return StatusPlace(int(stakeholder), self.time(own))


class Block(NamedTuple):
    """What a stream found in some steps on its way: the assessed statuses and what each adds."""

    due: Bool[np.ndarray, " step"]  # to be assessed, if anybody is there
    assessed: Bool[np.ndarray, " step"]
    statuses: Float[np.ndarray, "assessment status"]
    contributions: Float[np.ndarray, "assessment ..."]  # w_t, where the scheme is timepoint-first
    standing: Standing
    start: Any  # the aggregation's state before the block
    all_statuses: Float[np.ndarray, "step status"]  # whether assessed or not
    all_weights: Float[np.ndarray, "step status"] | None


_THIS = np.ones(1, dtype=bool)  # one step, assessed


class Fold:
    """The score of what a scheme has assessed so far: it takes contributions as they come."""

    def __init__(self, scheme: FairnessScheme) -> None:
        self.scheme = scheme
        self.assessments = 0
        self.state: Any = None  # begun with the first status vector, whose size it needs

    def begun(self, size: int) -> Any:
        """The state of the aggregation, which must fit so many statuses."""
        if self.state is not None:
            return self.state
        self.scheme.aggregation.require_fit(size)
        return self.scheme.aggregation.init(size)

    def take(self, found: Assessed) -> Float[np.ndarray, "time ..."]:
        """What each assessed time point adds; refused whole where one of them is undefined."""
        start = self.begun(found.statuses.shape[1])
        contributions = defined_contributions(self.scheme, found)
        self.state = self.scheme.aggregation.extend(start, contributions)
        self.assessments += len(contributions)
        return contributions

    @np.errstate(all="ignore")
    def score(self, steps: int) -> float:
        """The score of a history of so many steps."""
        if not self.assessments:
            return _score_of_nothing(self.scheme, steps)
        score = float(self.scheme.aggregation.value(self.state))
        if not np.isfinite(score):
            raise WelfareOverflow(
                f"the score is {score}, beyond what a number can hold: use smaller units."
            )
        return score


class Stream:
    """The running score of one history under one scheme.

    Memory does not grow with time, unless a part of the scheme is a function of the whole history.

    >>> from evenhand import Rawls, anytime
    >>> stream = anytime(Rawls()).stream(num_stakeholders=2)
    >>> for rewards in ([1, 0], [0, 1]):
    ...     stream.push(rewards)
    >>> stream.score
    0.5
    """

    def __init__(self, scheme: FairnessScheme, num_stakeholders: int) -> None:
        self.scheme = scheme
        self.num_stakeholders = num_stakeholders
        self.steps = 0
        self._status = scheme.status.init(num_stakeholders)
        self._filter = scheme.filter.init()
        self._fold = Fold(scheme)
        # Whether the present time point is assessed, by the filter or an override; before the first
        # step there is none, and so none that is left to assess.
        self.end_is_due = True

    @np.errstate(all="ignore")  # what overflows is refused by name
    def push(self, step: Step | Any) -> None:
        """Take one step, or the rewards of one, into account."""
        if not isinstance(step, Step):
            step = Step(action=None, rewards=step)
        rewards = as_float64(step.rewards, f"the rewards of step {self.steps + 1}")
        if rewards.shape != (self.num_stakeholders,):
            raise UnequalLengths(
                f"step {self.steps + 1} has rewards of shape {rewards.shape}: expected one number "
                f"for each of {self.num_stakeholders} stakeholders."
            )
        step = step._replace(rewards=rewards)
        override = step.override if step.override and step.override.applies else None
        status = self.scheme.status.update(self._status, step)
        filtered, fires = self.scheme.filter.update(self._filter, step)
        due = bool(fires) or override is not None
        standing = _at_one_point(None, self.scheme.status.weights(status))
        if due and standing.anybody:
            one = override and Override(_THIS, np.asarray([override.value], dtype=float))
            vector = self.scheme.status.value(status)
            self._fold.take(Assessed(self.steps, _THIS, vector[None], standing, one))
        # Nothing above may leave a step half taken: a refused step can be fixed and pushed again.
        self._status, self._filter, self.end_is_due = status, filtered, due
        self.steps += 1

    def extend(self, trace: Trace, present: Bool[np.ndarray, "time status"] | None = None) -> None:
        """Take many steps into account; the same as pushing each, only faster.

        `present` says who is there to be judged at each time point; without it everyone is.
        """
        for _ in self.blocks(trace, present):
            pass

    def blocks(
        self, trace: Trace, present: Bool[np.ndarray, "time status"] | None = None
    ) -> Iterator[Block]:
        """Take many steps into account, and hand over what was found, a block at a time."""
        if trace.num_stakeholders != self.num_stakeholders:
            raise UnequalLengths(
                f"the trace has {trace.num_stakeholders} stakeholders, the stream was begun with "
                f"{self.num_stakeholders}: use the same for both."
            )
        whole = self.scheme.status.keeps_history or self.scheme.filter.keeps_history
        length = max(1, len(trace) if whole else BLOCK_VALUES // trace.num_stakeholders)
        for start in range(0, len(trace), length):
            stop = min(start + length, len(trace))
            here = None if present is None else present[start:stop]
            yield self._take(trace.block(start, stop), here)

    @np.errstate(all="ignore")
    def _take(self, block: Trace, present: Bool[np.ndarray, "time status"] | None) -> Block:
        scheme = self.scheme
        status, statuses = scheme.status.scan(self._status, block)
        weights = scheme.status.scan_weights(self._status, block)
        filtered, fires = scheme.filter.scan(self._filter, block)
        standing = Standing.of(present, weights)
        # An override is paid even where the filter does not fire.
        overrides = block.overrides
        due = fires if overrides is None else fires | overrides.applies
        assessed = due if standing.present is None else due & standing.present.any(axis=1)
        override = overrides and Override(*(part[assessed] for part in overrides))
        chosen = statuses if assessed.all() else statuses[assessed]
        standing = Standing.of(*standing.rows(assessed))
        start = self._fold.begun(statuses.shape[1])
        found = Assessed(self.steps, assessed, chosen, standing, override)
        contributions = self._fold.take(found)
        self._status, self._filter, self.end_is_due = status, filtered, bool(due[-1])
        self.steps += len(block)
        return Block(due, assessed, chosen, contributions, standing, start, statuses, weights)

    @np.errstate(all="ignore")
    def end(self, present: Bool[np.ndarray, " status"] | None = None) -> Block | None:
        """The assessment of the last time point because it is the last, where the filter asks."""
        if self.end_is_due or not self.scheme.filter.assesses_end:
            return None
        vector, standing = self.status[None], self.standing(present)
        if not standing.anybody:
            self.end_is_due = True  # and over: nobody can be judged at it
            return None
        start = self._fold.begun(vector.shape[1])
        contributions = self._fold.take(Assessed(self.steps - 1, _THIS, vector, standing))
        self.end_is_due = True
        weights = standing.weights
        return Block(_THIS, _THIS, vector, contributions, standing, start, vector, weights)

    def running(self, block: Block) -> Float[np.ndarray, " assessment"]:
        """The score as it stood after each assessment of a block."""
        return self.scheme.aggregation.scan(block.start, block.contributions)

    def snapshot(self) -> tuple[Any, ...]:
        """All that the stream knows, as nested tuples of arrays and numbers."""
        begun = self._fold.state is not None
        fold = self._fold.state if begun else ()
        counts = (self.steps, self._fold.assessments, self.end_is_due, begun)
        return (counts, self._status, self._filter, fold)

    def resume(self, snapshot: tuple[Any, ...]) -> None:
        """Go on from where another stream of the same scheme stood."""
        counts, self._status, self._filter, fold = snapshot
        self.steps, self._fold.assessments, self.end_is_due, begun = counts
        self._fold.state = fold if begun else None

    @property
    def assessments(self) -> int:
        """How many time points have been assessed, the present one included if it is the end."""
        return self._fold.assessments + self._assesses_end()

    @property
    def status(self) -> Float[np.ndarray, " status"]:
        """The present status vector."""
        return np.asarray(self.scheme.status.value(self._status))

    def standing(self, present: Bool[np.ndarray, " status"] | None = None) -> Standing:
        """As how many each counts now, of those who are there."""
        return _at_one_point(present, self.scheme.status.weights(self._status))

    @property
    @np.errstate(all="ignore")
    def score(self) -> float:
        """The score of the trace so far, as if it ended here."""
        fold = self._fold
        if self._assesses_end():
            fold = copy(fold)
            fold.take(Assessed(self.steps - 1, _THIS, self.status[None], self.standing()))
        return fold.score(self.steps)

    def _assesses_end(self) -> bool:
        asks = self.scheme.filter.assesses_end and not self.end_is_due
        return asks and self.standing().anybody


def defined_contributions(scheme: FairnessScheme, found: Assessed) -> Float[np.ndarray, "time ..."]:
    """What each assessed time point adds, or a named error where it is undefined."""
    statuses, override, standing = found.statuses, found.override, found.standing
    aggregation = scheme.aggregation
    if override is not None and override.applies.any() and not aggregation.takes_overrides:
        step = found.time(int(override.applies.argmax()))
        raise OverridesRefused(
            f"step {step} has an override, which stands in for the welfare of one time point, "
            f"and {type(aggregation).__name__} has no such welfare: score the trace without "
            "overrides, or use TimepointFirst."
        )
    if scheme.welfare is not None:
        judged = statuses[~override.applies] if override else statuses
        if standing.present is not None:  # nor can they leave the welfare undefined
            judged = np.where(standing.present, judged, np.inf)
        require_defined(scheme.welfare, judged, found.status_at)
    if standing.present is not None:
        _require_presence(aggregation, found)
    there = statuses if standing.present is None else np.where(standing.present, statuses, 0.0)
    if not np.isfinite(there).all():
        row = int(np.argwhere(~np.isfinite(there))[0][0])
        raise WelfareOverflow(
            f"the amounts are too large: at time {found.time(row)} what somebody received so "
            "far is beyond what a number can hold; count in larger units, such as millions."
        )
    contributions = scheme.contributions(statuses, standing.weights, standing.present, override)
    if not np.isfinite(contributions).all():
        row = int(np.argwhere(~np.isfinite(contributions))[0][0])
        raise WelfareOverflow(
            f"the welfare at time {found.time(row)} is {contributions[row]}, beyond what a "
            "number can hold: use LogNash for products, or smaller units."
        )
    return contributions


def _require_presence(aggregation: Aggregation, found: Assessed) -> None:
    """Stakeholders may come and go only where the scheme can judge those who are there."""
    if found.override is not None or aggregation.keeps_history:
        raise PresenceRefused(
            "stakeholders who come and go cannot be judged together with overrides, or by a "
            "function of all statuses at once: leave their dates out."
        )
    for _, mask in found.standing.stretches():
        aggregation.require_fit(int(mask.sum()))


def _score_of_nothing(scheme: FairnessScheme, steps: int) -> float:
    empty = scheme.aggregation.empty if scheme.empty is None else scheme.empty
    if empty is None:
        raise NothingAssessed(
            f"nothing was assessed: fairness is assessed {scheme.filter.describe()}, which "
            f"never came in {steps} decisions. Choose another filter, or name a score "
            "for this case (empty=…)."
        )
    return empty


def _at_one_point(
    present: Bool[np.ndarray, " status"] | None, weights: Float[np.ndarray, " status"] | None
) -> Standing:
    return Standing.of(*(None if p is None else np.asarray(p)[None] for p in (present, weights)))
