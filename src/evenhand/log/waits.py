"""Waits from two dates: who waited how long. A case that has not ended counts up to each moment."""

from __future__ import annotations

import datetime
import heapq
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from evenhand._util.numbers import as_numbers, as_timestamps
from evenhand._util.wording import pluralise
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.log.engines import fetch
from evenhand.log.history import History, Known, Reading, TimedAmounts
from evenhand.log.layout import Notes
from evenhand.log.options import AuditOptions
from evenhand.log.rows import LogEvents

if TYPE_CHECKING:
    from jaxtyping import Float, Int

DAY = datetime.timedelta(days=1) / datetime.timedelta(microseconds=1)
UNITS = {"h": DAY / 24, "d": DAY, "w": 7 * DAY}  # of a limit, in microseconds
UNIT_WORDS = {"h": "hour", "d": "day", "w": "week"}


@dataclass(frozen=True, eq=False)
class Cases:
    """When each case began and ended (∞ while it is open), as numbers, and whose it was."""

    names: tuple[str, ...]
    who: Int[np.ndarray, " case"]
    start: Float[np.ndarray, " case"]
    end: Float[np.ndarray, " case"]
    plain_numbers: bool
    rows: int

    @property
    def unit(self) -> float:
        """What a wait is counted in: days, or the unit of the times where they are numbers."""
        return 1.0 if self.plain_numbers else DAY

    def just_after(self, moments: Float[np.ndarray, " case"]) -> Float[np.ndarray, " case"]:
        """The next moments that there are: dates are whole microseconds, and no number between."""
        return np.nextafter(moments, np.inf) if self.plain_numbers else moments + 1.0

    def begun_from(self, moment: float, given: str, notes: Notes) -> Cases:
        """The cases that began at a moment or after it; how many are left out is noted.

        Args:
            moment: From when on.
            given: The argument that says so.
            notes: Where to note it.
        """
        kept, given = self.start >= moment, argument(given)
        if not kept.any():
            raise BadLog(f"all cases began before {given}: nothing is left to judge.")
        gone = int((~kept).sum())
        if gone:
            many = pluralise(gone, "case was", "cases were")
            notes.add(f"{many} left out that began before {given}.")
        return replace(self, who=self.who[kept], start=self.start[kept], end=self.end[kept])

    def history(self, moments: np.ndarray, who: np.ndarray, at: np.ndarray) -> History:
        """A history whose time points are these moments, and one event of 1 at each `at`."""
        order = np.argsort(at, kind="stable")
        slots = moments if self.plain_numbers else as_timestamps(moments)
        return History(
            names=self.names,
            slots=slots,
            slot=np.searchsorted(moments, at[order]),
            who=who[order],
            amount=np.ones(len(order)),
            rows=self.rows,
            events=len(order),
        )


def read_cases(events: LogEvents, on_roster: tuple[str, ...]) -> Cases:
    """The cases of a log; refused where one ends before it begins, or a date cannot be read."""
    _refuse_bad_ends(events)
    found = fetch(events.frame.select("who", "at", "end"))
    names = tuple(sorted({*map(str, found["who"]), *on_roster}))
    place = {name: k for k, name in enumerate(names)}
    end = found["end"]
    open_still = np.isnat(end) if end.dtype.kind == "M" else np.isnan(end.astype(float))
    return Cases(
        names,
        np.array([place[str(name)] for name in found["who"]], dtype=np.int64),
        as_numbers(found["at"]),
        np.where(open_still, np.inf, as_numbers(np.where(open_still, found["at"], end))),
        events.plain_numbers,
        len(found["who"]),
    )


def _refuse_bad_ends(events: LogEvents) -> None:
    options, label = events.options, events.table.label
    end, start = nw.col("end"), nw.col("at")
    wrong = end < start
    if events.any(wrong):
        raise BadLog(
            f"{label} has cases that end ({options.wait_to!r}) before they begin "
            f"({options.wait_from!r}), at {events.rows_where(wrong, 'end')}: fix the dates, or "
            f"leave such rows out with {argument('where')}."
        )
    if events.has("end_text"):
        unread = end.is_null() & ~nw.col("end_text").is_null()
        if events.any(unread):
            raise BadLog(
                f"column {options.wait_to!r} of {label} holds what is not a date or time at "
                f"{events.rows_where(unread, 'end_text')}: leave it empty for a case that is still "
                f"open, or say how dates are written with {argument('time_format')}."
            )


class Waited(Reading):
    """How long each has waited in all by each moment, its open cases up to it."""

    def __init__(self, cases: Cases) -> None:
        self.unit, size = cases.unit, len(cases.names)
        begun, ended = np.argsort(cases.start), np.argsort(cases.end)
        ended = ended[np.isfinite(cases.end[ended])]
        base = float(cases.start.min())  # so that sums of many moments keep their digits
        ledgers = {
            "begun": (begun, np.ones(len(begun)), cases.start),
            "since": (begun, cases.start[begun] - base, cases.start),
            "ended": (ended, np.ones(len(ended)), cases.end),
            "until": (ended, cases.end[ended] - base, cases.end),
        }
        self._base = base
        self._readings = {
            name: TimedAmounts(at[order], cases.who[order], amount, size).totals()
            for name, (order, amount, at) in ledgers.items()
        }

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        known = {name: reading.by(moments) for name, reading in self._readings.items()}
        still_open = known["begun"] - known["ended"]
        now = as_numbers(moments)[:, None] - self._base
        return (known["until"] + still_open * now - known["since"]) / self.unit


class LongestOpen(Reading):
    """How long the oldest open case of each has waited, at each moment; 0 where none is open."""

    def __init__(self, cases: Cases) -> None:
        self.cases = cases
        self._order = np.argsort(cases.start, kind="stable")
        self._next = 0
        # Of each, its open cases: the oldest first, those that ended still among them.
        self._open: list[list[tuple[float, float]]] = [[] for _ in cases.names]

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        cases, found = self.cases, np.zeros((len(moments), len(self.cases.names)))
        for row, moment in enumerate(as_numbers(moments).tolist()):
            while self._next < len(self._order):
                case = self._order[self._next]
                if cases.start[case] > moment:
                    break
                times = float(cases.start[case]), float(cases.end[case])
                heapq.heappush(self._open[cases.who[case]], times)
                self._next += 1
            for who, waiting in enumerate(self._open):
                while waiting and waiting[0][1] <= moment:
                    heapq.heappop(waiting)
                if waiting:
                    found[row, who] = (moment - waiting[0][0]) / cases.unit
        return found


@dataclass(frozen=True, eq=False)
class Waits:
    """Cases made ready to be judged: the time points, and what is known at each."""

    history: History
    beside: dict[str, Known]
    amounts: Callable[[], Reading] | None = (
        None  # in place of the amounts of the history, up to each moment
    )


def judged_waits(cases: Cases, options: AuditOptions, until: Any) -> Waits:
    """The mean wait, the longest open wait, or the share of cases that ended within a limit."""
    end = np.inf if until is None else float(as_numbers(np.asarray(until)))
    if options.within is not None:
        return _within(cases, read_limit(options.within, cases.plain_numbers), end)
    moments = _moments(np.concatenate((cases.start, cases.end)), end)
    begun = cases.start <= end
    history = cases.history(moments, cases.who[begun], cases.start[begun])
    if options.longest_open:
        return Waits(history, {"level": lambda: LongestOpen(cases)})
    chances = _ones(cases.who, cases.start, cases)
    return Waits(history, {"chances": chances}, lambda: Waited(cases))


def _within(cases: Cases, limit: float, end: float) -> Waits:
    """A case is known to be in time when it ends, and to be late once the limit has passed.

    The log is known up to the end that is given, or else up to the last date in it: that of a case
    which ended late, too.
    """
    in_time = cases.end <= cases.start + limit
    known = np.where(in_time, cases.end, cases.just_after(cases.start + limit))
    dates = np.concatenate((cases.start, cases.end[np.isfinite(cases.end)]))
    last = end if np.isfinite(end) else float(dates.max())
    seen = known <= last
    if not seen.any():
        raise BadLog(
            f"no case has ended, and none is older than {argument('within')}: there is nothing to "
            "judge yet."
        )
    moments = _moments(known[seen], last)
    history = cases.history(moments, cases.who[seen & in_time], known[seen & in_time])
    return Waits(history, {"chances": _ones(cases.who[seen], known[seen], cases)})


def _ones(who: np.ndarray, at: np.ndarray, cases: Cases) -> TimedAmounts:
    order = np.argsort(at, kind="stable")
    return TimedAmounts(at[order], who[order], np.ones(len(order)), len(cases.names))


def _moments(times: np.ndarray, end: float) -> np.ndarray:
    """The time points up to an end, which is one itself where it is given."""
    found = times[(times <= end) & np.isfinite(times)]
    return np.unique(np.append(found, end) if np.isfinite(end) else found)


def read_limit(text: Any, plain_numbers: bool, called: str | None = None) -> float:
    """A limit such as 30d, 2w or 12h, or a number of days, in the unit of times as numbers.

    Args:
        text: The limit as somebody wrote it.
        plain_numbers: Whether times are plain numbers, and not dates.
        called: What an error calls it; the argument `within` by default.
    """
    what = f"{called or argument('within')} is {text!r}"
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([hdw]?)\s*", str(text))
    if found is None or not float(found[1]) > 0:
        raise BadParameter(f"{what}: it must be a time such as 30d, 2w or 12h, or a number.")
    if plain_numbers:
        if found[2]:
            raise BadParameter(f"{what}, and the log's times are plain numbers: give a number.")
        return float(found[1])
    return float(found[1]) * UNITS[found[2] or "d"]


def limit_in_words(text: Any) -> str:
    """A limit as a sentence has it: "30 days" for 30d; a number alone stays a number.

    >>> limit_in_words("30d"), limit_in_words("1w"), limit_in_words(2.5)
    ('30 days', '1 week', '2.5')
    """
    number, unit = re.fullmatch(r"\s*([\d.]+)\s*([hdw]?)\s*", str(text)).groups()  # type: ignore[union-attr]
    if not unit:
        return number
    return f"{number} {UNIT_WORDS[unit]}" + "s" * (float(number) != 1)
