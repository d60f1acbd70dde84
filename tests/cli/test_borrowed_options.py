"""Options that one command takes of another: the same, in the help too."""

from __future__ import annotations

import inspect
from dataclasses import fields

from evenhand.cli.audit import audit_command
from evenhand.cli.borrowed_options import borrow_options
from evenhand.cli.judging_options import judging_options
from evenhand.cli.reading_options import reading_options
from evenhand.cli.replay import READING, replay_command
from evenhand.log.options import AuditOptions


def test_borrowed_options_are_those_of_the_lender():
    lent = inspect.signature(audit_command, eval_str=True).parameters
    own = inspect.signature(replay_command).parameters
    assert set(READING) <= set(own)
    for name in READING:
        mine, theirs = own[name].annotation, lent[name].annotation
        assert mine.__origin__ == theirs.__origin__
        assert vars(mine.__metadata__[0]) == vars(theirs.__metadata__[0])
        assert own[name].default == lent[name].default
    assert "reading" not in own


def test_an_audit_has_an_option_for_each_argument_of_the_library():
    """So that what was given can be handed on by name, and nothing is forgotten on the way."""
    declared = [*inspect.signature(reading_options).parameters]
    declared += inspect.signature(judging_options).parameters
    assert sorted(declared) == sorted(one.name for one in fields(AuditOptions))


def test_all_are_borrowed_by_default_and_come_after_what_is_required():
    def lender(one: int = 1, two: str = "2") -> None: ...

    @borrow_options(lender, into="given")
    def command(log: str, given: dict[str, object], last: bool = False) -> object:
        return log, given, last

    assert [*inspect.signature(command).parameters] == ["log", "one", "two", "last"]
    assert command(log="a", one=3, two="b", last=True) == ("a", {"one": 3, "two": "b"}, True)
