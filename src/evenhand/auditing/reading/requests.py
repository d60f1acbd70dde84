"""Who asked for how much, and when: in the rows of the log, or a log of requests of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand._util.moments import as_numbers, moment_label
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.counting import count
from evenhand.auditing.reading.events import read_events
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.timed_amounts import TimedAmounts
from evenhand.auditing.sources.open_source import opened
from evenhand.errors import BadLog, argument
from evenhand.fairness.unfairness import ROUNDING


def read_requests(options: AuditOptions) -> History | None:
    """A log of requests of its own, read as any log is; what it gives out is what was asked for."""
    if options.requests is None:
        return None
    alone = replace(
        options,
        amount=options.asked,
        asked=None,
        requests=None,
        entitlement=None,
        group=None,
        by="stakeholder",
        where=None,
        when=None,
        scheme=None,
        table=None,
    )
    with opened(options.requests, options.encoding, None, options.engine) as table:
        found = count(read_events(table, alone), Notes(), exact=True)
        for place in np.flatnonzero(found.amount < 0)[:1]:
            raise BadLog(
                f"{table.label} has a request below 0 ({found.amount[place]:g}, by "
                f"{found.names[found.who[place]]!r} at "
                f"{moment_label(found.slots[found.slot[place]])}): a request that was withdrawn "
                "is left out, so remove both rows."
            )
        return found


def asked_over_time(history: History, requests: History | None) -> TimedAmounts:
    """What each of a history's stakeholders has asked for; refused where service came first."""
    if requests is None:
        ledger = history.ledger("asked")
    else:
        if requests.plain_numbers != history.plain_numbers:
            kinds = ("dates", "plain numbers")
            raise BadLog(
                f"the times of the log are {kinds[history.plain_numbers]}, and those of "
                f"{argument('requests')} are {kinds[requests.plain_numbers]}: give times of one "
                "kind."
            )
        place = {name: k for k, name in enumerate(history.names)}
        known = np.array([place.get(name, -1) for name in requests.names])[requests.who]
        ledger = TimedAmounts(
            as_numbers(requests.slots)[requests.slot][known >= 0],
            known[known >= 0],
            requests.amount[known >= 0],
            len(history.names),
        )
    _refuse_unasked(history, ledger)
    return ledger


def _refuse_unasked(history: History, ledger: TimedAmounts) -> None:
    """Nobody can have received more than it had asked for by then."""
    asked, start = ledger.totals(), 0
    received = np.zeros(len(history.names))
    for rewards in history.rewards(np.arange(len(history.slots)), len(history.slots)):
        totals = received + np.cumsum(rewards, axis=0)
        known = asked.by(history.slots[start : start + len(rewards)])
        over = totals > known + ROUNDING * np.maximum(1.0, known)
        for row, who in np.argwhere(over)[:1]:
            raise BadLog(
                f"by {moment_label(history.slots[start + row])} {history.names[who]!r} had "
                f"received {totals[row, who]:g} and asked for {known[row, who]:g}: a request comes "
                f"no later than its service, so fix its time or its amount, or leave "
                f"{argument('asked' if 'asked' in history.beside else 'requests')} out."
            )
        received, start = totals[-1], start + len(rewards)
