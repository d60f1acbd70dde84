"""Numbers and names in sentences."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from evenhand._util.wording import ALIKE, format_number, join_names, join_tied, tell_apart

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
