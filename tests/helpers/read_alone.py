"""What tests of how a log is read ask: the rows that count, or an answer without chance."""

from __future__ import annotations

import functools
from typing import NamedTuple

import evenhand
from evenhand._util.numbers import moment_label
from evenhand.log.counting import HiddenRows, hidden_over_time
from evenhand.log.engines import fetch
from evenhand.log.files import opened
from evenhand.log.options import AuditOptions
from evenhand.log.rows import read_events

audit = functools.partial(evenhand.audit, chance=False)


class LogRows(NamedTuple):
    """The rows of a log as they count: (time, stakeholder, amount), in order."""

    rows: list[tuple[str, str, float | None]]
    notes: str
    label: str
    hidden: HiddenRows | None  # suppressed amounts


def rows_read(log, **how) -> LogRows:
    """What an audit is of, without judging it, which takes as long again."""
    options = AuditOptions(**how)
    with opened(log, options.encoding, options.table, options.engine, options.layout) as table:
        events = read_events(table, options)
        over_time = hidden_over_time(events)
        found = fetch(events.frame.select("at", "who", "amount"))
    columns = zip(found["at"], found["who"], found["amount"], strict=True)
    rows = [
        (moment_label(at), str(who), None if amount != amount else float(amount))
        for at, who, amount in columns
    ]
    notes = " ".join((*table.notes, *events.notes))
    hidden = None if over_time is None else over_time.between()
    return LogRows(sorted(rows, key=repr), notes, table.label, hidden)
