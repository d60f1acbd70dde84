"""A monitor from options, and the reader that feeds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.auditing.chance.nulls import OddsOverTime
from evenhand.auditing.questions import question_of
from evenhand.errors import BadParameter, argument
from evenhand.fairness.status import PerEntitlement, Status, WithCredit, read_beside
from evenhand.log import people as entitling
from evenhand.log.history import Roster
from evenhand.log.options import SchemeOptions
from evenhand.log.people import read_roster
from evenhand.monitor.chance_alarms import Alarms
from evenhand.monitor.json_reader import Keys, Reader
from evenhand.monitor.monitor import Monitor


def make_monitor(
    options: SchemeOptions,
    *,
    names: tuple[str, ...] = (),
    roster: Any = None,
    entitlement: Any = None,
    group: str | None = None,
    keys: Keys = Keys(),
    strict: bool = False,
) -> tuple[Monitor, Reader]:
    """The monitor, and the reader that feeds it.

    Args:
        options: When to look, how to judge, and the limits beyond which there is an alert.
        names: All stakeholders, or else
        roster: a table of them or its path, with columns from and until if they come and go.
        entitlement: What each is entitled to: a mapping, or a table of two columns or its path.
        group: The column of the roster that says to which group each belongs: an alarm is then
            raised for groups too.
        keys: What the parts of an event are called in its JSON object.
        strict: Whether a bad line is an error, or left out and counted.
    """
    if bool(names) == (roster is not None):
        raise BadParameter(
            f"say who is to be watched, with {argument('names')} or with {argument('roster')} (not "
            "both): those who have received nothing yet are in no event."
        )
    people = read_roster(names or roster, keys.stakeholder, group)
    # In the order of an audit, so that the two can be laid side by side.
    ordered = tuple(sorted(people.names))
    status = options.status()
    own = read_beside(status)
    if own is not None:
        raise BadParameter(
            f"the scheme's status needs {own.needs}, which a monitor does not know: choose "
            "another status, or audit a log of the events."
        )
    if options.unweighted and entitlement is None:
        raise BadParameter(
            f"{argument('unweighted')} counts all alike whatever they are entitled to, and nothing "
            f"says what that is: give {argument('entitlement')}, or leave it out."
        )
    shares = None
    if entitlement is not None:
        given = entitling.of_table(entitlement, keys.stakeholder)
        shares = entitling.in_order(given, ordered)
        status = PerEntitlement(tuple(shares.tolist()), not options.unweighted, of=status)
    status = options.directed(status)
    begins = _beginning(options, status, people)
    if begins != "zero":
        status = WithCredit(of=status)
    question = question_of(options)
    scheme = options.schemes(status, question.filter)[0]
    monitor = Monitor(
        scheme,
        ordered,
        question,
        people,
        max_unfairness=options.max_unfairness,
        min_score=options.min_score,
        tolerance=options.tolerance,
        newcomers=begins,
        alarms=_alarms(options, people, ordered, shares, group, status.negated),
    )
    return monitor, Reader(keys, ordered, strict, question.period)


def _beginning(options: SchemeOptions, status: Status, roster: Roster) -> str:
    """Where those begin who join later, as in an audit."""
    if options.newcomers == "by-time":
        raise BadParameter(
            f"{argument('newcomers', 'by-time')} is not watched step by step: choose another rule, "
            "or audit a log of the events."
        )
    if options.newcomers is not None and not roster.first:
        raise BadParameter(
            f"{argument('newcomers')} says where those begin who join later, and nothing says from "
            f"when anybody is there: give {argument('roster')} with a column 'from', or leave it "
            "out."
        )
    if not roster.first or not status.is_sum:  # nobody joins, or nobody can be given a beginning
        return "zero"
    return options.newcomers or "mean"


def _alarms(
    options: SchemeOptions,
    people: Roster,
    names: tuple[str, ...],
    shares: np.ndarray | None,
    group: str | None,
    less_is_better: bool,
) -> Alarms | None:
    """What raises alarms, if any are asked for."""
    if options.alarm is None:
        if group is not None:
            raise BadParameter(
                f"{argument('group')} is for alarms: say with {argument('alarm')} how often one "
                "may be false, or leave it out."
            )
        return None
    if group is not None and not all(name in people.groups for name in names):
        raise BadParameter(
            f"{argument('group')} is {group!r}, and the roster does not say there of everyone to "
            "which group they belong: fill it in, or leave it out."
        )
    groups = None if group is None else [people.groups[name] for name in names]
    odds = OddsOverTime(names, shares, people)
    return Alarms(names, options.alarm, odds, groups, less_is_better)
