"""A pool's log as tables that `evenhand audit` and everybody else can read.

What was undone is left out: it counts as never decided. The log itself keeps it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from evenhand.events import EVENTS, Ask, Entitle, Join, Leave, MemberEvent
from evenhand.log.from_events import given_rows, wanted_rows
from evenhand.log.text_files import parquet_copy
from evenhand.serve.pools.changes import Decision, read_change
from evenhand.serve.pools.state_from_log import undone_by
from evenhand.serve.pools.views import moment_of
from evenhand.serve.store.decision_store import DecisionStore
from evenhand.serve.store.log_entry import LogEntry

COLUMNS = (
    *("time", "stakeholder", "amount", "decision", "recorded", "actor", "by_rule", "reason"),
    "entitlement",
)
ROSTER = ("name", "from", "until", "entitlement")
REQUESTS = ("time", "stakeholder", "asked")
ROWS_AT_ONCE = 2000
EVERYTHING = (*EVENTS.classes, Decision.kind)
Row = tuple[Any, ...]
# When what happened, with the entry that says so and the decision that it is about.
Told = tuple[Any, MemberEvent, tuple[LogEntry, Decision | None]]


def told_by(store: DecisionStore, pool: str, up_to: int, *kinds: str) -> Iterator[Told]:
    """What happened to whom and when, in order, without what was undone; with its entry.

    Args:
        store: Where the log is.
        pool: Its name.
        up_to: The number of the last entry that counts.
        kinds: What of it, in a word each; all by default.
    """
    undone = set(undone_by(store, pool, up_to).values())
    for entry in store.entries_of(pool, kinds or EVERYTHING, up_to):
        change = read_change(entry)
        if isinstance(change, Decision) and entry.number not in undone:
            for give in change.gives():
                yield give.at, give, (entry, change)
        elif isinstance(change, MemberEvent):
            yield change.at, change, (entry, None)


def decision_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[Row]:
    """Who was given what and when, one row for each share, in order (see `given_rows`).

    The entitlement is the one that held then. Where entitlements differ, a row with the amount 0
    says what somebody is entitled to from that moment on, even if it never receives anything.
    """
    entitled = told_by(store, pool, up_to, Join.kind, Entitle.kind)
    return rows_of(told_by(store, pool, up_to), entitled)


def rows_of(told: Iterable[Told], entitled: Iterable[Told]) -> Iterator[Row]:
    """The same of what was read: all of it, and apart from it who is entitled to what."""
    said = [event for _, event, _ in entitled if isinstance(event, Join | Entitle)]
    differ = len({event.entitlement for event in said}) > 1
    changed = {event.name for event in said if isinstance(event, Entitle)}
    for row in given_rows(told, differ, changed):
        entry, taken = row.source
        recorded = (moment_of(entry.recorded), entry.actor)
        about: Row = ("", *recorded, "", "what it is entitled to")
        if row.amount and taken is not None:
            by_rule = "" if taken.by_rule is None else str(taken.by_rule).lower()
            about = (entry.number, *recorded, by_rule, taken.reason or "")
        yield (row.at, row.name, row.amount or 0, *about, row.entitled)


def roster_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[Row]:
    """Who was there from when until when, and what each is entitled to at the end."""
    people: dict[str, list[Any]] = {}
    for at, event, _ in told_by(store, pool, up_to, Join.kind, Leave.kind, Entitle.kind):
        if isinstance(event, Join):
            people[event.name] = [at, "", event.entitlement]
        elif isinstance(event, Leave):
            people[event.name][1] = at
        elif isinstance(event, Entitle):
            people[event.name][2] = event.entitlement
    for name, known in people.items():
        yield (name, *known)


def request_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[Row]:
    """Who asked for how much and when. What was given to somebody unasked counts as asked then."""
    told = told_by(store, pool, up_to, Ask.kind, Decision.kind)
    return wanted_rows((at, event) for at, event, _ in told)


def csv_chunks(columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """A table as CSV, some rows at a time."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for number, row in enumerate(rows, 1):
        writer.writerow(row)
        if number % ROWS_AT_ONCE == 0:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def write_csv(
    path: str | os.PathLike[str], columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]]
) -> None:
    """Write rows to a CSV file, a chunk at a time."""
    with open(path, "wb") as file:
        file.writelines(csv_chunks(columns, rows))


def parquet_file(store: DecisionStore, pool: str, up_to: int, dates: bool, folder: Path) -> Path:
    """The decisions as a Parquet file in a folder, with the types that they have."""
    table = folder / "decisions.csv"
    write_csv(table, COLUMNS, decision_rows(store, pool, up_to))
    kinds = {
        "time": "TIMESTAMP" if dates else "DOUBLE",
        "stakeholder": "VARCHAR",
        "amount": "DOUBLE",
        "decision": "BIGINT",
        "recorded": "TIMESTAMP",
        "actor": "VARCHAR",
        "by_rule": "BOOLEAN",
        "reason": "VARCHAR",
        "entitlement": "DOUBLE",
    }
    return parquet_copy(table, kinds)
