"""Tests of _util.wording."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter

from evenhand._util.wording import (
    ALIKE,
    expected_form,
    format_number,
    join_names,
    join_tied,
    tell_apart,
)

# Whatever pydantic says of the types that options and requests have, plain words stand for it.


class Sent(pydantic.BaseModel):
    name: str


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (int, "x", "a whole number"),
        (int, 1.5, "a whole number"),
        (int, None, "a whole number"),
        (int, "9" * 5000, "a whole number of fewer digits"),
        (float, "x", "a number"),
        (float, [], "a number"),
        (Annotated[float, Field(allow_inf_nan=False)], "nan", "a finite number"),
        (bool, "perhaps", "true or false"),
        (str, 3, "a text"),
        (list[int], 3, "a list"),
        (dict[str, int], 3, "an object of fields"),
        (Sent, 3, "an object of fields"),
        (Annotated[int, Field(ge=1000)], 3, "at least 1,000"),
        (Annotated[float, Field(gt=0)], 0, "more than 0"),
        (Annotated[float, Field(le=1e9)], 2e9, "at most 1,000,000,000"),
        (Annotated[float, Field(lt=1)], 1, "less than 1"),
        (Annotated[str, Field(min_length=1)], "", "1 or more characters long"),
        (Annotated[str, Field(max_length=2)], "abc", "2 or fewer characters long"),
        (Annotated[list[int], Field(min_length=2)], [1], "2 or more items long"),
        (Annotated[list[int], Field(max_length=1)], [1, 2], "1 or fewer items long"),
        (Literal["a", "b"], "c", "'a' or 'b'"),
    ],
)
def test_in_plain_words(kind, value, words):
    with pytest.raises(pydantic.ValidationError) as refused:
        TypeAdapter(kind).validate_python(value)
    assert expected_form(refused.value.errors()[0]) == words


def test_what_is_not_foreseen_is_left_to_others():
    with pytest.raises(pydantic.ValidationError) as refused:
        TypeAdapter(Annotated[str, Field(pattern="^a+$")]).validate_python("b")
    assert expected_form(refused.value.errors()[0]) is None


# Numbers and names in sentences.

numbers = st.floats(-1e12, 1e12, allow_nan=False)


@given(numbers, numbers)
def test_numbers_that_differ_are_written_differently_and_right(one, other):
    texts = tell_apart(one, other)
    if abs(one - other) > ALIKE * max(abs(one), abs(other)):
        assert texts[0] != texts[1]
    for value, text in zip((one, other), texts, strict=True):
        read = float(text.replace("−", "-").replace(",", ""))
        assert abs(read - value) <= max(0.5, 0.005 * abs(value))


@given(numbers, st.floats(1e-8, 1e-3))
def test_numbers_that_are_close_are_written_differently(one, step):
    other = one * (1 + step)
    assume(abs(one - other) > ALIKE * max(abs(one), abs(other)))
    assert len(set(tell_apart(one, other))) == 2


def test_numbers_that_differ_already_have_no_more_digits():
    assert tell_apart(1.5, 2.25) == (format_number(1.5), format_number(2.25))
    assert tell_apart(3.0, 3.0) == ("3", "3")


def test_a_name_with_a_comma_is_in_quotes():
    assert join_names(["Washington, DC", "Ohio"]) == "“Washington, DC” and Ohio"
    assert join_names(["'a, b'", "c"]) == "'a, b' and c"  # it has quotes already
    assert join_tied(["A, 1", "B", "C", "D"]) == "“A, 1”, B and 2 others"
    assert join_tied(["A, 1"]) == "“A, 1”"
