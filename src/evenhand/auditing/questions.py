"""Section 4: when to look, by number, amount, mark or calendar."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.checks import MOST_STEPS, is_finite_number
from evenhand._util.numbers import moment_label
from evenhand._util.wording import pluralise
from evenhand.errors import BadParameter, argument
from evenhand.fairness.filters import AfterEach, Always, Every, Filter, Final, Marked
from evenhand.log.history import History
from evenhand.log.options import SchemeOptions

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


# Calendar periods: days, ISO weeks, months, quarters and years, counted from 1970.

MOST_PERIODS = 100_000  # that are assessed: 270 years of days; one time far away would add millions
Days = np.ndarray  # datetime64[D]


class Period(ABC):
    """A way to cut the calendar; each period has a number, a first and a last day, and a name."""

    name: str
    days: int  # that a period has at least

    @abstractmethod
    def number(self, days: Days) -> Int[np.ndarray, " day"]: ...

    @abstractmethod
    def first_day(self, number: Int[np.ndarray, " period"]) -> Days: ...

    def last_day(self, number: Int[np.ndarray, " period"]) -> Days:
        return self.first_day(number + 1) - 1

    @abstractmethod
    def label(self, number: int) -> str: ...

    def _first(self, number: int) -> str:
        return str(self.first_day(np.asarray([number]))[0])


@dataclass(frozen=True)
class Day(Period):
    """Days of the calendar, in UTC."""

    name = "day"
    days = 1

    def number(self, days: Days) -> Int[np.ndarray, " day"]:
        return days.astype("datetime64[D]").astype(np.int64)

    def first_day(self, number: Int[np.ndarray, " period"]) -> Days:
        return number.astype("datetime64[D]")

    def label(self, number: int) -> str:
        return self._first(number)


@dataclass(frozen=True)
class Week(Period):
    """ISO weeks, Monday to Sunday. 1970 began on a Thursday, the fourth day of its week.

    >>> Week().label(int(Week().number(np.array(["2021-01-03"], dtype="M8[D]"))[0]))
    '2020-W53'
    """

    name = "week"
    days = 7

    def number(self, days: Days) -> Int[np.ndarray, " day"]:
        return (days.astype("datetime64[D]").astype(np.int64) + 3) // 7

    def first_day(self, number: Int[np.ndarray, " period"]) -> Days:
        return (number * 7 - 3).astype("datetime64[D]")

    def label(self, number: int) -> str:
        year, week, _ = self.first_day(np.asarray([number]))[0].item().isocalendar()
        return f"{year:04}-W{week:02}"


@dataclass(frozen=True)
class Months(Period):
    """Months, and what is made of a whole number of them."""

    length: int
    name: str

    @property
    def days(self) -> int:  # type: ignore[override]
        return 28 * self.length

    def number(self, days: Days) -> Int[np.ndarray, " day"]:
        return days.astype("datetime64[M]").astype(np.int64) // self.length

    def first_day(self, number: Int[np.ndarray, " period"]) -> Days:
        return (number * self.length).astype("datetime64[M]").astype("datetime64[D]")

    def label(self, number: int) -> str:
        year, month = self._first(number).split("-")[:2]
        return {1: f"{year}-{month}", 3: f"{year}-Q{(int(month) + 2) // 3}"}.get(self.length, year)


PERIODS: dict[str, Period] = {
    "day": Day(),
    "week": Week(),
    "month": Months(1, "month"),
    "quarter": Months(3, "quarter"),
    "year": Months(12, "year"),
}


def refuse_too_many(period: Period, first: np.datetime64, last: np.datetime64) -> None:
    """Refuse to look at more periods than make sense, before any of them is counted."""
    number = how_many(period, first, last)
    if number > MOST_PERIODS:
        raise BadParameter(
            f"{argument('every', period.name)} asks for {pluralise(number, period.name)}, from "
            f"{first} to {last}, and at most {MOST_PERIODS:,} are assessed: fix times that are far "
            f"from the others, give another {argument('until')}, or ask for longer periods."
        )


def how_many(period: Period, first: np.datetime64, last: np.datetime64) -> int:
    """Periods from that of the first day to that of the last."""
    begin, end = period.number(np.array([first, last], dtype="datetime64[D]")).tolist()
    return int(end - begin) + 1


# Section 4: when to look. The paper's long-term, periodic, anytime and bounded fairness.
#
# A question is a filter, and lays a history out as the steps of a trace that the filter looks at.
# With a calendar a step is a period, so that empty periods are assessed too; without one it is a
# time point of the log.


@dataclass(frozen=True, eq=False)
class Timeline:
    """A history laid out as steps: which step each slot belongs to, and what each is called."""

    step_of_slot: Int[np.ndarray, " slot"]
    steps: int
    moments: np.ndarray  # when each step is judged: its time point, or its period's last moment
    label: Callable[[int], str]
    filter: Filter  # which of the steps are assessed
    marks: Bool[np.ndarray, " step"] | None = None  # for a filter that needs them
    empty: Int[np.ndarray, " gap"] | None = None  # steps, of periods in which nothing happened


@dataclass(frozen=True)
class Question:
    """When to look: a filter, over the time points of a log or the periods of a calendar."""

    filter: Filter
    name: str  # as in the table of questions
    adverb: str  # how a sentence says it: "unequal month by month"
    period: Period | None = None  # of the calendar, where a step is one
    # How many time points make up a step where a status is a sum, and they need not be told apart;
    # None: all of them.
    run: int | None = 1

    @property
    def needs_every_time_point(self) -> bool:
        return self.period is None and self.run is not None

    def timeline(self, history: History, until: Any, merged: bool = False) -> Timeline:
        """The steps; `merged` where a status is a sum, so that fewer of them say the same."""
        if self.period is not None:
            return self._by_calendar(self.period, history, until)
        slots, filter_, marks = history.slots, self.filter, None
        size = (self.run or len(slots)) if merged else 1
        points = np.arange(len(slots))
        ends = points if size == 1 else np.append(points[size - 1 : -1 : size], points[-1])
        if isinstance(filter_, Marked):
            marks = history.marks
        elif merged and isinstance(filter_, Every) and filter_.period == size:
            filter_, marks = Marked(filter_.describe()), (ends + 1) % size == 0
        return Timeline(
            step_of_slot=points if size == 1 else points // size,
            steps=len(ends),
            moments=slots if size == 1 else slots[ends],
            label=lambda k: moment_label(slots[ends[k]]),
            filter=filter_,
            marks=marks,
        )

    def _by_calendar(self, period: Period, history: History, until: Any) -> Timeline:
        if history.plain_numbers:
            raise BadParameter(
                f"{needs_dates(period)}, or say how dates are written with "
                f"{argument('time_format')}, such as %Y%m%d."
            )
        days, reached = history.days(), last_day(history, until)
        refuse_too_many(period, days[0], reached)
        numbers = period.number(np.append(days, reached))
        first, last = int(numbers[0]), int(numbers[-1])
        every = np.arange(first, last + 1)
        last_days = period.last_day(every)
        ends = np.minimum(last_days, reached)
        empty = np.bincount(numbers[:-1] - first, minlength=len(every)) == 0
        return Timeline(
            step_of_slot=numbers[:-1] - first,
            steps=len(every),
            moments=(ends + 1).astype("datetime64[us]") - 1,
            label=lambda k: period.label(first + k),
            filter=self.filter,
            marks=last_days <= reached,
            empty=np.flatnonzero(empty),
        )


# Definition "anytime fairness": at every time point of the log.
EACH_EVENT = Question(Always(), "each event", "from one time point to the next")
# Definition "long-term fairness": the end alone, for which the whole log is one step.
AT_END = Question(Final(), "at the end", "at the end", run=None)


def every_n(number: int) -> Question:
    """Definition "periodic fairness": after every N time points, ⌊T/N⌋ times."""
    name = f"every {number} time points"
    return Question(Every(number), name, f"looked at {name}", run=number)


def every_period(period: Period) -> Question:
    """Definition "periodic fairness" by the calendar, empty periods included."""
    name = f"every {period.name}"
    looks = Marked(f"at the end of {name}")
    return Question(looks, name, f"{period.name} by {period.name}", period)


def after_each(amount: float) -> Question:
    """Definition "bounded fairness": whenever another amount has been distributed."""
    if not (is_finite_number(amount) and amount > 0):
        shown = f"{amount:g}" if isinstance(amount, Real) else repr(amount)
        raise BadParameter(f"{argument('after_each')} is {shown}: it must be a positive number.")
    adverb = f"each time another {amount:,g} had been given out"
    return Question(AfterEach(amount), f"after each {amount:,g}", adverb)


def when(condition: str) -> Question:
    """Definition "bounded fairness": at time points with an event of which a condition holds."""
    return Question(Marked(f"wherever {condition}"), f"when {condition}", f"whenever {condition}")


def as_the_scheme(own: Filter) -> Question:
    """The filter B of a scheme file, over the time points of the log."""
    return Question(own, "as the scheme says", "at the times the scheme looks")


def question_of(options: SchemeOptions) -> Question:
    """When to look; the default is every time point."""
    if options.every is not None:
        return every(str(options.every))
    if options.after_each is not None:
        return after_each(options.after_each)
    if options.when is not None:
        return when(options.when)
    if options.at_end:
        return AT_END
    if options.scheme is None or options.each_event:
        return EACH_EVENT
    own = options.scheme.filter
    if own == Final():
        return AT_END
    return EACH_EVENT if own == Always() else as_the_scheme(own)


def every(text: str) -> Question:
    """Every "month", or every "12" time points."""
    if text in PERIODS:
        return every_period(PERIODS[text])
    if text.isdecimal() and len(text) < 19 and 0 < int(text) <= MOST_STEPS:
        return every_n(int(text))
    raise BadParameter(
        f"{argument('every')} is {text!r}: it must be {', '.join(PERIODS)}, or a whole number of "
        "time points."
    )


def last_day(history: History, until: Any) -> Any:
    """The last day that the log is about."""
    last = history.slots[-1].astype("datetime64[D]")
    return last if until is None else max(last, np.datetime64(until, "D"))


def needs_dates(period: Period) -> str:
    """The beginning of a sentence on times that are plain numbers, where periods are asked for."""
    return (
        f"{argument('every', period.name)} needs dates, and the times are plain numbers: use "
        f"{argument('every')} N for every N time points"
    )
