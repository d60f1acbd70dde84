"""A history judged under one question: the package's own schemes, streamed over its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.auditing.judging.judged_status import judged_status
from evenhand.auditing.judging.newcomers import (
    Stay,
    TimePresent,
    newcomers_note,
    starting_credits,
)
from evenhand.auditing.judging.questions import Question, Timeline
from evenhand.auditing.judging.ranking import EQUAL, Ranking
from evenhand.auditing.judging.running_totals import RunningTotals
from evenhand.auditing.judging.scorer import Added, Scorer, Sides, mean_status, welfare_now
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.prepare import Prepared
from evenhand.auditing.reading.roster import Roster, presence
from evenhand.auditing.reading.timed_amounts import Known, Reading, TimedAmounts, Unchanging
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.circumstances import Circumstances
from evenhand.fairness.groups import Groups
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.standing import Standing
from evenhand.fairness.status import (
    PerTimePresent,
    Returns,
    Status,
    WithCredit,
)
from evenhand.fairness.stream import Block, Stream
from evenhand.fairness.tolerance import NONE, Tolerance
from evenhand.fairness.trace import Trace
from evenhand.fairness.unfairness import unfair_to, unfairness
from evenhand.fairness.welfare import Average

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    Present = Bool[np.ndarray, "step status"] | None

OF_MEMBERS = ("entitled", "chances", "asked")  # circumstances that a group has of its members
KEPT_VALUES = 2_000_000  # unfairness to each at each assessment, kept for the answer


@dataclass(frozen=True, eq=False)
class Case:
    """What is judged, whatever the question: the history, the status, and who is there when."""

    history: History
    status: Status = Returns()
    roster: Roster | None = None
    groups: Groups | None = None  # where groups are the stakeholders
    until: Any = None  # the moment up to which the log is known to be whole
    beside: Mapping[str, Known] = field(default_factory=dict)  # what else is known over time
    amounts: Callable[[], Reading] | None = (
        None  # up to each moment, where they are not those of the history
    )
    in_whole_units: bool = False  # all amounts are whole, and a status times its weight is one
    tolerance: Tolerance = NONE  # how far from the mean is let pass
    is_share: bool = False  # the status is a rate of which nobody can have more than 1
    levels: bool = False  # amounts are levels at which each stands
    shown: Mapping[str, str] = field(default_factory=dict)  # names in place of codes

    @classmethod
    def of(cls, log: Prepared, options: AuditOptions) -> Case:
        """A log judged by a status: of groups where they are judged, and per entitlement."""
        case = cls(
            history=log.history,
            status=judged_status(log, options),
            roster=log.roster,
            groups=log.groups,
            until=log.until,
            beside=log.beside,
            amounts=log.amounts,
            levels=options.stock,
            in_whole_units=_in_whole_units(log, options),
            tolerance=options.allowed,
            is_share=options.out_of is not None,
        )
        return case._with_newcomers(options.newcomers)

    def _with_newcomers(self, rule: str | None) -> Case:
        """The case with those who join later where a rule lets them begin."""
        if rule is not None and (self.roster is None or not self.roster.first):
            raise BadParameter(
                f"{argument('newcomers')} says where those begin who join later, and the roster "
                "says of nobody from when it is there: give it a column 'from', or leave it out."
            )
        stay = self.stay()
        if stay is None:
            return self
        if not self.status.is_sum:
            if rule not in (None, "zero"):
                raise BadParameter(
                    f"{argument('newcomers', rule)} needs a status that is a sum of what was "
                    f"received, and here it is {self.status.describe()}: leave it out, or say "
                    f"{argument('newcomers', 'zero')}."
                )
            return self
        if rule == "by-time":
            return replace(self, status=PerTimePresent(of=self.status))
        found = starting_credits(
            rule or "mean", self.status, self.history.received(), self.known_at(), stay
        )
        beside = {**self.beside, "credit": lambda: Unchanging(found)}
        return replace(self, status=WithCredit(of=self.status), beside=beside)

    def newcomers_note(self, rule: str | None) -> str | None:
        """Who was judged from when, and where they began."""
        stay = self._dates()
        if stay is None:
            return None
        began = None
        if self.stay() is not None:
            began = rule or ("mean" if self.status.is_sum else "zero")
        return newcomers_note(self.names, stay, self.history.slots, began)

    def stay(self) -> Stay | None:
        """The same where a newcomer needs a beginning: a rate, a request or a level needs none."""
        if self.levels or {"chances", "level", "asked"} & set(self.beside):
            return None
        return self._dates()

    def _dates(self) -> Stay | None:
        """From when until when each who is judged is there, if anybody comes or goes."""
        if self.roster is None or not self.roster.first:
            return None
        first, last = self.roster.bounds(self.history.names, self.history.plain_numbers)
        if self.groups is not None:
            first = np.array([first[list(part)].min() for part in self.groups.members])
            last = np.array([last[list(part)].max() for part in self.groups.members])
        return first, last

    @property
    def members(self) -> tuple[str, ...]:
        """Everyone in the log, as they are shown."""
        return self._as_shown(self.history.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Those who are judged, as they are shown."""
        return self._as_shown(self.status.names(self.members))

    def _as_shown(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.shown.get(name, name) for name in names) if self.shown else names

    def timeline(self, question: Question) -> Timeline:
        if self.status.is_sum or self.status.per_step:
            return question.merged(self.history, self.until)
        return question.timeline(self.history, self.until)

    def present(self, moments: np.ndarray) -> Present:
        here = presence(self.roster, self.history.names, moments)
        if here is None or self.groups is None:
            return here
        return np.stack([here[:, list(part)].any(axis=1) for part in self.groups.members], axis=1)

    def steps(self, timeline: Timeline) -> Iterator[tuple[Trace, Present]]:
        """The steps in blocks: a part of the trace, and who is there at each step of it."""
        start, readings = 0, self._readings()
        amounts = None if self.amounts is None else self.amounts()
        before = np.zeros((1, len(self.history.names)))
        for rewards in self.history.rewards(timeline.step_of_slot, timeline.steps):
            stop = start + len(rewards)
            moments = timeline.moments[start:stop]
            if amounts is not None:
                totals = amounts.by(moments)
                rewards = np.diff(totals, axis=0, prepend=before)
                before = totals[-1:]
            trace = Trace(
                rewards,
                states=self._circumstances(readings, moments) if readings else None,  # type: ignore[arg-type]
                actions=None if timeline.marks is None else timeline.marks[start:stop],  # type: ignore[arg-type]
            )
            yield trace, self.present(moments)
            start = stop

    def known_at(self) -> Callable[[np.ndarray], Circumstances | None]:
        """What else is known at moments that are asked for in order, from the beginning."""
        readings = self._readings()
        return lambda moments: self._circumstances(readings, moments) if readings else None

    def _readings(self) -> dict[str, Reading]:
        """What is known over time, to be read from its beginning."""
        known: dict[str, Reading] = {
            part: _reading(part, known) for part, known in self.beside.items()
        }
        stay = self.stay()
        if stay is not None and isinstance(self.status, PerTimePresent):
            known["time_points"] = TimePresent(as_numbers(self.history.slots), *stay)
        return known

    def _circumstances(self, readings: Mapping[str, Reading], moments: np.ndarray) -> Circumstances:
        """What is known at each of some moments; before the first, as at the first."""
        parts = {}
        for part, reading in readings.items():
            known = reading.by(moments)
            if self.groups is not None and part in OF_MEMBERS:
                known = self.groups.totals(np.nan_to_num(known))  # of members known by then
            parts[part] = np.concatenate((known[:1], known))
        return Circumstances(**parts)


def _in_whole_units(log: Prepared, options: AuditOptions) -> bool:
    """Whether what anybody lacks of its share is a number of whole units."""
    plain = options.scheme is None and not options.waits and not options.has_requests
    plain = plain and options.newcomers != "by-time"
    weighed = log.shares is None or not options.unweighted
    if not (plain and weighed and options.out_of is None):
        return False
    history = log.history
    return all(
        bool((history.amount[part] == np.rint(history.amount[part])).all())
        for part in history.parts()
    )


def _reading(part: str, known: Known) -> Reading:
    """What is known over time, to be read from its beginning."""
    if not isinstance(known, TimedAmounts):
        return known()
    return known.levels() if part == "entitled" else known.totals()


@dataclass(frozen=True, eq=False)
class Judged:
    """What one question found, under each of some schemes; who was treated how is the same."""

    question: Question
    timeline: Timeline
    totals: RunningTotals
    scorers: tuple[Scorer, ...]
    assessed: Int[np.ndarray, " assessment"]  # steps, from 0
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
    let_pass_at_end: float  # by the tolerance
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


def judge(case: Case, question: Question, schemes: Sequence[FairnessScheme]) -> Judged:
    """Stream a history through schemes that share status and filter, and add up unfairness."""
    timeline = case.timeline(question)
    # Statuses and times do not depend on the welfare; this one is defined everywhere.
    looking = question.filter() if timeline.filter is None else timeline.filter
    stream = Stream(
        FairnessScheme(case.status, TimepointFirst(Average()), looking), len(case.history.names)
    )
    taken = _Assessments(timeline, len(case.names), schemes, case.tolerance)
    steps, standing = _watch(case, timeline, stream, taken)
    final = stream.status
    if case.status.per_step and standing.present is not None:
        # Whoever had no part in the last period has the status of the last in which it had one.
        final = np.where(standing.present[0], final, taken.last_status)
    end = _end(stream.status, standing, taken.totals, case.tolerance)
    mean = _mean_at_end(standing, stream.status)
    # A last step that was not assessed is a period that is not finished.
    waits = not stream.end_is_due
    now = welfare_now(schemes[0], stream.status, standing) if waits else None
    return Judged(
        question=question,
        timeline=timeline,
        totals=taken.totals,
        scorers=taken.scorers,
        assessed=steps,
        welfare=taken.welfare(),
        even_welfare=taken.even_welfare(),
        kept=np.concatenate(taken.kept),
        unfairness=np.concatenate(taken.unfairness),
        mean=np.concatenate(taken.means),
        final=final,
        final_unfairness=end[0],
        final_below=end[1],
        final_weights=_weights_at_end(standing),
        final_mean=mean,
        let_pass_at_end=float(case.tolerance.around(np.asarray(mean))),
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
        self.scorers = tuple(Scorer(scheme, size) for scheme in schemes)
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
        weights = 1.0 if block.standing.weights is None else block.standing.weights
        amounts = np.nanmax(np.abs(deviation) * weights, initial=0.0)
        self.furthest_amount = max(self.furthest_amount, float(amounts))
        standing = block.standing.rows(rows)
        self.means.append(standing.judge(mean_status, block.statuses[rows], np.nan))
        if not len(block.statuses):
            return
        sides = Sides.of(block)
        added = [scorer.take(sides) for scorer in self.scorers]
        if added[0] is not None:
            self._added.append(added[0])

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


def _watch(
    case: Case, timeline: Timeline, stream: Stream, taken: _Assessments
) -> tuple[Int[np.ndarray, " assessment"], Standing]:
    """Take every step; the steps that were assessed, and who is there at the end, and how."""
    assessed: list[np.ndarray] = []
    start, present = 0, None
    for trace, present in case.steps(timeline):
        for block in stream.blocks(trace, present):
            steps = start + np.flatnonzero(block.assessed)
            _refuse_above_one(case, timeline, steps, block)
            assessed.append(steps)
            start += len(block.assessed)
            taken.take(block)
    at_end = None if present is None else present[-1]
    end = stream.end(at_end)
    if end is not None:
        assessed.append(np.array([timeline.steps - 1]))
        taken.take(end)
    return np.concatenate(assessed), stream.standing(at_end)


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


def _end(
    final: Float[np.ndarray, " status"],
    standing: Standing,
    totals: RunningTotals,
    tolerance: Tolerance,
) -> tuple[Float[np.ndarray, " status"], Bool[np.ndarray, " status"]]:
    """The unfairness to each at the end, and who is below the mean then.

    For those who have left, both are as of the last assessment at which they were there.
    """
    last, below = np.full(len(final), np.nan), np.zeros(len(final), dtype=bool)
    here = np.ones(len(final), dtype=bool) if standing.present is None else standing.present[0]
    if here.any():
        last = standing.judge(unfairness, final[None], np.nan)[0]
        below = standing.judge(unfair_to, final[None], False)[0]
        below &= last < -tolerance.around(standing.judge(mean_status, final[None], np.nan))
    return np.where(here, last, totals.last), np.where(here, below, totals.last_is_below)
