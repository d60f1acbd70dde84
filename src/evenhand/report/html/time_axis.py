"""Positions of assessments on a time axis: dates by their first moment, numbers unchanged."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import NamedTuple

PERIOD = re.compile(r"(\d{4,})-(?:W(\d\d)|Q(\d)|(\d\d))")
MOMENT = re.compile(r"\d{4,}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?")

TICKS = 60  # up to this many assessments have a tick each
FEW = 12  # ticks if there are more assessments

# Dates on an axis are written as in the audit.
FORMATS = {
    "week": "%G-W%V",
    "quarter": "%Y-Q%q",
    "month": "%Y-%m",
    "day": "%Y-%m-%d",
    "moment": "%Y-%m-%d %H:%M",
}


class TimeAxis(NamedTuple):
    """A time axis: the positions of its ticks, and the format of dates."""

    ticks: tuple[float, ...] = ()
    format: str | None = None

    @classmethod
    def of(cls, labels: Sequence[str], dates: bool, places: Sequence[float]) -> TimeAxis:
        """The axis for assessments with these labels at these positions."""
        ticks = sorted(set(places))
        if len(ticks) > TICKS:
            step = (len(ticks) - 1) / (FEW - 1)
            ticks = [ticks[round(k * step)] for k in range(FEW)]
        return cls(tuple(ticks), _format(labels) if dates else None)


def positions(labels: Sequence[str]) -> tuple[bool, list[float]]:
    """Whether the labels are dates, and the position of each on the axis.

    Dates are milliseconds since 1970 in UTC. Labels that are neither dates nor numbers are counted.

    >>> positions(["2021-01", "2021-Q2", "2021-W05", "2021-03-31 10:30:00"])[0]
    True
    >>> positions(["1", "2.5"]), positions(["soon", "late"])
    ((False, [1.0, 2.5]), (False, [1.0, 2.0]))
    """
    for dates, read in ((True, _moment), (False, _number)):
        found = [read(label) for label in labels]
        known = [place for place in found if place is not None]
        if known and len(known) == len(labels):
            return dates, known
    return False, [float(k + 1) for k in range(len(labels))]


def _format(labels: Sequence[str]) -> str:
    found = {_unit(label) for label in labels}
    return FORMATS[found.pop() if len(found) == 1 else "moment" if "moment" in found else "day"]


def _unit(label: str) -> str:
    match = PERIOD.fullmatch(label)
    if match is None:
        return "moment" if " " in label else "day"
    _, week, quarter, _ = match.groups()
    return "week" if week else "quarter" if quarter else "month"


def _moment(label: str) -> float | None:
    try:
        if MOMENT.fullmatch(label):
            moment = datetime.datetime.fromisoformat(label)
        elif match := PERIOD.fullmatch(label):
            moment = _first_day(match)
        else:
            return None
    except ValueError:  # a year after 9999 can only be a number
        return None
    return moment.replace(tzinfo=datetime.UTC).timestamp() * 1000


def _first_day(match: re.Match[str]) -> datetime.datetime:
    year, week, quarter, month = match.groups()
    if week is not None:
        return datetime.datetime.fromisocalendar(int(year), int(week), 1)
    return datetime.datetime(int(year), int(month) if month else 3 * int(quarter) - 2, 1)


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None
