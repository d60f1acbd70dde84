"""Calendar periods: how many there are is known before any of them is looked at."""

from __future__ import annotations

import time

import numpy as np
import pytest

from evenhand.auditing import audit
from evenhand.auditing.judging.calendar import MOST_PERIODS, PERIODS, how_many, refuse_too_many
from evenhand.errors import BadParameter
from logs import FIRST_A_THEN_B, OPTIONS, write

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
    import pandas as pd

    answer = audit(pd.DataFrame(log), stakeholder="country", time="date", amount="doses")
    asked = [row.question for row in answer.questions]
    assert "every year" in asked
    assert "every day" not in asked
