"""A history judged under the question asked, and under every other: where the verdict turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand._util.numbers import moment_label
from evenhand._util.wording import join_names
from evenhand.auditing.case import Case
from evenhand.auditing.questions import (
    AT_END,
    EACH_EVENT,
    MOST_PERIODS,
    PERIODS,
    Question,
    Timeline,
    every_n,
    every_period,
    how_many,
    last_day,
)
from evenhand.auditing.scoring import (
    EQUAL,
    Added,
    Ranking,
    RunningTotals,
    Scorer,
    Sides,
    mean_status,
    welfare_now,
)
from evenhand.errors import BadLog, EvenhandError, NegativeStatus, NothingAssessed, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.stream import Block, Stream
from evenhand.fairness.temporal import Temporal
from evenhand.fairness.trace import NONE, Standing, Tolerance
from evenhand.fairness.unfairness import ROUNDING, unfair_to, unfairness
from evenhand.fairness.welfare import (
    WELFARES,
    Average,
    GiniWelfare,
    LogNash,
    Rawls,
    Utilitarian,
    Welfare,
)
from evenhand.log.layout import Notes
from evenhand.log.options import FALLBACK_NOTE, SchemeOptions

# A history judged under one question: the package's own schemes, streamed over its steps.

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


# A case judged under the question asked, and where the verdict turns: under every other.
#
# For one log the verdict of a question is who was treated worst (the lowest overall unfairness over
# its assessments, all of them where several are equal), or nobody, if no one is behind overall. A
# welfare function adds whether it differs from that of an even log, in which everybody has the
# mean: "even" or "uneven". A verdict turns where it differs from that of the question that was
# asked.

OTHERS: tuple[Welfare, ...] = (LogNash(), Rawls(), GiniWelfare(), Utilitarian())
QUICK: tuple[Welfare, ...] = (Rawls(), Utilitarian())  # for very many statuses
STEP_VALUES = 50_000_000  # a question of more statuses is asked only if it is the one asked
LEAST_MONTH = 28  # days of the shortest one
EVEN = EQUAL  # a score this close to the even one, relative to it, is even


@dataclass(frozen=True)
class WelfareReading:
    """What one welfare function says under one question."""

    welfare: str
    score: float | None  # None where the welfare is undefined
    even_score: float | None
    even: bool | None
    turns: bool = False


@dataclass(frozen=True, eq=False)
class QuestionRow:
    """One question, who it finds treated worst, and what each welfare function says."""

    question: str
    asked: bool
    assessments: float
    unequal: float  # assessments at which somebody was below the mean
    names: tuple[str, ...]
    ranking: Ranking  # over all
    readings: tuple[WelfareReading, ...]
    turns: bool = False

    @property
    def all_worst(self) -> tuple[str, ...]:
        """Everyone treated worst: several where they are equal, nobody if no one is behind."""
        return tuple(self.names[place] for place in self.ranking.lowest)

    @property
    def worst(self) -> str | None:
        """The first of those treated worst."""
        return next(iter(self.all_worst), None)

    @property
    def worst_unfairness(self) -> float:
        """The overall unfairness to those treated worst."""
        lowest = self.ranking.lowest
        return float(self.ranking.deviation[lowest[0]]) if lowest else 0.0

    def against(self, asked: QuestionRow) -> QuestionRow:
        """With the marks of where the verdict is not as in the question that was asked."""
        even = asked.readings[0].even
        return replace(
            self,
            turns=self.all_worst != asked.all_worst,
            readings=tuple(
                replace(one, turns=None not in (even, one.even) and one.even != even)
                for one in self.readings
            ),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "asked": self.asked,
            "assessments": self.assessments,
            "unequal_assessments": self.unequal,
            "treated_worst": self.worst,
            "all_treated_worst": list(self.all_worst),
            "overall_unfairness": self.worst_unfairness,
            "turns": self.turns,
            "welfare": {
                reading.welfare: {
                    "score": reading.score,
                    "even_score": reading.even_score,
                    "verdict": {True: "even", False: "uneven", None: None}[reading.even],
                    "turns": reading.turns,
                }
                for reading in self.readings
            },
        }


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the question asked found, by which scheme, and the table of all questions."""

    asked: Judged
    scheme: FairnessScheme
    questions: tuple[QuestionRow, ...]


def judge_case(case: Case, question: Question, options: SchemeOptions, notes: Notes) -> Judgement:
    """Judge by the scheme asked for; by Rawls where log-Nash, the default, is undefined."""
    temporal = options.temporal_part()
    scheme, *fallback = options.schemes(case.status, question.filter)
    timeline = case.timeline(question)
    asked = judge_welfares(case, question, scheme, temporal, timeline)
    _require_assessments(case, asked, scheme)
    undefined = asked.scorers[0].undefined
    if undefined is not None:
        if not fallback:
            raise _named(undefined, case, asked)
        notes.add(FALLBACK_NOTE)
        scheme = fallback[0]
        asked = judge_welfares(case, question, scheme, temporal, timeline)
    return Judgement(asked, scheme, question_table(case, asked, scheme, temporal))


def _require_assessments(case: Case, asked: Judged, scheme: FairnessScheme) -> None:
    if asked.totals.assessments:
        return
    if missed := asked.missed():
        raise NothingAssessed(
            f"nothing was assessed: fairness is assessed {scheme.filter.describe()}, and nobody is "
            f"there then, by the roster's dates ({join_names(missed)}). Fix from and until of the "
            "roster, or ask for something more frequent."
        )
    first, last = (moment_label(case.history.slots[place]) for place in (0, -1))
    raise NothingAssessed(
        f"nothing was assessed: fairness is assessed {scheme.filter.describe()}, which never came "
        f"between {first} and {last}. Ask for something more frequent, or say with "
        f"{argument('until')} up to when the log is whole."
    )


def _named(error: EvenhandError, case: Case, asked: Judged) -> EvenhandError:
    """An error of the scoring with the names and dates of the log in it."""
    if not isinstance(error, NegativeStatus) or error.place is None:
        return error
    who, moment = case.names[error.place.stakeholder], asked.label(error.place.time - 1)
    return error.about(f"the status of {who!r} at {moment}")


def other_questions(case: Case) -> Iterator[tuple[Question, Timeline]]:
    """At the end, by each calendar period that was finished twice, and at every time point."""
    history = case.history
    yield AT_END, case.timeline(AT_END)
    if not history.plain_numbers:
        for period in reversed(PERIODS.values()):
            if history.by_month and period.days < LEAST_MONTH:
                continue
            periods = how_many(period, history.days()[0], last_day(history, case.until))
            if periods > min(MOST_PERIODS, STEP_VALUES // len(case.names)):
                continue
            question = every_period(period)
            timeline = case.timeline(question)
            if timeline.marks is not None and int(np.sum(timeline.marks)) >= 2:
                yield question, timeline
    elif history.exact:
        points = len(history.slots)
        least = points * len(case.names) / STEP_VALUES
        for number in (1000, 100, 10, 5, 2):
            if number >= least and points // number >= 3:
                question = every_n(number)
                yield question, case.timeline(question)
    if history.exact and len(history.slots) * len(case.names) <= STEP_VALUES:
        yield EACH_EVENT, case.timeline(EACH_EVENT)


def question_table(
    case: Case, asked: Judged, scheme: FairnessScheme, temporal: Temporal
) -> tuple[QuestionRow, ...]:
    """The rows of the table, the question that was asked first."""
    rows = [_row(case, asked, asked=True)]
    for question, timeline in other_questions(case):
        if question == asked.question:
            continue
        found = judge_welfares(case, question, scheme, temporal, timeline)
        if found.totals.assessments:
            rows.append(_row(case, found))
    return tuple(row.against(rows[0]) for row in rows)


def judge_welfares(
    case: Case,
    question: Question,
    scheme: FairnessScheme,
    temporal: Temporal,
    timeline: Timeline | None = None,
) -> Judged:
    """The case under a question, by the scheme and by every other welfare function in its place.

    All of them are taken of the same statuses, which are worked out once.
    """
    timeline = case.timeline(question) if timeline is None else timeline
    others = OTHERS if timeline.steps * len(case.names) <= STEP_VALUES else QUICK
    welfares = [welfare for welfare in others if welfare != scheme.welfare]
    first = FairnessScheme(case.status, scheme.aggregation, question.filter, scheme.empty)
    others_of_it = [
        FairnessScheme(case.status, TimepointFirst(welfare, temporal), question.filter)
        for welfare in welfares
    ]
    return judge(case, question, [first, *others_of_it], timeline)


def name_of(scheme: FairnessScheme) -> str:
    """What the column of a scheme is called."""
    if scheme.welfare is None:
        return type(scheme.aggregation).__name__
    return WELFARES.name_of(scheme.welfare) or type(scheme.welfare).__name__


def _row(case: Case, found: Judged, asked: bool = False) -> QuestionRow:
    return QuestionRow(
        question=found.question.name,
        asked=asked,
        assessments=found.totals.assessments,
        unequal=found.totals.unequal,
        names=case.names,
        ranking=found.totals.ranking,
        readings=tuple(_reading(scorer) for scorer in found.scorers),
    )


def _reading(scorer: Scorer) -> WelfareReading:
    name = name_of(scorer.scheme)
    if scorer.undefined is not None:
        return WelfareReading(name, None, None, None)
    score, even_score = scorer.score, scorer.even_score
    if even_score is None:
        return WelfareReading(name, score, None, None)
    even = abs(score - even_score) <= EVEN * max(abs(even_score), abs(score))
    return WelfareReading(name, score, even_score, even)
