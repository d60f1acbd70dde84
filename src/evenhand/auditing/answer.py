"""What an audit found, as one object and as tables; the best there was and the parts of the gap."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from evenhand._util.wording import format_number, nearest, tell_apart
from evenhand.auditing.chance.alarm import AlarmFinding
from evenhand.auditing.chance.finding import ChanceFinding, NotTested
from evenhand.auditing.group_gaps import GroupGaps
from evenhand.auditing.judge import QuestionRow
from evenhand.auditing.questions import AT_END
from evenhand.auditing.scoring import EQUAL, Ranking
from evenhand.auditing.verdict import Presentation, Terms, summary
from evenhand.errors import BadParameter, MissingExtra, UnknownStakeholder, argument, argument_name
from evenhand.fairness.scheme import FairnessScheme

if TYPE_CHECKING:
    from jaxtyping import Float


# The best there was: how fair the same supply could have been shared, as an answer carries it.

CLOSED = 1e-6  # a relative gap within which the best is as good as known


@dataclass(frozen=True)
class BestThereWas:
    """The best score that sharing the same supply otherwise could have had, and how sure that is.

    Times, supply, eligibility and requests are held fixed, and all supply is given out. `score` is
    that of an allocation that was found, and no allocation scores above `bound`.
    """

    score: float
    bound: float
    actual: float  # the score of what happened
    even: float | None  # of the same amounts shared evenly at each time, which may be out of reach
    lots: bool = False  # whether a row of the log was taken to be one thing that cannot be divided

    @property
    def gap(self) -> float:
        """How far above the score that was found the best can lie."""
        return max(self.bound - self.score, 0.0)

    @property
    def relative_gap(self) -> float:
        largest = max(abs(self.score), abs(self.bound))
        return self.gap / largest if largest else 0.0

    @property
    def is_closed(self) -> bool:
        return self.relative_gap <= CLOSED or self.gap <= CLOSED * self._distance

    @property
    def avoidable(self) -> float:
        """By how much what happened scored below the best that was found."""
        return max(self.score - self.actual, 0.0)

    @property
    def _distance(self) -> float:
        """From what happened to an even log, or to the best where that is further."""
        highest = self.score if self.even is None else max(self.even, self.score)
        return max(highest - self.actual, 0.0)

    @property
    def avoidable_share(self) -> float | None:
        """What is avoidable of the distance to an even log; None where there is no distance."""
        least = EQUAL * max(abs(self.actual), abs(self.score))
        return None if self._distance <= least else min(self.avoidable / self._distance, 1.0)

    def sentence(self) -> str:
        """What a verdict says of it."""
        kept = "With the same supply, times and eligibility"
        if self.lots:
            kept += ", and no row divided"
        share = self.avoidable_share
        if share is None or self.avoidable <= EQUAL * max(abs(self.actual), abs(self.score)):
            if self.is_closed:
                return f"{kept}, no other way to share would have scored higher."
            return (
                f"{kept}, no way to share was found that scores higher; none scores above "
                f"{format_number(self.bound)}."
            )
        (score, actual), bound = tell_apart(self.score, self.actual), format_number(self.bound)
        if self.is_closed:
            words = f"{kept}, the best score was {score}, and here it is {actual}"
        else:
            words = f"{kept}, {score} could have been scored (and nothing above {bound}), and here "
            words += f"it is {actual}"
        if self.even is None:
            return f"{words}."
        if self.even <= self.score:  # an even log was in reach
            return f"{words}: all of the gap to an even log was avoidable."
        return f"{words}: {share:.0%} of the gap to an even log was avoidable."

    def to_json(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "bound": self.bound,
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "actual": self.actual,
            "even": self.even,
            "avoidable": self.avoidable,
            "avoidable_share": self.avoidable_share,
            "lots": self.lots,
        }


# The three parts of the distance to an even log: out of reach, chance, and the rest.


@dataclass(frozen=True)
class GapParts:
    """Scores on the way down from an even log to what happened; each step is a part of the gap.

    From the even log to the best there was nothing could be done. From there to what a fair lottery
    scores (in the middle of its draws) chance alone explains it. What is left is the rest; below 0
    where the log did better than a lottery.
    """

    even: float
    best: float
    lottery: float
    actual: float

    @staticmethod
    def of(best: BestThereWas | None, chance: ChanceFinding | NotTested | None) -> GapParts | None:
        """The parts, where the best there was and a fair lottery are both known."""
        if best is None or best.even is None or not isinstance(chance, ChanceFinding):
            return None
        score = chance.measure("score")
        if score is None or not chance.null.draws_lots:
            return None
        return GapParts(best.even, best.score, score.middle, best.actual)

    @property
    def gap(self) -> float:
        return self.even - self.actual

    @property
    def out_of_reach(self) -> float:
        beyond = self.even - self.best
        return beyond if beyond > EQUAL * max(abs(self.even), abs(self.best)) else 0.0

    @property
    def by_chance(self) -> float:
        return self.best - self.lottery

    @property
    def rest(self) -> float:
        return self.lottery - self.actual

    def sentence(self) -> str:
        """All three in words; nothing where there is no gap."""
        if self.gap <= EQUAL * max(abs(self.even), abs(self.actual)):
            return ""
        reach, chance, rest = map(
            format_number, (self.out_of_reach, self.by_chance, abs(self.rest))
        )
        words = (
            f"Of the {format_number(self.gap)} by which the score lies below that of an even log, "
            f"{reach} was out of reach for any decision, and {chance} is what a fair lottery "
            "leaves in the middle of its draws"
        )
        if self.rest >= 0:
            return f"{words}; the rest, {rest}, neither explains."
        return f"{words}; what happened was better than that by {rest}."

    def to_json(self) -> dict[str, Any]:
        return {
            "gap": self.gap,
            "out_of_reach": self.out_of_reach,
            "by_chance": self.by_chance,
            "rest": self.rest,
            "words": self.sentence(),
        }


# The smallest change: the least that would have had to go to others to reach a threshold.

NAMED = 3  # who would have had most more, and most less, in a sentence


@dataclass(frozen=True)
class NeededChange:
    """How much of what was given out would have had to go to others at its time, and for what.

    `amount` is that of an allocation that was found, and less than `least` does not suffice.
    """

    aim: str  # what is to be reached, in words
    threshold: float
    amount: float
    least: float
    total: float  # given out in all
    by_stakeholder: tuple[tuple[str, float], ...]  # how much more or less each would have had

    @property
    def gap(self) -> float:
        return max(self.amount - self.least, 0.0)

    def sentence(self) -> str:
        """What a verdict says of it."""
        if self.amount <= 1e-9 * self.total:
            return f"For {self.aim} nothing would have had to go to others: it is reached."
        words = (
            f"For {self.aim}, {format_number(self.amount)} of {format_number(self.total)} would "
            "have had to go to others at its time"
        )
        if self.gap > 1e-4 * self.amount:
            words += f" (at least {format_number(self.least)})"
        more = [(name, change) for name, change in self.by_stakeholder if change > 0][:NAMED]
        if not more:
            return f"{words}."
        shown = ", ".join(f"{name} ({format_number(change, True)})" for name, change in more)
        return f"{words}, most of it to {shown}."

    def to_json(self) -> dict[str, Any]:
        return {
            "aim": self.aim,
            "threshold": self.threshold,
            "amount": self.amount,
            "least": self.least,
            "gap": self.gap,
            "total": self.total,
            "by_stakeholder": dict(self.by_stakeholder),
        }


# What an audit found, as one object: overall, by stakeholder, over time, and the questions.

SHOWN_CORRECTIONS = 1000


@dataclass(frozen=True)
class StakeholderAnswer:
    """One stakeholder. Below 0 is unfair to it, above 0 in its favour (section 4.2.1)."""

    name: str
    code: str | None  # in the log, where it is shown by another name
    group: str | None
    entitlement: float | None
    chances: float | None  # for a rate: out of how many
    asked: float | None  # for how much it asked in all, where requests are known
    unmet: float | None  # what it asked for and did not receive
    received: float | None  # the plain amount; None for a group of which it is the status
    final: float  # its status at the end of the log
    final_unfairness: float
    short_of_share: float | None  # the same in amounts, where entitlements or chances are known:
    # above 0 it is short of its share, or of harms it has more than that
    overall_unfairness: float  # summed over the assessments
    share_below: float  # of the assessments at which it was there
    assessments: float  # at which it was there
    longest_spell: int  # assessments below the mean in a row
    longest_spell_from: str | None  # left out over runs, of which each has its own
    longest_spell_until: str | None
    first_unfairness: float | None  # at the first assessment
    last_unfairness: float | None  # at the last assessment, which may be before the end
    rank_final: int  # 1 is the most favoured
    rank_overall: int
    made_good: bool  # behind overall, not behind at the end
    fell_behind: bool  # not behind overall, behind at the end


@dataclass(frozen=True, eq=False)
class AnswerOverTime:
    """The assessments in order: when, the welfare, and the unfairness to each stakeholder."""

    times: tuple[str, ...]
    welfare: Float[np.ndarray, " assessment"] | None
    even_welfare: Float[np.ndarray, " assessment"] | None  # had everyone there had the mean
    unfairness: Float[np.ndarray, "assessment stakeholder"]  # NaN where somebody is not there
    names: tuple[str, ...]
    mean: Float[np.ndarray, " assessment"]  # the mean status of those there
    every: int  # 1, or k if only every k-th of very many assessments is kept here
    unfinished: Unfinished | None = None

    def ranking(self, row: int) -> Ranking:
        """Who stands where at one of the assessments."""
        deviation = self.unfairness[row]
        return Ranking.of(deviation, deviation + self.mean[row])


@dataclass(frozen=True, eq=False)
class Unfinished:
    """How things stand in a last period that is not over: shown, flagged and not scored."""

    time: str
    welfare: float | None
    even_welfare: float | None
    unfairness: Float[np.ndarray, " stakeholder"]
    mean: float  # of those there


@dataclass(frozen=True)
class Limit:
    """A threshold that was set, what was found, and in words how it was broken, if it was."""

    argument: str  # that set it
    limit: float
    found: float
    breach: str | None
    unfinished: bool = False  # a last period, which is not scored, would break it as it stands

    @property
    def option(self) -> str:
        """What the threshold is called by the one who set it."""
        return argument_name(self.argument)

    def to_json(self) -> dict[str, Any]:
        return {
            "option": self.option,
            "limit": self.limit,
            "found": self.found,
            "breach": self.breach,
        }


@dataclass(frozen=True)
class Overall:
    """The audit in a few numbers."""

    score: float
    even_score: float | None  # what the same amounts, evenly shared at each time, would score
    assessments: float
    unequal_assessments: float  # at which somebody was below the mean
    unfinished: str | None  # a last period that is shown but not scored
    worst_unfairness: float  # the lowest to anyone at any assessment
    worst_share: float  # the same as a share of the mean there
    as_even_as_whole_units: bool  # nobody was ever as much as one whole unit from its share
    first: str
    last: str


@dataclass(frozen=True, eq=False)
class Answer:
    """What `audit` returns."""

    label: str
    question: str
    scheme: FairnessScheme
    overall: Overall
    by_stakeholder: tuple[StakeholderAnswer, ...]
    over_time: AnswerOverTime
    questions: tuple[QuestionRow, ...]
    notes: tuple[str, ...]
    verdict: str
    at_end: Ranking  # who stands where at the end
    unit: str | None = None  # the column of amounts
    presentation: Presentation = Presentation()
    runs: int | None = None  # of which this is the mean, where the log has runs
    asks: tuple[str, ...] = ()  # the notes that are questions to the reader
    gaps: tuple[str, ...] = ()
    corrections: tuple[tuple[str, str, float], ...] = ()  # when, who, how much was taken back:
    corrections_in_all: int = 0  # of these, the first `SHOWN_CORRECTIONS`
    groups: GroupGaps | None = None  # where those judged have groups
    limits: tuple[Limit, ...] = ()  # the thresholds that were set
    chance: ChanceFinding | NotTested | None = None  # could it be chance? None: not asked
    alarm: AlarmFinding | None = None  # where the log was watched as by a monitor
    best: BestThereWas | None = None  # how fair the same supply could have been, where asked
    needed: NeededChange | None = None  # what would have had to change, where asked
    origin: dict[str, Any] = field(default_factory=dict)  # version, input, fingerprint
    suppressed: dict[str, Any] | None = None  # such amounts, and what they could change

    @property
    def score(self) -> float:
        return self.overall.score

    @property
    def terms(self) -> Terms:
        """How its figures are put in words."""
        return Terms.of(self.scheme.status, self.unit, self.presentation.unit)

    @property
    def gap_parts(self) -> GapParts | None:
        """What of the distance to an even log was out of reach, chance, or neither, if known."""
        return GapParts.of(self.best, self.chance)

    @property
    def as_even_as_whole_units(self) -> bool:
        """Whether it was as even as amounts allow that cannot be divided, and no more than that."""
        overall = self.overall
        is_unequal = overall.unequal_assessments > 0 and self.question != AT_END.name
        return is_unequal and overall.as_even_as_whole_units

    @property
    def summary(self) -> str:
        """A paragraph that can be quoted as it stands."""
        return " ".join(sentence.text for sentence in summary(self))

    @cached_property
    def has_amounts(self) -> bool:
        """Whether distances from the mean are known in amounts too."""
        return any(one.short_of_share is not None for one in self.by_stakeholder)

    @property
    def has_requests(self) -> bool:
        """Whether it is known what was asked for."""
        return any(one.unmet is not None for one in self.by_stakeholder)

    @property
    def breaches(self) -> tuple[str, ...]:
        return tuple(limit.breach for limit in self.limits if limit.breach is not None)

    @property
    def treated_worst(self) -> tuple[str, ...]:
        """Everyone treated worst overall: several where equal, nobody if none is behind."""
        return self.questions[0].all_worst

    @property
    def worst_at_end(self) -> tuple[str, ...]:
        """Everyone furthest below the mean at the end; nobody where all are equal."""
        return tuple(self.over_time.names[place] for place in self.at_end.lowest)

    def stakeholder(self, name: str | int) -> StakeholderAnswer:
        """What was found for one stakeholder. An error for an unknown name offers the nearest.

        Args:
            name: Its name in the log, where a number is the text that it is written as.
        """
        found = self._by_name.get(str(name))
        if found is None:
            raise UnknownStakeholder(str(name), nearest=nearest(name, self.over_time.names))
        return found

    @cached_property
    def _by_name(self) -> dict[str, StakeholderAnswer]:
        return {one.name: one for one in self.by_stakeholder}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.label}: {self.verdict}>"

    def to_frame(self, kind: str = "stakeholders", backend: Any = None) -> Any:
        """A table of the answer as a data frame.

        Args:
            kind: "stakeholders" (one row per stakeholder, the worst treated first), "over_time"
                (one row per assessment and stakeholder) or "questions" (one row per question and
                welfare function).
            backend: What the frame is of: "pandas", "polars", "pyarrow", or another that narwhals
                can make frames of. The default is the first of these three that is installed.
        """

        return to_frame(self, kind, backend)

    def _repr_html_(self) -> str:
        """The answer as a notebook shows it.

        The one place where a layer asks a later one: only when it is drawn, and nothing depends on
        it.
        """
        from evenhand.report.html.audit_page import notebook

        return notebook(self)

    def to_json(self) -> dict[str, Any]:
        """The answer as plain values, for JSON and for other programs."""
        course = self.over_time
        whole = self.to_compact_json()
        whole["stakeholders"] = [
            {k: _plain(v) for k, v in vars(one).items()} for one in self.by_stakeholder
        ]
        columns = (list(map(_plain, column)) for column in course.unfairness.T.tolist())
        whole["over_time"]["unfairness"] = dict(zip(course.names, columns, strict=True))
        if course.unfinished is not None:
            last = map(_plain, course.unfinished.unfairness.tolist())
            whole["over_time"]["unfinished"]["unfairness"] = dict(
                zip(course.names, last, strict=True)
            )
        return whole

    def to_compact_json(self) -> dict[str, Any]:
        """The same with its large tables as plain rows under one list of columns, or left out."""
        overall = {k: _plain(v) for k, v in vars(self.overall).items() if k != "assessments"}
        return {
            "log": self.label,
            "question": self.question,
            "scheme": self.scheme.describe(),
            "verdict": self.verdict,
            "summary": self.summary,
            "lower_is_better": self.terms.direction.less_is_better,
            "score": self.overall.score,
            "assessments": self.overall.assessments,
            "runs": self.runs,
            "all_treated_worst": list(self.treated_worst),
            "overall": overall,
            "stakeholders": {
                "columns": [spec.name for spec in fields(StakeholderAnswer)],
                "rows": [list(map(_plain, vars(one).values())) for one in self.by_stakeholder],
            },
            "over_time": self._over_time(),
            "questions": [row.to_json() for row in self.questions],
            "gaps": list(self.gaps),
            "groups": None if self.groups is None else self.groups.to_json(),
            "corrections": [
                {"time": time, "stakeholder": who, "amount": amount}
                for time, who, amount in self.corrections
            ],
            "chance": None if self.chance is None else self.chance.to_json(),
            "alarm": None if self.alarm is None else self.alarm.to_json(),
            "best": None if self.best is None else self.best.to_json(),
            "gap_parts": None if self.gap_parts is None else self.gap_parts.to_json(),
            "smallest_change": None if self.needed is None else self.needed.to_json(),
            "corrections_in_all": self.corrections_in_all,
            "limits": [limit.to_json() for limit in self.limits],
            "breaches": list(self.breaches),
            "notes": list(self.notes),
            "asks": list(self.asks),
            "suppressed": self.suppressed,
            "presentation": self.presentation.to_json(),
            "origin": self.origin,
        }

    def _over_time(self) -> dict[str, Any]:
        table = self.over_time
        return {
            "times": list(table.times),
            "welfare": None if table.welfare is None else table.welfare.tolist(),
            "even_welfare": None if table.even_welfare is None else table.even_welfare.tolist(),
            "mean": [_plain(value) for value in table.mean.tolist()],
            "unfairness": None,  # of each stakeholder at each assessment
            "every": table.every,
            "unfinished": None
            if table.unfinished is None
            else {
                "time": table.unfinished.time,
                "welfare": table.unfinished.welfare,
                "even_welfare": table.unfinished.even_welfare,
                "unfairness": list(map(_plain, table.unfinished.unfairness.tolist())),
            },
        }


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# The tables of an answer, as columns by name: for data frames and for CSV files.

BACKENDS = ("pandas", "polars", "pyarrow")  # the first that is installed is the default
KINDS_OF_FIELDS = {"str": nw.String, "float": nw.Float64, "int": nw.Int64, "bool": nw.Boolean}


class AnswerTable(NamedTuple):
    """Columns of equal length by name, and the type of each."""

    columns: dict[str, Any]
    types: dict[str, Any]

    def rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.columns.values(), strict=True))

    def to_frame(self, backend: Any = None) -> Any:
        """The table as a data frame of any backend that narwhals can make frames of."""
        if backend is None:
            backend = _installed()
        data = {name: list(values) for name, values in self.columns.items()}
        try:
            return nw.from_dict(data, self.types, backend=backend).to_native()
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"{argument('backend')} is {backend!r}, which is not installed: pip install "
                f"{error.name or backend}, or choose another."
            ) from None
        except ValueError as error:
            raise BadParameter(f"{argument('backend')}: {str(error).splitlines()[0]}") from None


def stakeholders(answer: Answer) -> AnswerTable:
    """One row per stakeholder, the worst treated overall first."""
    specs = fields(StakeholderAnswer)
    return AnswerTable(
        {s.name: [getattr(one, s.name) for one in answer.by_stakeholder] for s in specs},
        {s.name: KINDS_OF_FIELDS[str(s.type).removesuffix(" | None")] for s in specs},
    )


def over_time(answer: Answer) -> AnswerTable:
    """One row per assessment and stakeholder; the unfairness to those who are not there is NaN."""
    course, size = answer.over_time, len(answer.over_time.names)
    count = len(course.times)
    welfare = np.full(count, np.nan) if course.welfare is None else course.welfare
    columns = {
        "time": [time for time in course.times for _ in range(size)],
        "welfare": np.repeat(welfare, size),
        "mean": np.repeat(course.mean, size),
        "stakeholder": list(course.names) * count,
        "unfairness": course.unfairness.ravel(),
    }
    texts = ("time", "stakeholder")
    return AnswerTable(columns, {n: nw.String if n in texts else nw.Float64 for n in columns})


def questions(answer: Answer) -> AnswerTable:
    """One row per question and welfare function."""
    types = {
        "question": nw.String,
        "asked": nw.Boolean,
        "assessments": nw.Float64,
        "unequal_assessments": nw.Float64,
        "treated_worst": nw.String,
        "overall_unfairness": nw.Float64,
        "turns": nw.Boolean,
        "welfare": nw.String,
        "score": nw.Float64,
        "even_score": nw.Float64,
        "welfare_turns": nw.Boolean,
        "all_treated_worst": nw.String,
    }
    rows = [
        (
            *(row.question, row.asked, row.assessments, row.unequal, row.worst),
            *(row.worst_unfairness, row.turns, reading.welfare, reading.score),
            *(reading.even_score, reading.turns, "; ".join(row.all_worst)),
        )
        for row in answer.questions
        for reading in row.readings
    ]
    return AnswerTable(dict(zip(types, zip(*rows, strict=True), strict=True)), types)


TABLES: dict[str, Callable[[Answer], AnswerTable]] = {
    "stakeholders": stakeholders,
    "over_time": over_time,
    "questions": questions,
}


def to_frame(answer: Answer, kind: str, backend: Any) -> Any:
    """One of the tables as a data frame."""
    if kind not in TABLES:
        near = nearest(kind, TABLES)
        hint = "" if near is None else f": did you mean {near!r}?"
        raise BadParameter(
            f"{argument('kind')} is {kind!r}, and must be {' or '.join(map(repr, TABLES))}{hint}"
            f"{'' if hint else '.'}"
        )
    return TABLES[kind](answer).to_frame(backend)


def _installed() -> str:
    for name in BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise MissingExtra(
        f"a data frame needs a package for it, and none of {', '.join(BACKENDS)} is installed: pip "
        "install one of them."
    )
