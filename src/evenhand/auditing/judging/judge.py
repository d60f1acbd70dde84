"""A history judged under one question: the package's own schemes, streamed over its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.questions import Question, Timeline
from evenhand.auditing.judging.ranking import EQUAL, Ranking
from evenhand.auditing.judging.running_totals import RunningTotals
from evenhand.auditing.judging.scorer import Added, Scorer, Sides, mean_status, welfare_now
from evenhand.errors import BadLog, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.stream import Block, Stream
from evenhand.fairness.trace import NONE, Standing, Tolerance
from evenhand.fairness.unfairness import ROUNDING, unfair_to, unfairness
from evenhand.fairness.welfare import Average

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    Present = Bool[np.ndarray, "step status"] | None

KEPT_VALUES = 2_000_000  # unfairness to each at each assessment, kept for the answer


@dataclass(frozen=True, eq=False)
class Judged:
    """What one question found, under each of some schemes; who was treated how is the same."""

    question: Question
    timeline: Timeline
    totals: RunningTotals
    scorers: tuple[Scorer, ...]
    assessed: Int[np.ndarray, " assessment"]  # steps, from 0
    unattended: Int[np.ndarray, " missed"]  # steps that were due, with nobody on the roster there
    welfare: Float[np.ndarray, " assessment"] | None  # w_t under the first scheme
    even_welfare: Float[np.ndarray, " assessment"] | None  # the same had all had the mean
    kept: Int[np.ndarray, " kept"]  # assessments, from 0, of which unfairness is kept
    unfairness: Float[np.ndarray, "kept stakeholder"]  # NaN for those not there
    mean: Float[np.ndarray, " kept"]  # the mean status of those there
    final: Float[np.ndarray, " stakeholder"]
    final_unfairness: Float[np.ndarray, " stakeholder"]
    final_below: Bool[np.ndarray, " stakeholder"]
    final_weights: Float[np.ndarray, " stakeholder"] | None  # as how many each counts at the end
    final_mean: float
    let_pass_at_end: Float[np.ndarray, " stakeholder"]  # by the tolerance
    as_even_as_whole_units: bool  # whole amounts, and nobody ever a whole unit from its share
    unfinished: str | None  # the name of a last step that is not scored
    unfinished_welfare: float | None = None
    unfinished_even: float | None = None

    @property
    def score(self) -> float:
        return self.scorers[0].score

    @property
    def final_ranking(self) -> Ranking:
        """Who stands where at the end."""
        return Ranking.of(self.final_unfairness, self.final, self.let_pass_at_end)

    def label(self, assessment: int) -> str:
        return self.timeline.label(int(self.assessed[assessment]))

    def missed(self) -> tuple[str, ...]:
        """What the moments are called that were not assessed since nobody was there."""
        return tuple(map(self.timeline.label, self.unattended.tolist()))

    def gaps(self) -> tuple[str, ...]:
        """What the periods are called in which nothing happened and which were assessed."""
        empty = self.timeline.empty
        found = () if empty is None else np.intersect1d(empty, self.assessed).tolist()
        return tuple(map(self.timeline.label, found))


def judge(
    case: Case,
    question: Question,
    schemes: Sequence[FairnessScheme],
    timeline: Timeline | None = None,
) -> Judged:
    """Stream a history through schemes that share status and filter, and add up unfairness.

    Args:
        case: What is judged.
        question: When to look.
        schemes: By what; all of them see the same statuses.
        timeline: That of the question, if it is there already.
    """
    timeline = case.timeline(question) if timeline is None else timeline
    # Statuses and times do not depend on the welfare; this one is defined everywhere.
    looking = FairnessScheme(case.status, TimepointFirst(Average()), timeline.filter)
    stream = Stream(looking, len(case.history.names))
    taken = _Assessments(timeline, len(case.names), schemes, case.tolerance)
    seen = _watch(case, timeline, stream, taken)
    standing = seen.at_end
    final = stream.status
    if case.status.per_step and standing.present is not None:
        # Whoever had no part in the last period has the status of the last in which it had one.
        final = np.where(standing.present[0], final, taken.last_status)
    end = _end(stream.status, standing, taken.totals, case.tolerance)
    mean = _mean_at_end(standing, stream.status)
    # A last step that was not due is a period that is not finished, if there is anybody to show.
    waits = not stream.end_is_due and standing.anybody
    now = welfare_now(schemes[0], stream.status, standing) if waits else None
    if waits:  # a verdict speaks of the end too
        taken.look_how_far(standing.judge(unfairness, stream.status[None], np.nan), standing)
    return Judged(
        question=question,
        timeline=timeline,
        totals=taken.totals,
        scorers=taken.scorers,
        assessed=seen.assessed,
        unattended=seen.unattended,
        welfare=taken.welfare(),
        even_welfare=taken.even_welfare(),
        kept=np.concatenate(taken.kept),
        unfairness=np.concatenate(taken.unfairness),
        mean=np.concatenate(taken.means),
        final=final,
        final_unfairness=end.unfairness,
        final_below=end.below,
        final_weights=_weights_at_end(standing),
        final_mean=mean,
        let_pass_at_end=end.let_pass,
        as_even_as_whole_units=case.in_whole_units and taken.furthest_amount < 1.0,
        unfinished=timeline.label(timeline.steps - 1) if waits else None,
        unfinished_welfare=None if now is None else now.actual,
        unfinished_even=None if now is None else now.even,
    )


class _Assessments:
    """What is gathered of the assessments: totals and scores of all, the unfairness of some."""

    def __init__(
        self,
        timeline: Timeline,
        size: int,
        schemes: Sequence[FairnessScheme],
        tolerance: Tolerance,
    ) -> None:
        self.totals = RunningTotals(size, tolerance)
        self.scorers = tuple(Scorer(scheme) for scheme in schemes)
        self._every = max(1, -(-timeline.steps * size // KEPT_VALUES))
        self.kept: list[np.ndarray] = []
        self.unfairness: list[np.ndarray] = []
        self.means: list[np.ndarray] = []
        self._added: list[Added] = []
        self.last_status = np.zeros(size)  # of each, when it was judged last
        self.furthest_amount = 0.0  # the most by which anybody was ahead of or behind its share

    def take(self, block: Block) -> None:
        before = self.totals.assessments
        rows = np.arange(-before % self._every, len(block.statuses), self._every)
        self.kept.append(before + rows)
        deviation = self.totals.take(block)[0]
        self.unfairness.append(deviation[rows])
        self._keep_last(block)
        self.look_how_far(deviation, block.standing)
        standing = block.standing.rows(rows)
        self.means.append(standing.judge(mean_status, block.statuses[rows], np.nan))
        if not len(block.statuses):
            return
        # The stream's welfare is the mean of those there, so that is what each assessment added.
        sides = Sides.of(block.statuses, block.contributions, block.standing)
        added = [scorer.take(sides) for scorer in self.scorers]
        if added[0] is not None:
            self._added.append(added[0])

    def look_how_far(self, deviation: Float[np.ndarray, "time n"], standing: Standing) -> None:
        """Keep the most by which anybody is ahead of or behind its share, in amounts."""
        weights = 1.0 if standing.weights is None else standing.weights
        amounts = np.nanmax(np.abs(deviation) * weights, initial=0.0)
        self.furthest_amount = max(self.furthest_amount, float(amounts))

    def _keep_last(self, block: Block) -> None:
        if not len(block.statuses):
            return
        present = block.standing.present
        here = np.ones(block.statuses.shape, dtype=bool) if present is None else present
        row = len(here) - 1 - here[::-1].argmax(axis=0)
        latest = block.statuses[row, np.arange(here.shape[1])]
        self.last_status = np.where(here.any(axis=0), latest, self.last_status)

    def welfare(self) -> Float[np.ndarray, " assessment"] | None:
        """What each assessment found, under the first scheme, if that has a welfare."""
        if self.scorers[0].scheme.welfare is None:
            return None
        return np.concatenate([np.zeros(0), *(added.actual for added in self._added)])

    def even_welfare(self) -> Float[np.ndarray, " assessment"] | None:
        """The same had everybody had the mean, where that is defined."""
        even = [added.even for added in self._added if added.even is not None]
        if self.scorers[0].scheme.welfare is None or len(even) < len(self._added):
            return None
        return np.concatenate([np.zeros(0), *even])


class _Seen(NamedTuple):
    """The steps, from 0, that were assessed, or not since nobody was there; who is at the end."""

    assessed: Int[np.ndarray, " assessment"]
    unattended: Int[np.ndarray, " missed"]
    at_end: Standing


def _watch(case: Case, timeline: Timeline, stream: Stream, taken: _Assessments) -> _Seen:
    """Take every step."""
    assessed: list[np.ndarray] = []
    unattended = [np.zeros(0, dtype=np.int64)]
    start, present = 0, None
    for trace, present in case.steps(timeline):
        begin = start
        for block in stream.blocks(trace, present):
            steps = start + np.flatnonzero(block.assessed)
            _refuse_above_one(case, timeline, steps, block)
            assessed.append(steps)
            if present is not None:
                here = present[start - begin : start - begin + len(block.due)]
                unattended.append(start + np.flatnonzero(block.due & ~here.any(axis=1)))
            start += len(block.assessed)
            taken.take(block)
    at_end, was_due = None if present is None else present[-1], stream.end_is_due
    end, last = stream.end(at_end), np.array([timeline.steps - 1])
    if end is not None:
        assessed.append(last)
        taken.take(end)
    elif stream.end_is_due and not was_due and at_end is not None and not at_end.any():
        unattended.append(last)
    standing = stream.standing(at_end)
    return _Seen(np.concatenate(assessed), np.concatenate(unattended), standing)


def _refuse_above_one(case: Case, timeline: Timeline, steps: np.ndarray, block: Block) -> None:
    """Nobody can have had more than its chances; a running sum shows it at an assessment."""
    if not case.is_share:
        return
    for row, who in np.argwhere(np.abs(block.statuses) > 1.0 + EQUAL)[:1]:
        raise BadLog(
            f"by {timeline.label(int(steps[row]))} {case.names[who]!r} had "
            f"{abs(block.statuses[row, who]):.3g} times what {argument('out_of')} says it could "
            "have had: a rate is at most 1, so check that the columns are the right way round."
        )


def _mean_at_end(standing: Standing, final: Float[np.ndarray, " status"]) -> float:
    """The mean status of those there at the end; NaN where nobody is."""
    present = standing.present
    if present is not None and not present.any():
        return float("nan")
    return float(standing.judge(mean_status, final[None], np.nan)[0])


def _weights_at_end(standing: Standing) -> Float[np.ndarray, " status"] | None:
    """As how many each counts at the end: 0 for those who are not there."""
    weights = None if standing.weights is None else standing.weights[0]
    if standing.present is None:
        return weights
    return np.where(standing.present[0], 1.0 if weights is None else weights, 0.0)


class _End(NamedTuple):
    """The unfairness to each at the end, who is below the mean then, and what is let pass."""

    unfairness: Float[np.ndarray, " status"]
    below: Bool[np.ndarray, " status"]
    let_pass: Float[np.ndarray, " status"]


def _end(
    final: Float[np.ndarray, " status"],
    standing: Standing,
    totals: RunningTotals,
    tolerance: Tolerance,
) -> _End:
    """How things stand at the end.

    For those who have left, all is as of the last assessment at which they were there.
    """
    here = np.ones(len(final), dtype=bool) if standing.present is None else standing.present[0]
    then = _End(totals.last, totals.last_is_below, totals.last_let_pass)
    if not here.any():
        return then
    last = standing.judge(unfairness, final[None], np.nan)[0]
    below = standing.judge(unfair_to, final[None], False)[0]
    let_pass = tolerance.around(standing.judge(mean_status, final[None], np.nan))
    if tolerance != NONE:
        below &= last < -(let_pass + ROUNDING * np.abs(final[here]).max())
    now = (last, below, np.broadcast_to(let_pass, final.shape))
    return _End(*(np.where(here, part, before) for part, before in zip(now, then, strict=True)))
