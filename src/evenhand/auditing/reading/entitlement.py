"""What each is entitled to: a column of the log, or a table of two columns (population, need)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from evenhand._util.wording import join_names, pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.reading.events import LogEvents
from evenhand.auditing.reading.values import read_numbers
from evenhand.auditing.sources.engines import fetch
from evenhand.auditing.sources.open_source import open_table
from evenhand.errors import BadRoster, ZeroEntitlement, argument


def of_column(events: LogEvents, notes: Notes) -> dict[str, float]:
    """One number per stakeholder; where it changes over time, the latest."""
    given = events.frame.filter(~nw.col("entitled").is_null())
    low, high = nw.col("entitled").min(), nw.col("entitled").max()
    found = fetch(given.group_by("who").agg(low=low, high=high, latest=nw.col("at").max()))
    changed = found["low"] != found["high"]
    values = dict(zip(map(str, found["who"]), found["high"].tolist(), strict=True))
    if changed.any():
        latest = given.with_columns(latest=nw.col("at").max().over("who"))
        latest = latest.filter(nw.col("at") == nw.col("latest"))
        last = fetch(latest.group_by("who").agg(high=nw.col("entitled").max()))
        values |= dict(zip(map(str, last["who"]), last["high"].tolist(), strict=True))
        count = int(changed.sum())
        notes.add(
            f"The entitlement of {pluralise(count, 'stakeholder')} changes over time: the latest "
            "is used for the whole log."
        )
    return values


def of_table(source: Any, stakeholder: str, encoding: str = "utf-8") -> dict[str, float]:
    """From a table with a column of names and a column of numbers, or from a mapping."""
    if isinstance(source, Mapping):
        return {str(name): float(value) for name, value in source.items()}
    table = open_table(source, encoding)
    if len(table.columns) != 2:
        raise BadRoster(
            f"{table.label} has {len(table.columns)} columns: a table of entitlements has two, "
            "the name and the number."
        )
    name = stakeholder if stakeholder in table.columns else table.columns[0]
    table.refuse_doubled(name, "entitlement")
    number = next(column for column in table.columns if column != name)
    typed = read_numbers(table.load([name, number], as_text=[name, number]).frame, number)
    found = fetch(typed.frame.with_columns(nw.col(name).cast(nw.String)))
    names = [str(who) for who in found[name]]
    if len(set(names)) != len(names):
        twice = next(who for who in names if names.count(who) > 1)
        raise BadRoster(f"{table.label} names {twice!r} twice: one row each.")
    return dict(zip(names, found[number].tolist(), strict=True))


def in_order(entitlements: Mapping[str, float], names: tuple[str, ...]) -> np.ndarray:
    """One positive number for each name, or an error that says whose is missing or zero."""
    missing = [name for name in names if not np.isfinite(entitlements.get(name, np.nan))]
    if missing:
        raise BadRoster(
            f"no entitlement is given for {join_names([repr(n) for n in missing], 3)}: add "
            f"{'it' if len(missing) == 1 else 'them'}, or leave "
            f"{'that stakeholder' if len(missing) == 1 else 'those stakeholders'} out with "
            f"{argument('exclude')}."
        )
    for name in names:
        if entitlements[name] <= 0:
            raise ZeroEntitlement(
                f"the entitlement of {name!r} is {entitlements[name]:g}: it must be positive; "
                f"leave out those who are entitled to nothing with {argument('exclude')}."
            )
    return np.array([entitlements[name] for name in names])
