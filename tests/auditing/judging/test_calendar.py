"""Calendar periods: how many there are is known before any of them is looked at."""

from __future__ import annotations

import datetime
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.judging.calendar import MOST_PERIODS, PERIODS, how_many, refuse_too_many
from evenhand.errors import BadParameter
from logs import FIRST_A_THEN_B, OPTIONS, write
from logs import audit_alone as audit

FIRST, LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("day", 3_652_059),
        ("week", 521_723),
        ("month", 119_988),
        ("quarter", 39_996),
        ("year", 9999),
    ],
)
def test_periods_of_the_whole_calendar(name, number):
    period = PERIODS[name]
    assert how_many(period, FIRST, LAST) == number
    for day in (FIRST, LAST):  # each has a name
        assert period.label(int(period.number(np.array([day]))[0])).startswith(str(day)[:4])
    if number > MOST_PERIODS:
        with pytest.raises(BadParameter, match=f"asks for {number:,} {name}s, from 0001-01-01 to"):
            refuse_too_many(period, FIRST, LAST)
    else:
        refuse_too_many(period, FIRST, LAST)


def test_the_limit_is_the_last_that_is_taken():
    first = np.datetime64("2000-01-01")
    refuse_too_many(PERIODS["day"], first, first + MOST_PERIODS - 1)
    with pytest.raises(BadParameter, match="at most 100,000 are assessed"):
        refuse_too_many(PERIODS["day"], first, first + MOST_PERIODS)


@pytest.mark.parametrize("period", ["day", "week"])
def test_a_question_of_too_many_periods_is_refused_before_they_are_counted(
    refuses, tmp_path, period
):
    path = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    started = time.perf_counter()
    words = (f"--every {period} asks for", "to 9999-12-31", "another --until", "longer periods")
    refuses(words, path, *OPTIONS, "--every", period, "--until", "9999-12-31")
    assert time.perf_counter() - started < 20  # a hang, not a benchmark


def test_other_questions_leave_out_what_has_too_many_periods():
    """One time far away does not make the table of questions as long as the calendar."""
    log = {"date": ["2021-01-01", "2021-06-01", "9999-12-31"], "country": list("ABA"), "doses": 1}
    answer = audit(pd.DataFrame(log), stakeholder="country", time="date", amount="doses")
    asked = [row.question for row in answer.questions]
    assert "every year" in asked
    assert "every day" not in asked


# Against Python's own calendar

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
