"""Errors: fields that survive a process, and arguments named by whoever speaks."""

from __future__ import annotations

import pickle

import pytest

from evenhand.errors import (
    BadFile,
    BadParameter,
    DoesNotClose,
    MissingColumn,
    MissingKey,
    MissingPartParameter,
    NegativeStatus,
    StatusPlace,
    UnknownArgument,
    UnknownStakeholder,
    argument,
    argument_name,
    naming_arguments,
    shortened,
    visible,
)


@pytest.mark.parametrize(
    "error",
    [
        BadParameter("period is 0."),
        DoesNotClose("too many", size=7),
        MissingColumn(["a"], "log.csv", known=["b"], nearest=None, argument="amount"),
        MissingKey("a", known=["b"], nearest="b", argument="time"),
        MissingPartParameter("alpha_fair", "alpha", "welfare"),
        NegativeStatus(StatusPlace(1, 3), "is -5."),
        UnknownArgument("tme", "audit", nearest="time"),
        UnknownStakeholder("a", nearest="A", argument="only"),
    ],
)
def test_an_error_of_another_process_is_the_same_error(error):
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def test_a_status_is_named_by_place_or_by_name():
    error = NegativeStatus(StatusPlace(1, 3), "is -5.")
    assert str(error) == "the status of stakeholder 1 at time 3 is -5."
    assert error.place == (1, 3)
    assert str(error.about("the status of 'B' in March")) == "the status of 'B' in March is -5."


def test_whoever_speaks_names_the_arguments():
    assert (argument("every"), argument("every", 7), argument_name("every")) == (
        "`every`",
        "`every=7`",
        "every",
    )
    with naming_arguments(lambda name, *value: " ".join([f"--{name}", *map(str, value)])):
        assert (argument("every", 7), argument_name("every")) == ("--every 7", "--every")
        inside = str(UnknownStakeholder("a", nearest="A", argument="only"))
    assert inside == "--only names 'a', who is not in the log: did you mean 'A'?"
    assert argument("every") == "`every`"
    with pytest.raises(RuntimeError), naming_arguments(lambda name, *value: "x"):
        raise RuntimeError
    assert argument("every") == "`every`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("Łódź, Île\u00a0de\u202fFrance, 👩‍🔬, می\u200cخواهم", None),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text, expected):
    assert visible(text) == (text if expected is None else expected)


def test_a_long_name_is_shortened_in_the_middle():
    name = "a" * 1500 + "b" * 1500
    assert shortened(name, 60) == "a" * 30 + "…" + "b" * 29
    assert shortened(name[:60], 60) == name[:60]


@pytest.mark.parametrize(
    "name",
    ["folder/" * 3000 + "log.csv", "\0" * 5000, "many words " * 1000, "\udce9\n" * 3000],
    ids=["folders", "NULs", "words", "no Unicode"],
)
def test_a_sentence_is_one_line_of_one_screen_whatever_a_name_is(name):
    for error in (
        BadFile(f"there is no file {name!r}: check the name and the folder."),
        BadFile(f"there is no file {name}: check the name and the folder."),
        UnknownStakeholder(name, nearest=name, argument="only"),
        MissingColumn([name] * 9, name, known=[name] * 20, argument="amount"),
    ):
        sentence = str(error)
        assert len(sentence) <= 580
        assert sentence.isprintable()
        assert sentence.encode()
        assert "…" in sentence
    assert str(BadFile(f"no file {name}: check the folder.")).endswith(": check the folder.")
    assert UnknownStakeholder(name, nearest=None).name == name
