"""Where an assessment stands on a time axis: dates by their first moment, numbers as they are."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

DAY = datetime.timedelta(days=1)
PERIOD = re.compile(r"(\d{4,})-(?:W(\d\d)|Q(\d)|(\d\d))")
MOMENT = re.compile(r"\d{4,}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?")


def positions(labels: Sequence[str]) -> tuple[str, list[float]]:
    """The kind of axis ("temporal" or "quantitative"), and a place on it for each label.

    Dates are milliseconds since 1970 in UTC. What is neither a date nor a number is counted.

    >>> positions(["2021-01", "2021-Q2", "2021-W05", "2021-03-31 10:30:00"])[0]
    'temporal'
    >>> positions(["1", "2.5"]), positions(["soon", "late"])
    (('quantitative', [1.0, 2.5]), ('quantitative', [1.0, 2.0]))
    """
    for kind, read in (("temporal", _moment), ("quantitative", _number)):
        found = [read(label) for label in labels]
        known = [place for place in found if place is not None]
        if known and len(known) == len(labels):
            return kind, known
    return "quantitative", [float(k + 1) for k in range(len(labels))]


def _moment(label: str) -> float | None:
    try:
        if MOMENT.fullmatch(label):
            moment = datetime.datetime.fromisoformat(label)
        elif match := PERIOD.fullmatch(label):
            moment = _first_day(match)
        else:
            return None
    except ValueError:  # a year past 9999 has a place among numbers alone
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
