"""Corrections of a log, which take back what somebody got, set off against what was given out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand._util.moments import moment_label
from evenhand._util.wording import format_number, pluralise
from evenhand.errors import BadLog
from evenhand.log.history import Lots
from evenhand.log.layout import Notes
from evenhand.log.log import Supply
from evenhand.log.requests import MET, open_amount


def set_off(supply: Supply, notes: Notes) -> Supply:
    """The supply without corrections: what they take back was not there to be given.

    It is taken from the largest lots of the same time point; if these are not enough, of the time
    points before it, the latest first.

    Args:
        supply: A supply in which lots may be below 0.
        notes: Where to note that there were corrections.
    """
    lots = supply.lots
    back = np.flatnonzero(lots.amount < 0)
    if not len(back):
        return supply
    slot, who, amount = (
        np.repeat(part, lots.copies) for part in (lots.slot, lots.who, lots.amount)
    )
    for place in back:
        _take(slot, amount, lots.slot[place], -lots.amount[place] * lots.copies[place], supply)
    kept = amount > 0
    settled = Lots(slot[kept], who[kept], amount[kept], np.ones(int(kept.sum()), dtype=np.int64))
    taken = -float((lots.amount * lots.copies)[back].sum())
    notes.add(
        f"{pluralise(len(back), 'correction')} ({format_number(taken)} in total) "
        f"{'was' if len(back) == 1 else 'were'} deducted from the largest lots of the same time, "
        "or of the time before: what was taken back was not there to be given."
    )
    return replace(supply, lots=settled)


def _take(slot: np.ndarray, amount: np.ndarray, at: int, much: float, supply: Supply) -> None:
    """Take so much from lots of a time point and, where that is not enough, of earlier ones."""
    rounding = MET * much
    able = np.flatnonzero((slot <= at) & (amount > 0))
    for place in able[np.lexsort((-amount[able], -slot[able]))]:
        part = min(much, amount[place])
        amount[place] = open_amount(amount[place], part)  # no lot of next to nothing is left
        much -= part
        if much <= rounding:
            return
    raise BadLog(
        f"by {moment_label(supply.moments[at])} the log takes more back than it had given out: "
        "check the sign of its amounts."
    )
