"""Marks in place of numbers, and what they can hide."""

from __future__ import annotations

import pytest

from evenhand.auditing.hidden_marks import HiddenMark, common_mark, mark_of, read_marks
from evenhand.errors import BadParameter


@pytest.mark.parametrize(
    ("text", "lowest", "whole", "any_number"),
    [
        ("<5", 0, 4, 5),
        ("< 10", 0, 9, 10),
        ("fewer than 3", 0, 2, 3),
        ("≤4", 0, 4, 4),
        ("up to 4", 0, 4, 4),
        ("1-4", 1, 4, 4),
        ("1 to 4", 1, 4, 4),
        ("<0.5", 0, 0, 0.5),
        (">95", 95, None, None),
        ("*", None, None, None),
        ("[c]", None, None, None),
        ("#N/A", None, None, None),
    ],
)
def test_what_a_mark_can_hide(text, lowest, whole, any_number):
    mark = common_mark(text)
    assert (mark.lowest, mark.most(True), mark.most(False)) == (lowest, whole, any_number)


@pytest.mark.parametrize("text", ["five", "12", "C3", "", "4-1", "<", "<x"])
def test_what_is_not_a_mark(text):
    assert common_mark(text) is None


def test_marks_as_users_name_them():
    assert read_marks("*") == read_marks(["*"]) == (HiddenMark("*"),)
    assert read_marks({"x": (1, 4)}) == read_marks(["x=1-4"]) == (HiddenMark("x", 1.0, 4.0),)
    assert read_marks(["a=b"]) == (HiddenMark("a=b"),)
    assert read_marks("<5") == (common_mark("<5"),)
    assert mark_of("-9.0", read_marks("-9")) == HiddenMark("-9")
    assert mark_of("<5", read_marks("<5=1-4")).most(whole=True) == 4


@pytest.mark.parametrize("given", ["", " ", "x=5-1", 7])
def test_a_mark_that_is_none(given):
    with pytest.raises(BadParameter, match="`missing` is"):
        read_marks(given)
