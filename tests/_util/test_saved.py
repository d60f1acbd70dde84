"""Saved JSON: every value has the type that was asked for, or a sentence names file and key."""

from __future__ import annotations

import pytest

from evenhand._util.saved import SavedRecord, parse_json, reading_saved
from evenhand._util.wording import short_repr
from evenhand.errors import BadFile, BadParameter

RECORD = SavedRecord(
    {
        "whole": 3,
        "number": 0.5,
        "text": "a",
        "flag": True,
        "list": [1, 2],
        "texts": ["a"],
        "table": {"inner": [{"deep": None}]},
        "infinite": float("inf"),
        "huge": 10**5000,
    },
    "a.run",
)


def test_values_of_the_type_that_was_asked_for():
    assert (RECORD.whole("whole"), RECORD.number("whole"), RECORD.number("number")) == (3, 3.0, 0.5)
    assert (RECORD.text("text"), RECORD.flag("flag"), RECORD.items("list")) == ("a", True, [1, 2])
    assert RECORD.texts("texts") == ["a"]
    assert RECORD.table("table").tables("inner")[0].value("deep") is None
    assert (RECORD.whole("none", default=7), RECORD.flag("none", default=False)) == (7, False)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: RECORD.whole("gone"), "it lacks 'gone'; make it anew."),
        (lambda: RECORD.whole("text"), "'text' is 'a', and must be a whole number."),
        (lambda: RECORD.whole("flag"), "'flag' is True, and must be a whole number."),
        (lambda: RECORD.whole("whole", 4, 9), "'whole' is 3, and must be a whole number from 4"),
        (lambda: RECORD.whole("huge"), "'huge' is a number of 5,001 digits, and must be"),
        (lambda: RECORD.number("infinite"), "'infinite' is inf, and must be a finite number."),
        (
            lambda: RECORD.number("huge"),
            "'huge' is a number of 5,001 digits, and must be a finite number.",
        ),
        (lambda: RECORD.number("flag"), "'flag' is True, and must be a finite number."),
        (lambda: RECORD.flag("whole"), "'whole' is 3, and must be true or false."),
        (lambda: RECORD.text("list"), "'list' is a list, and must be a text."),
        (lambda: RECORD.texts("list"), "'list.0' is 1, and must be a text."),
        (lambda: RECORD.items("table"), "'table' is a table, and must be a list."),
        (lambda: RECORD.table("list"), "'list' is a list, and must be a table of names"),
        (
            lambda: RECORD.table("table").tables("inner")[0].flag("deep"),
            "'table.inner.0.deep' is None, and must be true or false.",
        ),
        (lambda: RECORD.require_only(["whole"]), "'number' is nothing that this version"),
        (lambda: SavedRecord([], "a.run"), "what it holds is a list, and must be a table"),
    ],
)
def test_another_type_is_refused_in_a_sentence(ask, sentence):
    with pytest.raises(BadFile, match=f"^a.run cannot be read: {sentence}"):
        ask()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 10_000 + "]" * 10_000, r"nested deeper than any plan .*64 levels"),
        ("[" * 65 + "]" * 65, "nested deeper than any plan"),
        ('{"a": {"b": 1, "b": 1}}', "has the key 'b' twice"),
        ("{", "not a plan that evenhand wrote, or was cut short"),
        (b"\xff\xfe{", "not a plan that evenhand wrote"),
        ("", "not a plan that evenhand wrote"),
        ("1" * 5000, "not a plan that evenhand wrote"),
    ],
)
def test_json_that_makes_no_sense_is_refused(text, sentence):
    with pytest.raises(BadFile, match=f"^a.plan .*{sentence}|^a.plan is {sentence}"):
        parse_json(text, "a.plan", "plan")


def test_json_that_makes_sense_is_read():
    assert parse_json("[" * 64 + "]" * 64, "a", "plan") is not None
    assert parse_json('{"a": [1, null]}', "a", "plan") == {"a": [1, None]}


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (BadFile("no."), "a.plan cannot be read as a plan: no."),
        (BadFile("a.plan says no."), "a.plan says no."),
        (BadParameter("horizon is 0."), "a.plan cannot be read as a plan: horizon is 0."),
        (MemoryError(), "more memory than there is"),
        (KeyError("x"), "values that do not fit together"),
        (OverflowError("x"), "values that do not fit together"),
        (RecursionError(), "values that do not fit together"),
    ],
)
def test_what_goes_wrong_is_said_of_the_file(error, sentence):
    with pytest.raises(BadFile, match=sentence), reading_saved("a.plan", "plan"):
        raise error


def test_what_is_no_matter_of_the_file_is_let_through():
    with pytest.raises(KeyboardInterrupt), reading_saved("a.plan", "plan"):
        raise KeyboardInterrupt


def test_values_never_fill_the_screen():
    assert len(short_repr("x" * 10**6)) == 60
    assert len(short_repr(["x" * 10**6])) <= 60
    assert short_repr(-(10**5000)) == "a number of 5,001 digits"
