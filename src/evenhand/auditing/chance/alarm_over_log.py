"""Alarms over a log: the watch of a monitor, over what was written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.auditing.chance.alarm import AlarmWatch
from evenhand.auditing.chance.held_fixed import HeldFixed
from evenhand.auditing.chance.raised_alarm import AlarmFinding, RaisedAlarm
from evenhand.auditing.judging.supply import Supply


def watch_log(
    supply: Supply,
    alpha: float,
    group_of: Mapping[str, str],
    less_is_better: bool,
    shown: Sequence[str],
) -> AlarmFinding:
    """Watch a log as a monitor would have done.

    Args:
        supply: The lots of the log, and who was there.
        alpha: The probability of ever raising a false alarm.
        group_of: The groups of the stakeholders, where they have some.
        less_is_better: Whether to be behind is to receive more.
        shown: What each stakeholder is called.
    """
    slots = len(supply.moments)
    held = HeldFixed.of(supply, np.zeros(slots, dtype=np.int64), 1)
    moments = as_numbers(supply.moments)

    def odds_at(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return held.odds, held.pattern[np.searchsorted(moments, times)]

    known = bool(group_of) and all(name in group_of for name in supply.names)
    groups = [group_of[name] for name in supply.names] if known else None
    watch = AlarmWatch(shown, alpha, odds_at, groups, less_is_better)
    watch.take(moments[held.slot], held.who, held.amount)
    watch.close()
    plain = supply.moments.dtype.kind != "M"
    return AlarmFinding(
        alpha, watch.evidence, tuple(RaisedAlarm.of(one, plain) for one in watch.alarms)
    )
