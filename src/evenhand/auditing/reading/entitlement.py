"""What each is entitled to: a column of the log, or a table of two columns (population, need)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import narwhals as nw
import numpy as np

from evenhand._util.checks import first_repeated
from evenhand._util.moments import as_numbers, moment_label
from evenhand._util.wording import join_names, short_repr
from evenhand.auditing.reading.events import LogEvents
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.name_spellings import plain_name
from evenhand.auditing.reading.roster import Roster, presence
from evenhand.auditing.reading.timed_amounts import TimedAmounts
from evenhand.auditing.reading.values import Writing, read_numbers
from evenhand.auditing.sources.engines import fetch
from evenhand.auditing.sources.open_source import open_table
from evenhand.errors import BadRoster, ZeroEntitlement, argument


def of_column(history: History) -> dict[str, float]:
    """The latest number of each stakeholder."""
    known = ~np.isnan(history.beside["entitled"])
    latest = dict(zip(history.who[known].tolist(), history.beside["entitled"][known], strict=True))
    return {history.names[who]: float(value) for who, value in latest.items()}


def highest(history: History) -> dict[str, float]:
    """The highest number of each stakeholder."""
    entitled = history.beside["entitled"]
    known = ~np.isnan(entitled)
    most = np.full(len(history.names), -np.inf)
    np.maximum.at(most, history.who[known], entitled[known])
    return {history.names[k]: float(most[k]) for k in np.flatnonzero(np.isfinite(most))}


def of_rows(events: LogEvents, names: Collection[str]) -> dict[str, float]:
    """The numbers of those who have no event, as all of their amounts are empty or suppressed."""
    if not names:
        return {}
    rows = events.frame.filter(nw.col("who").is_in(list(names)))
    found = fetch(rows.group_by("who").agg(entitled=nw.col("entitled").max()))
    known = zip(map(str, found["who"]), found["entitled"].tolist(), strict=True)
    return {name: value for name, value in known if value == value}


def over_time(
    whole: History, history: History, roster: Roster | None, shares: np.ndarray
) -> dict[str, TimedAmounts]:
    """The entitlements as they change, if any does; each counts as of each moment.

    Where somebody's never changes it holds for the whole log, and so does that of somebody who has
    no event (in `shares`). What is said of the whole log counts, also before the part of its
    history that is judged.
    """
    ledger = whole.ledger("entitled")
    known = ~np.isnan(ledger.amount)
    at, who, amount = ledger.at[known], ledger.who[known], ledger.amount[known]
    size = len(history.names)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, who, amount)
    np.maximum.at(high, who, amount)
    if not (low < high).any():
        return {}
    _refuse_zero(low, history.names)
    begins = np.full(size, np.inf)
    np.minimum.at(begins, who, at)
    _refuse_unknown(whole, history, roster, begins, changes=low < high)
    # Those that never change are known from before the first moment.
    silent = low > high  # no event says it
    always = np.flatnonzero((low == high) | silent)
    return {
        "entitled": TimedAmounts(
            np.concatenate((np.full(len(always), -np.inf), at)),
            np.concatenate((always, who)),
            np.concatenate((np.where(silent, shares, low)[always], amount)),
            size,
        )
    }


def _refuse_unknown(
    whole: History,
    history: History,
    roster: Roster | None,
    begins: np.ndarray,
    changes: np.ndarray,
) -> None:
    """Whoever is judged before the first value of an entitlement that changes has none yet."""
    here = presence(roster, history.names, history.slots)
    moments = as_numbers(history.slots)
    first = np.full(len(history.names), moments[0])
    if here is not None:
        first = np.where(here.any(axis=0), moments[here.argmax(axis=0)], np.inf)
    for place in np.flatnonzero(changes & (first < begins))[:1]:
        known = whole.slots[int(np.searchsorted(as_numbers(whole.slots), begins[place]))]
        raise BadRoster(
            f"the entitlement of {history.names[place]!r} changes over time and is not known "
            f"before {moment_label(known)}, but it is judged from "
            f"{moment_label(history.slots[int(np.searchsorted(moments, first[place]))])} on: give "
            f"it a value from the start, or a date from which it is there with "
            f"{argument('roster')}."
        )


def _refuse_zero(low: np.ndarray, names: tuple[str, ...]) -> None:
    for place in np.flatnonzero(low <= 0)[:1]:
        raise ZeroEntitlement(
            f"the entitlement of {names[place]!r} is {low[place]:g}: it must be positive; "
            f"leave out those who are entitled to nothing with {argument('exclude')}."
        )


def of_table(
    source: Any, stakeholder: str, encoding: str = "utf-8", decimal: str | None = None
) -> dict[str, float]:
    """From a table with a column of names and a column of numbers, or from a mapping.

    Args:
        source: The table, or where it is.
        stakeholder: The column of names, where it has that column; else it is the first.
        encoding: How text files are written.
        decimal: The sign before the fraction, if the user says it.
    """
    if isinstance(source, Mapping):
        return {str(name): _number(name, value) for name, value in source.items()}
    table = open_table(source, encoding)
    if len(table.columns) != 2:
        raise BadRoster(
            f"{table.label} has {len(table.columns)} columns: a table of entitlements has two, "
            "the name and the number."
        )
    name = stakeholder if stakeholder in table.columns else table.columns[0]
    table.refuse_doubled(name, "entitlement")
    number = next(column for column in table.columns if column != name)
    loaded = table.load([name, number], as_text=[name, number])
    typed = read_numbers(loaded.frame, number, Writing(decimal=decimal))
    found = fetch(typed.frame.with_columns(nw.col(name).cast(nw.String)))
    names = [str(who) for who in found[name]]
    twice = first_repeated(names)
    if twice is not None:
        raise BadRoster(f"{table.label} names {twice!r} twice: one row each.")
    return dict(zip(names, found[number].tolist(), strict=True))


def _number(name: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadRoster(
            f"the entitlement of {short_repr(str(name))} is {short_repr(value)}: it must be a "
            "number above 0."
        ) from None


def _if_written_otherwise(missing: list[str], entitlements: Mapping[str, float]) -> str:
    """What to do where a name is there, but in other capitals, spaces or accents."""
    known = {plain_name(name): name for name in entitlements}
    for name in missing:
        if plain_name(name) in known:
            return (
                f"; {name!r} may be {known[plain_name(name)]!r}, written otherwise: "
                f"{argument('merge_names')} takes such names as one"
            )
    return ""


def in_order(entitlements: Mapping[str, float], names: tuple[str, ...]) -> np.ndarray:
    """One positive number for each name, or an error that says whose is missing or zero."""
    missing = [name for name in names if not np.isfinite(entitlements.get(name, np.nan))]
    if missing:
        raise BadRoster(
            f"no entitlement is given for {join_names([repr(n) for n in missing], 12)}: add "
            f"{'it' if len(missing) == 1 else 'them'}, or leave "
            f"{'that stakeholder' if len(missing) == 1 else 'those stakeholders'} out with "
            f"{argument('exclude')}{_if_written_otherwise(missing, entitlements)}."
        )
    values = np.array([entitlements[name] for name in names])
    _refuse_zero(values, names)
    return values
