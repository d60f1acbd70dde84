"""Who asked for how much, and when; what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers, moment_label
from evenhand._util.wording import format_number, pluralise
from evenhand.errors import BadCondition, BadLog, argument
from evenhand.log.cells import Writing
from evenhand.log.counting import count_beside
from evenhand.log.files import LogTable, opened
from evenhand.log.history import History, TimedAmounts, most_with, open_amount
from evenhand.log.layout import Notes
from evenhand.log.options import AuditOptions
from evenhand.log.rows import LogEvents, read_events, require_column, writing_beside

if TYPE_CHECKING:
    from jaxtyping import Float


# Who asked for how much, and when: in the rows of the log, or a log of requests of its own.


def read_requests(options: AuditOptions, on_roster: Sequence[str], notes: Notes) -> History | None:
    """A log of requests of its own, read as any log is; what it gives out is what was asked for.

    Everybody's are read; `of_those` leaves out those who are not judged.

    Args:
        options: What is asked.
        on_roster: Names whose spelling is right.
        notes: Where to note how the requests were read.
    """
    if options.requests is None:
        return None
    alone = AuditOptions(
        stakeholder=options.requests_stakeholder or options.stakeholder,
        time=options.requests_time or options.time,
        amount=options.asked,
        where=options.where,
        encoding=options.encoding,
        merge_names=options.merge_names,
    )
    with opened(
        options.requests, options.encoding, options.requests_table, options.engine
    ) as table:
        _require_columns(table, alone)
        events = _read(table, alone, on_roster, writing_beside(options))
        found = count_beside(events, "requests", "what was asked for", notes)
        for place in np.flatnonzero(found.amount < 0)[:1]:
            raise BadLog(
                f"{table.label} has a request below 0 ({found.amount[place]:g}, by "
                f"{found.names[found.who[place]]!r} at "
                f"{moment_label(found.slots[found.slot[place]])}): a request that was withdrawn "
                "is left out, so remove both rows."
            )
        return found


def _read(
    table: LogTable, alone: AuditOptions, on_roster: Sequence[str], writing: Writing
) -> LogEvents:
    """The events of the requests, of which the same condition must hold as of the log."""
    try:
        return read_events(table, alone, on_roster, writing)
    except BadCondition as error:
        raise BadCondition(
            f"{argument('where')} leaves rows of {argument('requests')} out too, and cannot be "
            f"asked of {table.label}: {error}"
        ) from None


def _require_columns(table: LogTable, alone: AuditOptions) -> None:
    """Refuse columns that the requests do not have, under the arguments that can name them."""
    named = {
        "requests_stakeholder": alone.stakeholder,
        "requests_time": alone.time,
        "asked": alone.amount,
    }
    for given, name in named.items():
        if name is not None:
            require_column(table, name, given)


def of_those(requests: History, chosen: Callable[[str], bool]) -> History:
    """The requests of those who are judged."""
    left = np.array([chosen(name) for name in requests.names])
    names = tuple(name for name in requests.names if chosen(name))
    place = np.cumsum(left) - 1
    kept = requests.only_cells(lambda part: left[requests.who[part]])
    return replace(kept, names=names, who=place[kept.who])


def _until_end(
    requests: History, history: History, until: Any, goes_on: bool, notes: Notes
) -> History:
    """The requests up to the end of what is judged; the later ones may be the worst of it."""
    if until is not None:
        at = requests.slots[requests.slot]
        requests = requests.only_cells(lambda part: at[part] <= until)
    later = requests.slots[requests.slot] > history.slots[-1]
    if later.any() and not goes_on:
        many = int(later.sum())
        notes.add(
            f"{pluralise(many, 'request')} came after the last row of the log "
            f"({format_number(float(requests.amount[later].sum()))} in all) and "
            f"{'is' if many == 1 else 'are'} not judged: give {argument('every')} and "
            f"{argument('until')} to judge periods up to a later date."
        )
    return requests


def asked_over_time(
    history: History, requests: History | None, until: Any, goes_on: bool, notes: Notes
) -> TimedAmounts:
    """What each of a history's stakeholders has asked for; refused where service came first.

    Args:
        history: Who received what.
        requests: Who asked for what, if that is not in the rows of the history.
        until: The moment up to which requests count, if one is given.
        goes_on: Whether the history is judged up to then, also after its last row.
        notes: Where to note requests that are not judged.
    """
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
        requests = _until_end(requests, history, until, goes_on, notes)
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


def open_from(
    asked: TimedAmounts, received: TimedAmounts, since: float, notes: Notes
) -> TimedAmounts:
    """What is wanted from a moment on: what was still open then, and what was asked for later.

    What was received before then has met the oldest requests first; those that are open keep the
    time at which they were made, so that it is known who has waited for how long.
    """
    before, known = received.at < since, asked.at < since
    met = np.bincount(received.who[before], received.amount[before], asked.size)
    left = asked.amount.copy()
    left[known] = np.minimum(left[known], open_amount(_so_far(asked)[known], met[asked.who[known]]))
    still = known & (left > 0)
    if still.any():
        many = int(still.sum())
        notes.add(
            f"{pluralise(many, 'request')} made before {argument('since')} "
            f"{'was' if many == 1 else 'were'} still open then "
            f"({format_number(float(left[still].sum()))} in all) and "
            f"{'counts' if many == 1 else 'count'} from then on."
        )
    kept = ~known | still
    return TimedAmounts(asked.at[kept], asked.who[kept], left[kept], asked.size)


def _so_far(entries: TimedAmounts) -> Float[np.ndarray, " entry"]:
    """What the one whom each entry concerns has asked for, up to and with that entry."""
    order = np.argsort(entries.who, kind="stable")
    found = np.empty_like(entries.amount)
    # Each by itself: a sum over all, less that of the others, would not come out even.
    for own in np.split(order, np.flatnonzero(np.diff(entries.who[order])) + 1):
        found[own] = np.cumsum(entries.amount[own])
    return found


def _refuse_unasked(history: History, ledger: TimedAmounts) -> None:
    """Nobody can have received more than it had asked for by then."""
    asked, start = ledger.totals(), 0
    received = np.zeros(len(history.names))
    for rewards in history.rewards(np.arange(len(history.slots)), len(history.slots)):
        totals = received + np.cumsum(rewards, axis=0)
        known = asked.by(history.slots[start : start + len(rewards)])
        over = totals > most_with(known)
        for row, who in np.argwhere(over)[:1]:
            raise BadLog(
                f"by {moment_label(history.slots[start + row])} {history.names[who]!r} had "
                f"received {totals[row, who]:g} and asked for {known[row, who]:g}: a request comes "
                f"no later than its service, so fix its time or its amount, or leave "
                f"{argument('asked' if 'asked' in history.beside else 'requests')} out."
            )
        received, start = totals[-1], start + len(rewards)
