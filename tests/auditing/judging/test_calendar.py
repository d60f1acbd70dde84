"""Calendar periods against Python's own calendar."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.judging.calendar import PERIODS

dates = st.dates(datetime.date(1890, 1, 1), datetime.date(2150, 12, 31))


def label(period: str, day: datetime.date) -> str:
    week = day.isocalendar()
    return {
        "day": day.isoformat(),
        "week": f"{week.year}-W{week.week:02}",
        "month": f"{day.year}-{day.month:02}",
        "quarter": f"{day.year}-Q{(day.month - 1) // 3 + 1}",
        "year": f"{day.year}",
    }[period]


@given(st.sampled_from(sorted(PERIODS)), dates)
def test_a_day_lies_in_the_period_that_has_its_name(name, day):
    period = PERIODS[name]
    assert period.name == name
    days = np.array([day], dtype="datetime64[D]")
    number = period.number(days)
    assert period.label(int(number[0])) == label(name, day)
    first, last = period.first_day(number), period.last_day(number)
    assert first[0] <= days[0] <= last[0]
    assert label(name, first[0].item()) == label(name, last[0].item()) == label(name, day)
    assert label(name, (first - 1)[0].item()) != label(name, day)
    assert label(name, (last + 1)[0].item()) != label(name, day)
    assert period.number(first - 1) == number - 1
    assert period.number(last + 1) == number + 1


@pytest.mark.parametrize(
    ("name", "number", "first", "last", "called"),
    [
        ("day", 0, "1970-01-01", "1970-01-01", "1970-01-01"),
        ("week", 0, "1969-12-29", "1970-01-04", "1970-W01"),
        ("month", 13, "1971-02-01", "1971-02-28", "1971-02"),
        ("quarter", -1, "1969-10-01", "1969-12-31", "1969-Q4"),
        ("year", 2, "1972-01-01", "1972-12-31", "1972"),
    ],
)
def test_by_hand(name, number, first, last, called):
    period, numbers = PERIODS[name], np.array([number])
    assert str(period.first_day(numbers)[0]) == first
    assert str(period.last_day(numbers)[0]) == last
    assert period.label(number) == called
