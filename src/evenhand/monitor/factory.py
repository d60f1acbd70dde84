"""A monitor from the options of the command line."""

from __future__ import annotations

from typing import Any

from evenhand.auditing.judging.options import Ask
from evenhand.auditing.reading import entitlement as entitling
from evenhand.auditing.reading.roster import read_roster
from evenhand.errors import BadParameter
from evenhand.fairness.status import PerEntitlement
from evenhand.monitor.json_reader import Keys, Reader
from evenhand.monitor.monitor import Monitor


def make_monitor(
    *,
    names: tuple[str, ...],
    roster: Any,
    keys: tuple[str, str, str | None, str | None],
    entitlement: Any,
    ask: dict[str, Any],
    thresholds: tuple[float | None, float | None],
    strict: bool,
) -> tuple[Monitor, Reader]:
    """The monitor, and the reader that feeds it."""
    asked = Ask(**ask)
    if bool(names) == (roster is not None):
        raise BadParameter(
            "say whom to watch over, with --name for each or with --roster FILE (not both): "
            "whoever has received nothing yet is in no event."
        )
    people = read_roster(names or roster, keys[0], None, None, "utf-8")
    # In the order of an audit, so that the two can be laid side by side.
    ordered = tuple(sorted(people.names))
    status = asked.status()
    if entitlement is not None:
        given = entitling.of_table(entitlement, keys[0], "utf-8")
        shares = entitling.in_order(given, ordered)
        status = PerEntitlement(tuple(shares.tolist()), of=status)
    question = asked.question()
    scheme = asked.schemes(status, question)[0]
    monitor = Monitor(scheme, ordered, question, people, *thresholds)
    return monitor, Reader(Keys(*keys), ordered, strict)
