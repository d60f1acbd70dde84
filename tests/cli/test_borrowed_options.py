"""Options that one command takes of another: the same, in the help too."""

from __future__ import annotations

import inspect

from evenhand.cli.audit import audit_command
from evenhand.cli.replay import READING, replay_command


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
