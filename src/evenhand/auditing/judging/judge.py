"""A history judged under one question: the package's own schemes, streamed over its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.judging.questions import Question, Timeline
from evenhand.auditing.judging.ranking import Standing
from evenhand.auditing.judging.running_totals import Tally
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.roster import Roster, presence
from evenhand.errors import EvenhandError, NegativeStatus, WelfareOverflow
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Filter, Final
from evenhand.fairness.groups import Groups
from evenhand.fairness.presence import of_those_present
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns, Status
from evenhand.fairness.stream import Block, Stream
from evenhand.fairness.trace import Step, Trace
from evenhand.fairness.unfairness import unfair_to, unfairness
from evenhand.fairness.welfare import Average

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    Present = Bool[np.ndarray, "step status"] | None

KEPT_VALUES = 2_000_000  # unfairness to each at each assessment, kept for the answer


@dataclass(frozen=True, eq=False)
class Case:
    """What is judged, whatever the question: the history, the status, and who is there when."""

    history: History
    status: Status = Returns()
    roster: Roster | None = None
    groups: Groups | None = None  # where groups are the stakeholders
    until: Any = None  # the moment up to which the log is known to be whole

    @property
    def names(self) -> tuple[str, ...]:
        return self.status.names(self.history.names)

    def timeline(self, question: Question) -> Timeline:
        if self.status.is_sum:
            return question.merged(self.history, self.until)
        return question.timeline(self.history, self.until)

    def present(self, moments: np.ndarray) -> Present:
        here = presence(self.roster, self.history.names, moments)
        if here is None or self.groups is None:
            return here
        return np.stack([here[:, list(part)].any(axis=1) for part in self.groups.members], axis=1)

    def steps(self, timeline: Timeline) -> Iterator[tuple[Trace, Present]]:
        """The steps in blocks: a part of the trace, and who is there at each step of it."""
        start = 0
        for trace in self.history.traces(timeline.step_of_slot, timeline.steps):
            stop = start + len(trace)
            if timeline.marks is not None:
                trace = replace(trace, actions=timeline.marks[start:stop])  # type: ignore[arg-type]
            yield trace, self.present(timeline.moments[start:stop])
            start = stop


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


@dataclass(frozen=True, eq=False)
class Judged:
    """What one question found, under each of some schemes; who was treated how is the same."""

    question: Question
    timeline: Timeline
    tally: Tally
    scorers: tuple[Scorer, ...]
    assessed: Int[np.ndarray, " assessment"]  # steps, from 0
    welfare: Float[np.ndarray, " assessment"] | None  # w_t under the first scheme
    kept: Int[np.ndarray, " kept"]  # assessments, from 0, of which unfairness is kept
    unfairness: Float[np.ndarray, "kept stakeholder"]  # NaN for those not there
    mean: Float[np.ndarray, " kept"]  # the mean status of those there
    final: Float[np.ndarray, " stakeholder"]
    final_unfairness: Float[np.ndarray, " stakeholder"]
    final_below: Bool[np.ndarray, " stakeholder"]
    unfinished: str | None  # the name of a last step that is not scored
    unfinished_welfare: float | None = None

    @property
    def score(self) -> float:
        return self.scorers[0].score

    @property
    def final_standing(self) -> Standing:
        """Who stands where at the end."""
        return Standing.of(self.final_unfairness, self.final)

    def label(self, assessment: int) -> str:
        return self.timeline.label(int(self.assessed[assessment]))


def judge(case: Case, question: Question, schemes: Sequence[FairnessScheme]) -> Judged:
    """Stream a history through schemes that share status and filter, and tally unfairness."""
    timeline = case.timeline(question)
    size, names = len(case.history.names), case.names
    # Statuses and times do not depend on the welfare; this one is defined everywhere.
    watching = FairnessScheme(case.status, TimepointFirst(Average()), _filter(question, timeline))
    watch = Stream(watching, size)
    scorers = tuple(Scorer(scheme, len(names)) for scheme in schemes)
    tally = Tally(len(names))
    stride = max(1, -(-timeline.steps * len(names) // KEPT_VALUES))
    assessed, welfare, kept, deviation, means = [], [], [], [], []
    start, present = 0, None

    def take(block: Block) -> None:
        rows = np.arange(-tally.assessments % stride, len(block.statuses), stride)
        kept.append(tally.assessments + rows)
        deviation.append(tally.take(block)[0][rows])
        here = True if block.present is None else block.present[rows]
        means.append(np.mean(block.statuses[rows], axis=1, where=here))
        added = [scorer.take(block) for scorer in scorers]
        if added[0] is not None:
            welfare.append(added[0])

    for trace, present in case.steps(timeline):
        for block in watch.blocks(trace, present):
            assessed.append(start + np.flatnonzero(block.assessed))
            start += len(block.assessed)
            take(block)
    end = watch.end(None if present is None else present[-1])
    if end is not None:
        assessed.append(np.array([timeline.steps - 1]))
        take(end)
    here = np.ones(len(names), dtype=bool) if present is None else present[-1]
    final = watch.status
    last, below = np.full(len(final), np.nan), np.zeros(len(final), dtype=bool)
    if here.any():
        last = of_those_present(unfairness, final[None], here[None], np.nan)[0]
        below = of_those_present(unfair_to, final[None], here[None], False)[0]
    steps = np.concatenate(assessed)
    waits = not len(steps) or steps[-1] != timeline.steps - 1
    return Judged(
        question=question,
        timeline=timeline,
        tally=tally,
        scorers=scorers,
        assessed=steps,
        welfare=_joined(welfare) if schemes[0].welfare is not None else None,
        kept=np.concatenate(kept),
        unfairness=np.concatenate(deviation),
        mean=np.concatenate(means),
        final=final,
        # Whoever has left is spoken of as of the last assessment at which they were there.
        final_unfairness=np.where(here, last, tally.last),
        final_below=np.where(here, below, tally.last_is_below),
        unfinished=timeline.label(timeline.steps - 1) if waits else None,
        unfinished_welfare=_welfare(schemes[0], final, here) if waits else None,
    )


def _welfare(
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


def _filter(question: Question, timeline: Timeline) -> Filter:
    return question.filter() if timeline.filter is None else timeline.filter


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0)
