"""Filter expressions: what they mean, and that they can do nothing else."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import BadCondition
from evenhand.log.conditions import parse
from evenhand.log.files import open_table
from logs import audit_alone as audit

FRAME = pd.DataFrame(
    {
        "n": [1.0, 2.0, 3.0, None],
        "text": ["it's", "a%b", "AB", None],
        "day": pd.to_datetime(
            ["2021-01-01", "2021-01-02 10:00", "2022-03-05", None], format="ISO8601"
        ),
        "two words": ["x", "y", "z", "w"],
        "ok": [True, False, True, False],
    }
)


def rows(text: str) -> list[int]:
    frame = open_table(FRAME.assign(row=range(4))).frame
    found = frame.filter(parse(text, frame.collect_schema())).select("row").to_native().fetchall()
    return sorted(row for (row,) in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n = 2", [1]),
        ("n == 2 OR n <> 2", [0, 1, 2]),
        ("n != 1 and n <= 3", [1, 2]),
        ("not n > 1", [0]),
        ("n + 1 * 2 = 4", [1]),
        ("(n + 1) * 2 = 4", [0]),
        ("-n < -2", [2]),
        ("n % 2 = 1 and n / 2 > 1", [2]),
        ("n is null", [3]),
        ("n is not null", [0, 1, 2]),
        ("n in (1, 3, 99)", [0, 2]),
        ("n not in (1, 3)", [1]),
        ("n between 2 and 3", [1, 2]),
        ("n not between 2 and 3", [0]),
        ("text = 'it''s'", [0]),
        ("text like 'a%'", [1]),
        ("text not like 'a%'", [0, 2]),
        ("text like '_%_' and lower(text) = 'ab'", [2]),
        ("length(text) = 4", [0]),
        ("trim(upper(text)) = 'AB'", [2]),
        ("day >= '2021-01-02'", [1, 2]),
        ("day = '2021-01-02T10:00'", [1]),
        ("'2021-06-01' < day", [2]),
        ("year(day) = 2021 and day(day) = 2", [1]),
        ("weekday(day) in (5, 6) and month(day) = 1", [0, 1]),
        ("\"two words\" = 'y'", [1]),
        ("ok and n > 1", [2]),
        ("ok = false", [1, 3]),
        ("abs(0 - n) > 2.5e0", [2]),
    ],
)
def test_meaning(text, expected):
    assert rows(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends too early"),
        ("n >", "ends too early"),
        ("n = 1; drop table log", "makes no sense"),
        ("n = 1 -- comment", "'comment', which is not a column"),
        ("(select 1) = 1", "not a column"),
        ("read_text('/etc/passwd') = 'x'", "no function 'read_text'"),
        ("getenv('HOME') = 'x'", "no function"),
        ("n = 'x'", "a number is compared with a text"),
        ("text > 3", "a text is compared with a number"),
        ("day = 'soon'", "not a date"),
        ("tex = 'x'", "did you mean 'text'"),
        ("North = 1", "Text goes in single quotes"),
        ("n", "must be a condition"),
        ("n and ok", "beside 'and'"),
        ("n like 'x'", "before 'like'"),
        ("text like n", "pattern in quotes"),
        ("n not 3", "followed by in, between or like"),
        ("lower(n) = 'x'", "must be a text"),
        ("n = 1 n = 2", "not expected"),
        ("n in 1", "'(' is missing"),
        ("text = 'open", "makes no sense"),
    ],
)
def test_what_cannot_be_read(text, words):
    with pytest.raises(BadCondition) as caught:
        rows(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="n text'\"()=<>andor12.5%*+-,;in", max_size=25))
def test_whatever_is_typed_is_a_condition_or_a_sentence(text):
    try:
        parse(text, open_table(FRAME).frame.collect_schema())
    except BadCondition as error:
        assert str(error).endswith((".", "?"))  # noqa: PT017


def test_a_condition_that_is_not_one_is_refused_by_audit():
    with pytest.raises(BadCondition, match="`when`"):
        audit(FRAME, stakeholder="text", time="n", when="n = ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(" * 3000 + "n > 0" + ")" * 3000, "more than 30 parentheses"),
        ("not " * 3000 + "n > 0", "more than 30 parentheses"),
        ("-" * 3000 + "n > 0", "more than 30 parentheses"),
        ("lower(" * 3000 + "text" + ")" * 3000 + " = 'a'", "more than 30 parentheses"),
        ("+".join(["n"] * 3000) + " > 0", "more than 100 operations lie inside each other"),
        (" or ".join(["n > 0"] * 3000), "more than 1,000 operations"),
        ("n < " + "9" * 5000, "999999999999… is a whole number of more than 64 bits"),
        ("n < 9223372036854775808", "9223372036854775808 is a whole number of more than 64 bits"),
        ("n > -9223372036854775809", "-9223372036854775809 is a whole number of more than 64"),
        ("n < 1e400", "1e400 is too large"),
        ("text = '" + "a" * 100_000 + "'", "at most 100,000 are read"),
        ("text like '" + "_" * 1001 + "'", "the pattern after 'like' is longer than 1,000"),
        ("day > '0001-01-01T00:00:00+14:00'", "is not a date such as"),
        ("day > '20210-01-01'", "'20210-01-01' is not a date"),
        ("day > 'infinity'", "'infinity' is not a date"),
    ],
)
def test_what_is_too_much_is_refused_in_a_sentence(text, words):
    with pytest.raises(BadCondition) as caught:
        rows(text)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600  # however long the expression is


@pytest.mark.parametrize(
    "text",
    [
        "(" * 30 + "n > 0" + ")" * 30,
        "not " * 30 + "n > 0",
        "+".join(["n"] * 98) + " > 0",
        " or ".join(f"n = {k}" for k in range(1, 300)),
        f"n in ({', '.join(map(str, range(5000)))})",
        "n > -9223372036854775808 and n < 9223372036854775807",
        "n < 1e308",
    ],
)
def test_what_is_much_but_not_too_much_is_read(text):
    assert rows(text) == [0, 1, 2]


def test_whole_numbers_are_compared_exactly_and_never_overflow():
    most, odd = 2**63 - 1, 2**53 + 1
    frame = open_table(pd.DataFrame({"m": [most, odd, odd - 1, -most - 1]})).frame
    schema = frame.collect_schema()

    def found(text):
        return {m for (m,) in frame.filter(parse(text, schema)).to_native().fetchall()}

    assert found(f"m = {odd}") == {odd}  # which as a float would be equal to the one below it
    assert found(f"m in ({odd}, {most})") == {odd, most}
    assert found(f"m = {-most - 1}") == {-most - 1}
    assert found("m + m > 0") == {most, odd, odd - 1}
    assert found("m * m > 1e37") == {most, -most - 1}
    assert found("-m > 0 and abs(m) > 0") == {-most - 1}


@pytest.mark.parametrize("text", ["'n' = 'A'", "not not ('A' = 'it''s')", "1 = 1", "true"])
def test_a_condition_that_names_no_column_is_refused(text):
    with pytest.raises(BadCondition, match=r"it names no column.*in single quotes is a text"):
        rows(text)
    assert rows(f"{text} or n = n")  # beside a column it is one like any other
