"""Errors: fields that survive a process, and arguments named by whoever speaks."""

from __future__ import annotations

import pickle

import pytest

from evenhand.errors import (
    BadParameter,
    DoesNotClose,
    MissingColumn,
    MissingKey,
    MissingPartParameter,
    NegativeStatus,
    StatusPlace,
    UnknownStakeholder,
    argument,
    argument_name,
    naming_arguments,
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
