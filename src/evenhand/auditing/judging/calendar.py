"""Calendar periods: days, ISO weeks, months, quarters and years, counted from 1970."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.wording import pluralise
from evenhand.errors import BadParameter, argument

if TYPE_CHECKING:
    from jaxtyping import Int

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
