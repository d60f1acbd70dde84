"""Whatever pydantic says of the types that options and requests have, plain words stand for it."""

from typing import Annotated, Literal

import pydantic
import pytest
from pydantic import Field, TypeAdapter

from evenhand._util.expected_form import expected_form


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
