"""Times as people write them, decided by all texts of a column."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.time_texts import BY_NAME, read_as, read_time_texts
from evenhand.errors import BadLog


def read(*texts, at_end=True):
    return [f"{at:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for at in values(texts, at_end)]


def values(texts, at_end=True):
    found = read_time_texts(texts, "t", at_end)
    return [] if found is None else list(found.values.values())


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2023-Q1", "2023-01-01", "2023-03-31"),
        ("Q4 2023", "2023-10-01", "2023-12-31"),
        ("2023q2", "2023-04-01", "2023-06-30"),
        ("2023/24", "2023-01-01", "2023-12-31"),
        ("1999/2000", "1999-01-01", "1999-12-31"),
        ("FY2023/24", "2023-01-01", "2023-12-31"),
        ("Jan 2023", "2023-01-01", "2023-01-31"),
        ("February 2024", "2024-02-01", "2024-02-29"),
        ("Sept 2023", "2023-09-01", "2023-09-30"),
        ("Dec-23", "2023-12-01", "2023-12-31"),
        ("Dec-99", "1999-12-01", "1999-12-31"),
        ("2023 Mar", "2023-03-01", "2023-03-31"),
        ("2023-02", "2023-02-01", "2023-02-28"),
        ("2023M11", "2023-11-01", "2023-11-30"),
        ("11/2023", "2023-11-01", "2023-11-30"),
        ("2020-W53", "2020-12-28", "2021-01-03"),
        ("2023-W05-3", "2023-02-01", "2023-02-01"),
        ("Week 5, 2023", "2023-01-30", "2023-02-05"),
        ("31/12/2023", "2023-12-31", "2023-12-31"),
        ("12/31/23", "2023-12-31", "2023-12-31"),
        ("01.02.2023", "2023-02-01", "2023-02-01"),
        ("15 Jan 2023", "2023-01-15", "2023-01-15"),
        ("January 2nd, 2023", "2023-01-02", "2023-01-02"),
        ("31/12/2023 11:05 PM", "2023-12-31 23:05", "2023-12-31 23:05"),
        ("31.12.2023 9:05", "2023-12-31 09:05", "2023-12-31 09:05"),
    ],
)
def test_a_time_as_people_write_it(text, first, last):
    assert (read(text, at_end=False), read(text)) == ([first], [last])


@pytest.mark.parametrize(
    "text",
    ["soon", "2023-Q5", "2023/25", "2023-W54", "31/02/2023", "2023-13", "Foo 2023", "13:00 PM"],
)
def test_what_is_not_a_time(text):
    assert read(text) == []


def test_the_whole_column_decides():
    assert read("01/02/2023", "13/02/2023") == ["2023-02-01", "2023-02-13"]
    assert read("01/02/2023", "02/13/2023") == ["2023-01-02", "2023-02-13"]
    assert read("05/05/2023") == ["2023-05-05"]  # the same either way
    assert read("2011-12", "2012-13") == ["2011-12-31", "2012-12-31"]
    assert read("2011-12", "2012-10") == ["2011-12-31", "2012-10-31"]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            ["01/02/2023"],
            r"'day-first'` \(01 February 2023\) or .*'month-first'` \(02 January 2023",
        ),
        (
            ["2000-01", "2003-04"],
            r"'month'` \(31 January 2000\) or .*'years'` \(31 December 2000\)",
        ),
    ],
)
def test_two_readings_are_asked_about(texts, words):
    with pytest.raises(BadLog, match=words):
        read(*texts)
    for name in ("day-first", "month"):
        assert len(read_as(BY_NAME[name], texts).values) in (0, len(texts))


@given(st.dates(datetime.date(1970, 1, 1), datetime.date(2068, 12, 31)))
def test_a_day_written_with_the_name_of_its_month(day):
    moment = datetime.datetime.combine(day, datetime.time())
    for form in ("%d %b %Y", "%d-%B-%y", "%B %d, %Y", "%d.%m.%Y"):
        assert values([day.strftime(form)]) == [moment]
    year, week, weekday = day.isocalendar()
    assert values([f"{year}-W{week:02}-{weekday}"]) == [moment]
