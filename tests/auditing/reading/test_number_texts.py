"""Numbers as people write them, decided by all texts of a column."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.reading.number_texts import read_number_texts
from evenhand.errors import BadLog, BadParameter


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
