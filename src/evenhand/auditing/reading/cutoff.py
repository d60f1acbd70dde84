"""`--until`: the moment up to which a log is known to be whole, and beyond which it is cut."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from evenhand._util.wording import pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.reading.history import History
from evenhand.errors import BadLog, BadParameter


def read_until(value: Any, plain_numbers: bool) -> Any:
    """A day (its last moment) or a number, as the log's times are."""
    if value is None:
        return None
    if plain_numbers:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise BadParameter(
                f"--until is {value!r}, and the log's times are plain numbers: give a number."
            ) from None
    if isinstance(value, datetime.date | np.datetime64):
        value = str(value)
    try:
        moment = datetime.datetime.fromisoformat(str(value))
    except ValueError:
        raise BadParameter(f"--until is {value!r}: it must be a date such as 2021-03-31.") from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    found = np.datetime64(moment, "us")
    if found == found.astype("datetime64[D]"):
        found += np.timedelta64(1, "D") - np.timedelta64(1, "us")
    return found


def cut_history(history: History, until: Any, notes: Notes) -> History:
    """The history up to and including `until`; what comes after is counted in a note."""
    if until is None or not (history.slots > until).any():
        return history
    left = int((history.slots <= until).sum())
    if not left:
        raise BadLog("the log begins after --until: nothing is left to judge.")
    notes.add(f"{pluralise(len(history.slots) - left, 'time point')} after --until were left out.")
    return history.before(left)
