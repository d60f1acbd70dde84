"""How long each stakeholder waited at most: between receipts, or from request to service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.log.history import TimedAmounts
from evenhand.log.log import Supply
from evenhand.log.requests import most_with

if TYPE_CHECKING:
    from jaxtyping import Float

    from evenhand.decide.replay.replay_supply import Decisions


def longest_waits(supply: Supply, given: Decisions) -> Float[np.ndarray, " stakeholder"]:
    """The longest time each went without, while it was there; NaN if it never was.

    With requests it is the longest from a request until that was met in full, the oldest first, or
    until the end of the log if it never was.

    Args:
        supply: The times, who was there, and the requests.
        given: What each got at each time point.
    """
    moments = as_numbers(supply.moments)
    first, last = supply.bounds()
    begins, ends = np.maximum(first, moments[0]), np.minimum(last, moments[-1])
    if "asked" in supply.beside:
        return _until_met(supply.beside["asked"], moments[given.slot], given, ends)
    return _without(moments[given.slot], given, begins, ends)


def _without(
    at: np.ndarray, given: Decisions, begins: np.ndarray, ends: np.ndarray
) -> Float[np.ndarray, " stakeholder"]:
    """The longest stretch between two receipts, the beginning and the end of a stay."""
    everyone = np.arange(len(begins))
    got = given.amount > 0
    who = np.concatenate((everyone, given.who[got], everyone))
    when = np.concatenate((begins, at[got], ends))
    order = np.lexsort((when, who))
    who, when = who[order], when[order]
    gaps = np.where(np.diff(who) == 0, np.diff(when), -np.inf)
    longest = np.full(len(begins), -np.inf)
    np.maximum.at(longest, who[1:], gaps)
    return np.where(ends >= begins, longest, np.nan)


def _until_met(
    asked: TimedAmounts, at: np.ndarray, given: Decisions, ends: np.ndarray
) -> Float[np.ndarray, " stakeholder"]:
    """The longest from a request until what was received by then covers it."""
    longest = np.full(len(ends), np.nan)
    requests, receipts = _by_stakeholder(asked.who), _by_stakeholder(given.who)
    for who, rows in requests.items():
        rows = rows[asked.amount[rows] > 0]
        if not len(rows):
            continue
        wanted = np.cumsum(asked.amount[rows])
        own = receipts.get(who, rows[:0])
        had = np.cumsum(given.amount[own])
        place = np.searchsorted(most_with(had), wanted)
        met = np.append(at[own], ends[who])[place]
        longest[who] = np.max(np.maximum(met, asked.at[rows]) - asked.at[rows])
    return longest


def _by_stakeholder(who: np.ndarray) -> dict[int, np.ndarray]:
    """The rows of each, in order of time."""
    order = np.argsort(who, kind="stable")
    found, starts = np.unique(who[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True))
