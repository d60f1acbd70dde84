"""Tests of log.cells."""

from __future__ import annotations

import datetime
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand._util.numbers import LAST_MOMENT, moment_labels, parse_moment
from evenhand.errors import BadLog, BadParameter
from evenhand.log.cells import read_number_texts
from logs import MAPPED, OPTIONS, write
from logs import audit_alone as audit

# Numbers as people write them, decided by all texts of a column.


def read(*texts, **how):
    return read_number_texts(texts, "n", **how).values


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (("1.234,56", "7"), (1234.56, 7)),
        (("1,234.56", "7"), (1234.56, 7)),
        (("1,5", "1.000"), (1.5, 1000)),
        (("1 234", "1\u202f234,5"), (1234, 1234.5)),
        (("1'234.50", "12’000"), (1234.5, 12000)),
        (("12,34,567", "1,234"), (1234567, 1234)),
        (("1.234.567", "1.234"), (1234567, 1234)),
        (("1.234", "12345"), (1.234, 12345)),  # or 12.345 would have a point, too
        (("1,234", "12345"), (1.234, 12345)),
        (("0.125", "2.250"), (0.125, 2.25)),  # thousands do not begin with 0
        (("€ 12", "-€3.50", "€0"), (12, -3.5, 0)),
        (("12 kr", "3,5 kr"), (12, 3.5)),
        (("45 %", "7%"), (0.45, 0.07)),
        (("(12)", "−3", "+4"), (-12, -3, 4)),
        (("1e3", ".5", "5."), (1000, 0.5, 5)),
    ],
)
def test_the_only_way_to_read_a_column(texts, numbers):
    assert list(read(*texts).values()) == list(numbers)


@pytest.mark.parametrize(
    ("texts", "low", "high"),
    [
        (("1.234", "2.500"), (1.234, 2.5), (1234, 2500)),
        (("1,234", "7"), (1.234, 7), (1234, 7)),
    ],
)
def test_thousands_or_a_fraction_is_asked(texts, low, high):
    with pytest.raises(BadLog, match=r"may be 1.234 or 1234, .*`decimal='.'` or `decimal=','`"):
        read(*texts)
    mark, other = (".", ",") if "." in texts[0] else (",", ".")
    assert tuple(read(*texts, decimal=mark).values()) == low
    assert tuple(read(*texts, decimal=other).values()) == high


@pytest.mark.parametrize(
    "text", ["", "x", "1,23,4", "1..5", "1,5,", "5€€", "--5", "1 2", "(5", "5 % %"]
)
def test_what_is_not_a_number(text):
    assert read(text, "1") == {"1": 1.0}


def test_what_cannot_be_added_up_is_refused():
    with pytest.raises(BadLog, match="with and without a per cent sign"):
        read("45 %", "7")
    with pytest.raises(BadLog, match=r"in \$ and €"):
        read("€5", "$5")
    with pytest.raises(BadParameter, match="`decimal` is ';'"):
        read("5", decimal=";")


def test_marks_beside_numbers():
    found = read_number_texts(["3", "..", "<5", "-", "7", "na"], "n")
    assert (found.values, set(found.hidden)) == ({"3": 3.0, "7": 7.0}, {"..", "<5", "-"})


numbers = st.lists(st.integers(-(10**9), 10**9).map(lambda k: k / 100), min_size=1)


@given(
    numbers, st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", "."), ("", ","), ("", ".")])
)
def test_a_column_written_in_one_way_is_read_as_it_was_meant(values, marks):
    """With two digits after the sign no other reading is possible."""
    thousands, decimal = marks
    texts = [
        f"{value:,.2f}".replace(",", "t").replace(".", decimal).replace("t", thousands)
        for value in values
    ]
    assert [read(*texts)[text] for text in texts] == values


# Times at the edge of the calendar, beyond it, and in zones that nobody can know.

DAYS = ("2021-01-01", "2021-01-05")
FAR = "a time outside the years 1 to 9999 at row 3"


def log_of(*times, kind=None) -> pa.Table:
    """A log of two stakeholders who take turns at some times."""
    names = ["A", "B"] * len(times)
    dates = pa.array(times, type=kind) if not isinstance(times[0], pa.Array) else times[0]
    return pa.table({"country": names[: len(dates)], "date": dates, "doses": [1] * len(dates)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("infinity", "not a date or time at row 3 ('infinity')"),
        ("-infinity", "not a date or time at row 3 ('-infinity')"),
        ("epoch", "not a date or time at row 3 ('epoch')"),
        ("1e308", "not a date or time at row 3 ('1e308')"),
        ("9" * 30, "not a date or time at row 3"),
        ("20210-01-01", f"{FAR} ('20210-01-01')"),
        ("290000-01-01", f"{FAR} ('290000-01-01')"),
        ("0000-01-01", f"{FAR} ('0000-01-01')"),
        ("0044-03-15 (BC)", f"{FAR} ('0044-03-15 (BC)')"),
        ("9999-12-31T23:59:59-12:00", FAR),  # the zone takes it into the year 10000
        ("0001-01-01T00:00:00+12:00", FAR),
        ("2021-01-03 10:00 EST", "write the zone 'EST', which is not known, as an offset"),
        ("2021-01-03 10:00:00 Mars/Phobos", "write the zone 'Mars/Phobos'"),
        ("2021-01-03 10:00:00+99:00", "write the zone '+99:00'"),
        ("2021-01-03 10:00:00+05:30:15", "write the zone '+05:30:15'"),
        ("2021-01-03 10:00 PM", "`time_format='%Y-%m-%d %I:%M %p'`"),
        ("2021-01-03 10:00 garbage", "not a date or time at row 3"),
    ],
)
def test_a_text_that_says_no_moment_is_named_by_its_row(text, words):
    with pytest.raises(BadLog) as caught:
        audit(log_of(*DAYS, text), **MAPPED)
    assert words in str(caught.value)


def test_a_time_that_is_none_is_one_sentence_on_the_command_line(refuses, tmp_path):
    path = write(tmp_path / "log.csv", [("2021-01-01", "A", 1), ("290000-01-01", "B", 1)])
    words = (
        "outside the years 1 to 9999 at row 2 ('290000-01-01')",
        "leave such rows out with --w",
    )
    refuses(words, path, *OPTIONS)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2021-01-03T10:00:00Z", "2021-01-03 10:00:00"),
        ("2021-01-03 10:00+02:00", "2021-01-03 08:00:00"),
        ("2021-01-03 10:00:00 Europe/Paris", "2021-01-03 09:00:00"),
        ("2021-01-03 10:00:00 America/Argentina/Buenos_Aires", "2021-01-03 13:00:00"),
        ("2021-01-03 10:00:00 Etc/GMT+5", "2021-01-03 15:00:00"),
        ("2021-01-03 10:00 UTC", "2021-01-03 10:00:00"),
        ("2021-1-3 9:05", "2021-01-03 09:05:00"),
        ("2021/01/03", "2021-01-03"),
        ("9999-12-31", "9999-12-31"),
        ("0001-01-01", "0001-01-01"),
    ],
)
def test_zones_that_are_known_are_put_into_utc(text, moment):
    assert moment in audit(log_of(*DAYS, text), **MAPPED).over_time.times


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([0, 253402300800], pa.timestamp("s")),  # the first second of the year 10000
        ([0, -62135596801], pa.timestamp("s", "UTC")),  # the last before the year 1
        ([0, 2**62], pa.timestamp("us")),
        ([0, 2**62], pa.timestamp("us", "UTC")),
        ([0, 2**63 - 1], pa.timestamp("us")),  # DuckDB's infinity
        ([0, -(2**63) + 1], pa.timestamp("ms")),
        ([0, 2**63 - 1], pa.timestamp("ns")),
        ([0, 3_000_000], pa.date32()),
        ([0, -800_000], pa.date32()),
        ([0, 2**31 - 1], pa.date32()),
    ],
)
def test_times_of_a_column_of_times_lie_in_the_calendar(numbers, kind):
    whole = pa.int32() if kind == pa.date32() else pa.int64()
    table = log_of(pa.array(numbers, whole).cast(kind))
    with pytest.raises(BadLog, match=r"column 'date' .* outside the years 1 to 9999 at row 2 \("):
        audit(table, **MAPPED)


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "DATE", "TIMESTAMP_S"])
@pytest.mark.parametrize("value", ["infinity", "-infinity", "0044-03-15 (BC)", "99999-01-01"])
def test_a_database_may_hold_moments_that_are_none(kind, value):
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE log (country VARCHAR, date {kind}, doses INT)")
        connection.executemany(
            "INSERT INTO log VALUES (?, ?, ?)", [("A", "2021-01-01", 1), ("B", value, 1)]
        )
        with pytest.raises(BadLog, match="outside the years 1 to 9999"):
            audit(connection.table("log"), **MAPPED)


@pytest.mark.parametrize("number", [np.inf, -np.inf])
def test_infinite_numbers_are_not_times(number):
    with pytest.raises(BadLog, match="a time that is not a finite number at row 2"):
        audit(log_of(0.0, number), **MAPPED)


@pytest.mark.parametrize(
    ("numbers", "kind", "last"),
    [
        ([0, 2**63 - 1], pa.int64(), "9.223372036854776e+18"),
        ([0, 2**64 - 1], pa.uint64(), "1.8446744073709552e+19"),
        ([0.0, 1e308], pa.float64(), "1e+308"),
    ],
)
def test_large_numbers_are_times_and_are_written_shortly(numbers, kind, last):
    assert audit(log_of(*numbers, kind=kind), **MAPPED).over_time.times == ("0", last)


@pytest.mark.parametrize("value", ["9999-12-31T23:59:59-12:00", "infinity", "20210-01-01"])
def test_sqlite_reads_the_same_calendar(refuses, tmp_path, value):
    with sqlite3.connect(tmp_path / "log.sqlite") as connection:
        connection.execute("CREATE TABLE log (country, date, doses)")
        rows = [("A", "2021-01-01", 1), ("B", value, 1)]
        connection.executemany("INSERT INTO log VALUES (?, ?, ?)", rows)
    connection.close()
    address = f"sqlite:///{tmp_path / 'log.sqlite'}"
    refuses((f"not a date or time at 1 row ({value!r}",), address, "--table", "log", *OPTIONS)


@pytest.mark.parametrize(
    "until", ["infinity", "20210-01-01", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00+14:00"]
)
def test_until_lies_in_the_calendar(until):
    with pytest.raises(BadParameter, match=r"`until` is .* it must be a date such as 2021-03-31"):
        audit(log_of(*DAYS), **MAPPED, until=until)


@pytest.mark.parametrize("until", ["nan", "inf", "9" * 400, 10**400])
def test_until_of_numbers_is_a_finite_number(until):
    with pytest.raises(BadParameter, match="plain numbers: give a number"):
        audit(log_of(1, 2), **MAPPED, until=until)


def test_until_at_the_ends_of_the_calendar():
    assert audit(log_of(*DAYS), **MAPPED, until="9999-12-31", every="year").over_time.times[-1] == (
        "9999"
    )
    with pytest.raises(BadLog, match="begins after `until`"):
        audit(log_of(*DAYS), **MAPPED, until=datetime.date.min)


def test_a_moment_that_its_zone_takes_out_of_the_calendar_is_none():
    assert parse_moment("9999-12-31T23:59:59.999999") == LAST_MOMENT
    with pytest.raises(ValueError, match="outside the years 1 to 9999 in UTC"):
        parse_moment("9999-12-31T23:59:59-00:01")


def test_labels_of_large_numbers_have_an_exponent():
    assert moment_labels(np.array([1e14, 1e15, 1e300, -1e300, 0.5])) == [
        *("100000000000000", "1000000000000000.0", "1e+300", "-1e+300", "0.5")
    ]
