"""What an audit found, as one object: overall, by stakeholder, over time, and the questions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.wording import nearest
from evenhand.auditing.answer.best_there_was import BestThereWas
from evenhand.auditing.answer.gap_parts import GapParts
from evenhand.auditing.answer.group_gaps import GroupGaps
from evenhand.auditing.answer.needed_change import NeededChange
from evenhand.auditing.answer.presentation import Presentation
from evenhand.auditing.answer.summary import summary
from evenhand.auditing.answer.terms import Terms
from evenhand.auditing.chance.finding import ChanceFinding, NotTested
from evenhand.auditing.chance.raised_alarm import AlarmFinding
from evenhand.auditing.judging.questions import AT_END
from evenhand.auditing.judging.ranking import Ranking
from evenhand.auditing.judging.sensitivity import QuestionRow
from evenhand.errors import UnknownStakeholder, argument_name
from evenhand.fairness.scheme import FairnessScheme

if TYPE_CHECKING:
    from jaxtyping import Float

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
        from evenhand.auditing.answer.answer_tables import to_frame

        return to_frame(self, kind, backend)

    def _repr_html_(self) -> str:
        """The answer as a notebook shows it.

        The one place where a layer asks a later one: only when it is drawn, and nothing depends on
        it.
        """
        from evenhand.report.html.notebook import notebook

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
