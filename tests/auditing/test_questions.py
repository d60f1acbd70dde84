"""Tests of auditing.questions."""

from __future__ import annotations

import datetime
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import AfterEach, Always, Every, FairnessScheme, Final, Rawls, TimepointFirst
from evenhand._util.checks import MOST_STEPS
from evenhand.auditing import judge
from evenhand.auditing.case import Case
from evenhand.auditing.judge import other_questions
from evenhand.auditing.questions import (
    AT_END,
    EACH_EVENT,
    MOST_PERIODS,
    PERIODS,
    after_each,
    as_the_scheme,
    every,
    every_n,
    every_period,
    how_many,
    question_of,
    refuse_too_many,
    when,
)
from evenhand.errors import BadParameter
from evenhand.log.history import History
from evenhand.log.options import SchemeOptions
from logs import FIRST_A_THEN_B, OPTIONS, write
from logs import audit_alone as audit

# Calendar periods: how many there are is known before any of them is looked at.

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


# When a log is looked at: cuts of the calendar and of the time points, worked out by hand.

COLUMNS = {"stakeholder": "who", "time": "at", "amount": "much"}


def frame(rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["at", "who", "much"])


def history_of(moments, names=("A", "B")) -> History:
    slots = np.array(moments)
    cells = np.arange(len(slots))
    return History(names, slots, cells, cells % len(names), np.ones(len(slots)))


def days(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[us]")


rows = st.lists(
    st.tuples(
        st.dates(datetime.date(2021, 1, 20), datetime.date(2021, 4, 10)),
        st.sampled_from(["A", "B", "C"]),
        st.integers(0, 9),
    ),
    min_size=4,
    max_size=25,
)
asked = st.sampled_from(
    [{"each_event": True}, {"every": "2"}, {"every": "week"}, {"after_each": 7}, {"at_end": True}]
)


def answer_to(log, question):
    try:
        return audit(frame(log), **COLUMNS, **question).to_json()
    except ValueError as error:
        return str(error)


@settings(max_examples=12)
@given(rows, asked, st.permutations(["A", "B", "C"]), st.randoms(use_true_random=False))
def test_any_order_of_rows_and_any_relabelling_relabels_the_answer(log, question, order, random):
    names = dict(zip("ABC", order, strict=True))
    renamed = [(at, names[who], much) for at, who, much in log]
    before = answer_to(log, question)
    after = answer_to(random.sample(renamed, len(log)), question)
    if isinstance(before, str):
        assert isinstance(after, str)
        return
    for key in ("score", "assessments", "gaps"):
        assert after[key] == pytest.approx(before[key])
    assert after["over_time"]["times"] == before["over_time"]["times"]
    assert sorted(after["all_treated_worst"]) == sorted(
        names[who] for who in before["all_treated_worst"]
    )
    told = {one["name"]: one for one in after["stakeholders"]}
    for one in before["stakeholders"]:
        other = told[names[one["name"]]]
        for key in set(one) - {"name"}:
            assert other[key] == pytest.approx(one[key], abs=1e-9), key


@pytest.mark.parametrize(
    ("until", "times", "unfinished"),
    [
        (None, ["2021-01"], "2021-02"),
        ("2021-02-27", ["2021-01"], "2021-02"),
        ("2021-02-28", ["2021-01", "2021-02"], None),
        ("2021-02-28T00:00:00", ["2021-01", "2021-02"], None),  # midnight stands for its day
        ("2021-03-01", ["2021-01", "2021-02"], "2021-03"),
        ("2021-03-31", ["2021-01", "2021-02", "2021-03"], None),
    ],
)
def test_a_month_is_finished_with_its_last_day(until, times, unfinished):
    log = [("2021-01-05", "A", 1), ("2021-02-26T18:00:00", "B", 1)]
    answer = audit(frame(log), **COLUMNS, every="month", until=until)
    assert list(answer.over_time.times) == times
    assert answer.overall.unfinished == unfinished


@pytest.mark.parametrize(
    ("until", "received"),
    [
        ("2021-02-28", 3),  # the whole of that day
        (datetime.date(2021, 2, 28), 3),
        ("2021-02-28T00:00:00", 3),
        ("2021-02-28T18:00:00", 3),  # that moment included
        ("2021-02-28T17:59:59", 1),
        ("2021-03-01", 7),
    ],
)
def test_what_comes_after_until_is_left_out(until, received):
    log = [
        ("2021-02-27T10:00:00", "A", 1),
        ("2021-02-28T18:00:00", "A", 2),
        ("2021-03-01T00:00:00", "A", 4),
        ("2021-02-27T10:00:00", "B", 1),
    ]
    answer = audit(frame(log), **COLUMNS, at_end=True, until=until)
    assert answer.stakeholder("A").final == received


def test_periods_with_an_empty_one_between():
    history = history_of(days("2021-01-30T12:00", "2021-01-31", "2021-04-02"))
    timeline = every_period(PERIODS["month"]).timeline(history, None)
    assert timeline.step_of_slot.tolist() == [0, 0, 3]
    assert timeline.steps == 4
    assert timeline.empty.tolist() == [1, 2]
    assert timeline.marks.tolist() == [True, True, True, False]
    assert [timeline.label(k) for k in range(4)] == ["2021-01", "2021-02", "2021-03", "2021-04"]
    assert [str(moment) for moment in timeline.moments] == [
        "2021-01-31T23:59:59.999999",
        "2021-02-28T23:59:59.999999",
        "2021-03-31T23:59:59.999999",
        "2021-04-02T23:59:59.999999",
    ]


@pytest.mark.parametrize(
    ("points", "number", "step_of_slot", "judged_at", "marks"),
    [
        (5, 2, [0, 0, 1, 1, 2], [11, 13, 14], [True, True, False]),
        (4, 2, [0, 0, 1, 1], [11, 13], [True, True]),
        (3, 1, [0, 1, 2], [10, 11, 12], [True, True, True]),
        (2, 3, [0, 0], [11], [False]),
    ],
)
def test_every_n_time_points_merged(points, number, step_of_slot, judged_at, marks):
    timeline = every_n(number).timeline(
        history_of(np.arange(10.0, 10.0 + points)), None, merged=True
    )
    assert timeline.step_of_slot.tolist() == step_of_slot
    assert timeline.steps == len(judged_at)
    assert timeline.moments.tolist() == judged_at
    assert timeline.marks.tolist() == marks
    assert [timeline.label(k) for k in range(timeline.steps)] == [str(at) for at in judged_at]
    assert timeline.filter.describe() == Every(number).describe()


def test_the_end_merged_is_one_step():
    timeline = AT_END.timeline(history_of(np.array([3.0, 4.0, 9.0])), None, merged=True)
    assert timeline.step_of_slot.tolist() == [0, 0, 0]
    assert timeline.steps == 1
    assert timeline.moments.tolist() == [9.0]
    assert timeline.label(0) == "9"


def own(filter_) -> FairnessScheme:
    return FairnessScheme(aggregation=TimepointFirst(Rawls()), filter=filter_)


@pytest.mark.parametrize(
    ("options", "question"),
    [
        ({}, EACH_EVENT),
        ({"every": "month"}, every_period(PERIODS["month"])),
        ({"every": 12}, every_n(12)),
        ({"after_each": 5.0}, after_each(5.0)),
        ({"when": "dose > 1"}, when("dose > 1")),
        ({"at_end": True}, AT_END),
        ({"scheme": own(Final())}, AT_END),
        ({"scheme": own(Always())}, EACH_EVENT),
        ({"scheme": own(AfterEach(3.0))}, as_the_scheme(AfterEach(3.0))),
    ],
)
def test_which_question_options_ask(options, question):
    assert question_of(SchemeOptions(**options)) == question


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "fortnight", "", "9" * 19])
def test_what_is_no_period_is_refused(text):
    with pytest.raises(BadParameter, match="it must be day, week"):
        every(text)


def test_the_largest_number_of_time_points():
    assert every(str(MOST_STEPS)) == every_n(MOST_STEPS)
    with pytest.raises(BadParameter, match="a whole number of time points"):
        every(str(MOST_STEPS + 1))


def names_of(case: Case) -> list[str]:
    return [question.name for question, _ in other_questions(case)]


def test_a_period_is_asked_about_if_two_of_it_are_finished():
    end_of_february = history_of(days("2021-01-01", "2021-02-28"))
    assert names_of(Case(end_of_february)) == [
        *("at the end", "every month", "every week", "every day", "each event"),
    ]
    day_before = history_of(days("2021-01-01", "2021-02-27"))
    assert "every month" not in names_of(Case(day_before))
    told = Case(day_before, until=np.datetime64("2021-02-28T23:59:59"))
    assert "every month" in names_of(told)
    by_day = History(("A",), days("2021-01-01"), *(np.zeros(1, dtype=int),) * 3, exact=False)
    assert names_of(Case(by_day)) == ["at the end"]


def test_where_slots_are_months_nothing_shorter_is_asked_about():
    ends = np.array(["2020-01-31", "2020-06-30", "2021-12-31"], dtype="datetime64[us]")
    cells = np.arange(3), np.zeros(3, dtype=int), np.ones(3)
    months = History(("A",), ends, *cells, exact=False, begins=np.datetime64("2020-01-02"))
    expected = ["at the end", "every year", "every quarter", "every month"]
    assert names_of(Case(months)) == expected
    assert names_of(Case(replace(months, begins=None))) == [*expected, "every week", "every day"]


@pytest.mark.parametrize(
    ("points", "numbers"),
    [
        *((5, []), (6, [2]), (14, [2]), (15, [5, 2]), (29, [5, 2]), (30, [10, 5, 2])),
        *((299, [10, 5, 2]), (300, [100, 10, 5, 2]), (3000, [1000, 100, 10, 5, 2])),
    ],
)
def test_a_number_of_time_points_is_asked_about_if_it_comes_three_times(points, numbers):
    names = names_of(Case(history_of(np.arange(float(points)))))
    assert names == ["at the end", *(f"every {n} time points" for n in numbers), "each event"]


def test_what_is_too_much_to_count_is_not_asked(monkeypatch):
    """Two names at 30 time points are 60 statuses; every 2 of them 30."""
    case = Case(history_of(np.arange(30.0)))
    for limit, expected in (
        (60, ["every 10 time points", "every 5 time points", "every 2 time points", "each event"]),
        (59, ["every 10 time points", "every 5 time points", "every 2 time points"]),
        (30, ["every 10 time points", "every 5 time points", "every 2 time points"]),
        (29, ["every 10 time points", "every 5 time points"]),
    ):
        monkeypatch.setattr(judge, "STEP_VALUES", limit)
        assert names_of(case) == ["at the end", *expected]
    dated = Case(history_of(days("2021-01-01", "2021-01-31")))
    for limit, expected in ((62, ["every day"]), (61, [])):
        monkeypatch.setattr(judge, "STEP_VALUES", limit)
        assert [name for name in names_of(dated) if name == "every day"] == expected
