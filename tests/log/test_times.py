"""Tests of log.times."""

from __future__ import annotations

import datetime
import itertools

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import BadLog, BadParameter
from evenhand.log.times import BY_NAME, BY_UNIT, UNITS, likely_unit, read_as, read_time_texts
from logs import FIRST_A_THEN_B, MAPPED, write
from read_alone import audit, rows_read

# Times as people write them, decided by all texts of a column.


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


# Times that are numbers: what they count is said, or shown by their magnitude.

SECONDS = [1612051200, 1614470400, 1617148800, 1619740800]  # the last days of four months
TIDY = {**MAPPED, "every": "month"}


def log(tmp_path, times):
    rows = [(t, *rest) for t, (_, *rest) in zip(times, FIRST_A_THEN_B, strict=True)]
    return write(tmp_path / "log.csv", rows)


def answer(tmp_path, times, **more):
    return audit(log(tmp_path, times), **{**TIDY, **more})


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (SECONDS, "seconds since 1970"),
        ([t + 0.5 for t in SECONDS], "seconds since 1970"),
        ([t * 10**3 for t in SECONDS], "milliseconds since 1970"),
        ([t * 10**6 for t in SECONDS], "microseconds"),
        ([t * 10**9 for t in SECONDS], "nanoseconds"),
        ([20210131, 20210228, 20210331, 20210430], "days, such as"),
        ([202101, 202102, 202103, 202104], "years and months"),
    ],
)
def test_the_magnitude_says_it_where_the_question_needs_dates(tmp_path, times, words):
    found = rows_read(log(tmp_path, times), **TIDY)
    assert f"were taken as {words}" in found.notes
    days = [(day[:10], who, amount) for day, who, amount in found.rows]
    assert days == [(day, who, float(amount)) for day, who, amount in FIRST_A_THEN_B]


@pytest.mark.parametrize("times", [SECONDS, [20210131, 20210228, 20210331, 20210430]])
def test_numbers_stay_numbers_where_it_does_not(tmp_path, times):
    path = log(tmp_path, times)
    plain = rows_read(path, **MAPPED)
    assert [time for time, _, _ in plain.rows] == [str(time) for time in times]
    typed = rows_read(pd.read_csv(path), **TIDY)
    assert [time[:10] for time, _, _ in typed.rows] == [day for day, _, _ in FIRST_A_THEN_B]


def test_the_answer_is_that_of_the_tidy_log(tmp_path):
    tidy = audit(write(tmp_path / "tidy.csv", FIRST_A_THEN_B), **TIDY)
    found = answer(tmp_path, SECONDS)
    assert found.score == tidy.score
    assert found.over_time.times == tidy.over_time.times
    assert found.overall.unfinished is None


def test_years(tmp_path):
    found = rows_read(log(tmp_path, [2018, 2019, 2020, 2021]), **MAPPED, every="year")
    assert [time for time, _, _ in found.rows] == [f"{year}-12-31" for year in range(2018, 2022)]


def test_small_numbers_stay_numbers_and_a_unit_that_is_named_is_taken(tmp_path):
    with pytest.raises(BadParameter, match="needs dates"):
        answer(tmp_path, [1, 2, 3, 4])
    with pytest.raises(BadParameter, match="needs dates"):
        answer(tmp_path, SECONDS, time_unit="number")
    days = log(tmp_path, [86400 * k for k in range(4)])
    found = rows_read(days, **MAPPED, every="day", time_unit="s")
    assert found.rows[0][0] == "1970-01-01"
    assert "taken as" not in found.notes
    with pytest.raises(BadParameter, match="`time_unit` is 'minutes': it must be one of year,"):
        answer(tmp_path, SECONDS, time_unit="minutes")


@pytest.mark.parametrize("unit", ["s", "number"])
def test_a_unit_of_numbers_is_refused_where_times_are_dates(tmp_path, unit):
    words = "`time_unit` says what times count that are numbers, and column 'date' holds dates"
    iso = [day for day, *_ in FIRST_A_THEN_B]
    typed = pd.read_csv(log(tmp_path, iso), parse_dates=["date"])
    for source in (log(tmp_path, iso), log(tmp_path, ["Jan 2021", "Feb 2021"] * 2), typed):
        with pytest.raises(BadParameter, match=words):
            audit(source, **TIDY, time_unit=unit)
    with pytest.raises(BadParameter, match="both say how times are written: leave one out"):
        answer(tmp_path, SECONDS, time_unit=unit, time_format="%Y%m%d")


@pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning")  # of Ibis, about DuckDB
def test_a_unit_is_refused_where_another_engine_holds_the_numbers(tmp_path):
    ibis = pytest.importorskip("ibis")
    table = ibis.duckdb.connect().read_csv(log(tmp_path, SECONDS))
    with pytest.raises(BadParameter, match="`time_unit` is for files and for tables in memory"):
        audit(table, **MAPPED, time_unit="s")
    assert audit(table, **MAPPED, time_unit="number").overall.assessments == 4


def test_a_date_to_begin_with_asks_for_dates_too(tmp_path):
    assert answer(tmp_path, SECONDS, every=None, since="2021-02-01").overall.assessments == 3
    assert answer(tmp_path, SECONDS, every=None, since=SECONDS[2]).overall.assessments == 2


def test_magnitudes_do_not_meet():
    for one in UNITS:
        assert likely_unit(one.least, one.most) == BY_UNIT[one.name]
    for one, other in itertools.pairwise(UNITS):
        assert one.most < other.least


def test_a_table_beside_the_log_counts_as_the_log_does(tmp_path):
    given = log(tmp_path, SECONDS)
    asked = [(t - 60, *rest) for t, (_, *rest) in zip(SECONDS, FIRST_A_THEN_B, strict=True)]
    options = {**MAPPED, "asked": "doses", "chance": False}
    options["requests"] = write(tmp_path / "asked.csv", asked)
    plain = audit(given, **options)
    counted = audit(given, **options, time_unit="s")
    assert counted.score == plain.score
    assert counted.over_time.times[0] == "2021-01-31"
    by_month = audit(given, **options, every="month")
    assert any(note.startswith("`requests`: The times of column") for note in by_month.notes)
    # Where it holds dates, there is nothing to be counted.
    dates = [(day, *rest) for day, *rest in FIRST_A_THEN_B]
    options["requests"] = write(tmp_path / "dates.csv", dates)
    assert audit(given, **options, time_unit="s").score == plain.score


@pytest.mark.parametrize("unit", [None, "year"])
def test_a_roster_of_years_is_from_the_first_day_until_the_last(tmp_path, unit):
    rows = [(2018, "A", 1), (2019, "A", 1), (2019, "B", 1), (2020, "B", 1), (2021, "A", 1)]
    roster = tmp_path / "roster.csv"
    roster.write_text("region,from,until\nA,2018,2021\nB,2019,2020\n")
    options = {**MAPPED, "every": "year", "roster": roster, "newcomers": "zero"}
    found = audit(write(tmp_path / "years.csv", rows), **options, time_unit=unit)
    dated = tmp_path / "dated.csv"
    dated.write_text("region,from,until\nA,2018-01-01,2021-12-31\nB,2019-01-01,2020-12-31\n")
    same = audit(
        write(tmp_path / "years.csv", rows), **{**options, "roster": dated}, time_unit=unit
    )
    assert found.score == same.score
    assert found.notes == same.notes


def test_spellings_are_merged_in_requests_too(tmp_path):
    rows = [("2021-01-02", "Ann", 1), ("2021-01-03", "ann", 1)]
    asked = [("2021-01-01", "ann ", 1), ("2021-01-01", "Ann", 2), ("2021-01-01", "Bob", 1)]
    found = audit(
        write(tmp_path / "log.csv", rows),
        **MAPPED,
        asked="doses",
        requests=write(tmp_path / "asked.csv", asked),
        merge_names=True,
        chance=False,
    )
    assert {row.name: row.final for row in found.by_stakeholder} == {"Ann": 2 / 3, "Bob": 0.0}
