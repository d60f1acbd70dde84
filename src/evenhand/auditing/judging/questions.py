"""Section 4: when to look. The paper's long-term, periodic, anytime and bounded fairness.

A question lays a history out as the steps of a trace and says at which of them it is assessed.
Under a calendar question a step is a period, so that empty periods are assessed too; under every
other a step is a time point of the log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.argument_checks import MOST_STEPS, is_finite_number
from evenhand._util.moments import moment_label
from evenhand.auditing.judging.calendar import PERIODS, Period, how_many, refuse_too_many
from evenhand.auditing.reading.history import History
from evenhand.auditing.scheme_options import SchemeOptions
from evenhand.errors import BadParameter, argument
from evenhand.fairness.filters import AfterEach, Always, Every, Filter, Final
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

State = Any


@dataclass(frozen=True)
class Marked(Filter):
    """Bounded fairness: at the steps that carry a mark (the step's action is the mark)."""

    words: str

    @property
    def ignores_who(self) -> bool:
        return True

    def init(self) -> State:
        return ()

    def update(self, state: State, step: Step) -> tuple[State, Any]:
        return state, bool(step.action)

    def scan(self, state: State, steps: Trace) -> tuple[State, Bool[np.ndarray, " time"]]:
        return state, np.asarray(steps.actions, dtype=bool)

    def describe(self) -> str:
        return self.words


@dataclass(frozen=True, eq=False)
class Timeline:
    """A history laid out as steps: which step each slot belongs to, and what each is called."""

    step_of_slot: Int[np.ndarray, " slot"]
    steps: int
    moments: np.ndarray  # when each step is judged: its time point, or its period's last moment
    label: Callable[[int], str]
    marks: Bool[np.ndarray, " step"] | None = None  # for a filter that needs them
    empty: Int[np.ndarray, " gap"] | None = None  # steps, of periods in which nothing happened
    filter: Filter | None = None  # where merged steps need another filter than time points do


class Question(ABC):
    """When to look."""

    name: str  # as in the table of questions
    needs_every_time_point: bool = True
    period: Period | None = None  # of the calendar, where a step is one

    @abstractmethod
    def filter(self) -> Filter: ...

    def timeline(self, history: History, until: Any) -> Timeline:
        slots = history.slots
        return Timeline(np.arange(len(slots)), len(slots), slots, lambda k: moment_label(slots[k]))

    def merged(self, history: History, until: Any) -> Timeline:
        """The same with time points merged that need not be apart, where a status is a sum."""
        return self.timeline(history, until)

    @abstractmethod
    def adverb(self) -> str:
        """How a sentence says it: "unequal month by month"."""


@dataclass(frozen=True)
class EachEvent(Question):
    """Definition "anytime fairness": at every time point of the log."""

    name = "each event"

    def filter(self) -> Filter:
        return Always()

    def adverb(self) -> str:
        return "from one time point to the next"


@dataclass(frozen=True)
class EveryN(Question):
    """Definition "periodic fairness": after every N time points, ⌊T/N⌋ times."""

    number: int

    def __post_init__(self) -> None:
        Every(self.number)  # refuses what is not a whole number from 1

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"every {self.number} time points"

    def filter(self) -> Filter:
        return Every(self.number)

    def merged(self, history: History, until: Any) -> Timeline:
        slots, size = history.slots, self.number
        ends = np.minimum(np.arange(size, len(slots) + size, size), len(slots)) - 1
        return Timeline(
            step_of_slot=np.arange(len(slots)) // size,
            steps=len(ends),
            moments=slots[ends],
            label=lambda k: moment_label(slots[ends[k]]),
            marks=np.arange(1, len(ends) + 1) * size <= len(slots),
            filter=Marked(self.filter().describe()),
        )

    def adverb(self) -> str:
        return f"looked at every {self.number} time points"


@dataclass(frozen=True)
class EveryPeriod(Question):
    """Definition "periodic fairness" by the calendar, empty periods included."""

    period: Period
    needs_every_time_point = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"every {self.period.name}"

    def filter(self) -> Filter:
        return Marked(f"at the end of every {self.period.name}")

    def adverb(self) -> str:
        return f"{self.period.name} by {self.period.name}"

    def timeline(self, history: History, until: Any) -> Timeline:
        if history.plain_numbers:
            raise BadParameter(
                f"{needs_dates(self.period)}, or say how dates are written with "
                f"{argument('time_format')}, such as %Y%m%d."
            )
        days, reached = history.days(), self._reached(history, until)
        refuse_too_many(self.period, days[0], reached)
        numbers = self.period.number(np.append(days, reached))
        first, last = int(numbers[0]), int(numbers[-1])
        every = np.arange(first, last + 1)
        last_days = self.period.last_day(every)
        ends = np.minimum(last_days, reached)
        empty = np.bincount(numbers[:-1] - first, minlength=len(every)) == 0
        return Timeline(
            step_of_slot=numbers[:-1] - first,
            steps=len(every),
            moments=(ends + 1).astype("datetime64[us]") - 1,
            label=lambda k: self.period.label(first + k),
            marks=last_days <= reached,
            empty=np.flatnonzero(empty),
        )

    def periods(self, history: History, until: Any) -> int:
        """How many there are."""
        return how_many(self.period, history.days()[0], self._reached(history, until))

    def _reached(self, history: History, until: Any) -> Any:
        """The last day that the log is about."""
        last = history.slots[-1].astype("datetime64[D]")
        return last if until is None else max(last, np.datetime64(until, "D"))


@dataclass(frozen=True)
class AfterEachAmount(Question):
    """Definition "bounded fairness": whenever another amount has been distributed."""

    amount: float

    def __post_init__(self) -> None:
        if not (is_finite_number(self.amount) and self.amount > 0):
            shown = f"{self.amount:g}" if isinstance(self.amount, Real) else repr(self.amount)
            raise BadParameter(
                f"{argument('after_each')} is {shown}: it must be a positive number."
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"after each {self.amount:,g}"

    def filter(self) -> Filter:
        return AfterEach(self.amount)

    def adverb(self) -> str:
        return f"each time another {self.amount:,g} had been given out"


@dataclass(frozen=True)
class WhenMarked(Question):
    """Definition "bounded fairness": at time points with an event of which a condition holds."""

    condition: str

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"when {self.condition}"

    def filter(self) -> Filter:
        return Marked(f"wherever {self.condition}")

    def adverb(self) -> str:
        return f"whenever {self.condition}"

    def timeline(self, history: History, until: Any) -> Timeline:
        plain = super().timeline(history, until)
        return Timeline(plain.step_of_slot, plain.steps, plain.moments, plain.label, history.marks)


@dataclass(frozen=True)
class AtEnd(Question):
    """Definition "long-term fairness": the end alone, for which every slot is one step."""

    name = "at the end"
    needs_every_time_point = False

    def filter(self) -> Filter:
        return Final()

    def adverb(self) -> str:
        return "at the end"

    def merged(self, history: History, until: Any) -> Timeline:
        last = history.slots[-1:]
        return Timeline(
            np.zeros(len(history.slots), dtype=np.int64), 1, last, lambda k: moment_label(last[k])
        )


@dataclass(frozen=True)
class AsTheScheme(Question):
    """The filter B of a scheme file, over the time points of the log."""

    own: Filter
    name = "as the scheme says"

    def filter(self) -> Filter:
        return self.own

    def adverb(self) -> str:
        return "at the times the scheme looks"


def question_of(options: SchemeOptions) -> Question:
    """When to look; the default is every time point."""
    if options.every is not None:
        return every(str(options.every))
    if options.after_each is not None:
        return AfterEachAmount(options.after_each)
    if options.when is not None:
        return WhenMarked(options.when)
    if options.at_end:
        return AtEnd()
    if options.scheme is None or options.each_event:
        return EachEvent()
    own = options.scheme.filter
    if own == Final():
        return AtEnd()
    return EachEvent() if own == Always() else AsTheScheme(own)


def every(text: str) -> Question:
    """Every "month", or every "12" time points."""
    if text in PERIODS:
        return EveryPeriod(PERIODS[text])
    if text.isdecimal() and len(text) < 19 and 0 < int(text) <= MOST_STEPS:
        return EveryN(int(text))
    raise BadParameter(
        f"{argument('every')} is {text!r}: it must be {', '.join(PERIODS)}, or a whole number of "
        "time points."
    )


def needs_dates(period: Period) -> str:
    """The beginning of a sentence on times that are plain numbers, where periods are asked for."""
    return (
        f"{argument('every', period.name)} needs dates, and the times are plain numbers: use "
        f"{argument('every')} N for every N time points"
    )
