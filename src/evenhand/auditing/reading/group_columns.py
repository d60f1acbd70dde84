"""Which group each stakeholder belongs to, read from the log and the roster."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw

from evenhand._util.wording import join_names
from evenhand.auditing.reading.events import LogEvents
from evenhand.auditing.sources.engines import fetch
from evenhand.errors import EmptyGroup
from evenhand.fairness.groups import Groups


def read_groups(events: LogEvents, known: Mapping[str, str]) -> dict[str, str]:
    """The group of each stakeholder; one who is in two is an error."""
    column = nw.col("group")
    given = events.frame.filter(~column.is_null())
    found = fetch(given.group_by("who").agg(low=column.min(), high=column.max()).sort("who"))
    for who, low, high in zip(found["who"], found["low"], found["high"], strict=True):
        if low != high:
            raise EmptyGroup(
                f"{str(who)!r} is in two groups ({str(low)!r} and {str(high)!r}): one group each, "
                "so make the group part of the name or choose with --where."
            )
    return dict(known) | dict(zip(map(str, found["who"]), map(str, found["low"]), strict=True))


def as_groups(group_of: Mapping[str, str], names: tuple[str, ...]) -> Groups:
    """The groups, in alphabetical order, as indices into the names."""
    missing = [name for name in names if name not in group_of]
    if missing:
        raise EmptyGroup(
            f"no group is known for {join_names([repr(name) for name in missing], 3)}: fill in the "
            "column, in the log or on the roster, or leave them out with --exclude."
        )
    members: dict[str, list[int]] = {name: [] for name in sorted(set(group_of.values()))}
    for place, name in enumerate(names):
        members[group_of[name]].append(place)
    return Groups.of({name: part for name, part in members.items() if part})
