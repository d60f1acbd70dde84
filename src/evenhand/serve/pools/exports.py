"""A pool's log as tables that `evenhand audit` and everybody else can read.

What was undone is left out: it counts as never decided. The log itself keeps it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evenhand.auditing.sources.temporary_copies import parquet_copy
from evenhand.events import EVENTS, MemberEvent
from evenhand.serve.pools.changes import Decision, read_change, read_decision
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


def log_of_pool(
    store: DecisionStore, pool: str, up_to: int, kinds: Sequence[str] = ()
) -> Iterator[tuple[LogEntry, Decision | MemberEvent]]:
    """All that happened to people in order, each with its entry, without what was undone.

    Args:
        store: Where the log is.
        pool: Its name.
        up_to: The number of the last entry that counts.
        kinds: What of it, in a word each; all by default.
    """
    undone = set(undone_by(store, pool, up_to).values())
    for entry in store.entries_of(pool, kinds or EVERYTHING, up_to):
        change = read_change(entry)
        if isinstance(change, Decision | MemberEvent) and entry.number not in undone:
            yield entry, change


def decision_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[Row]:
    """Who was given what and when, one row for each share, in order.

    The entitlement is the one that held then. Where entitlements differ, a row with the amount 0
    says what somebody is entitled to from that moment on, even if it never receives anything. What
    changes at a moment after it was said for that moment holds from the next one on.
    """
    undone = set(undone_by(store, pool, up_to).values())
    differ = are_entitled_differently(store, pool, up_to)
    changed = {_event(entry).name for entry in store.entries_of(pool, ("entitle",), up_to)}
    entitled: dict[str, float] = {}
    news: list[str] = []  # whose entitlement is still to be said
    said: dict[str, tuple[Any, float]] = {}  # of each, the last moment of a row and what it said
    due: tuple[LogEntry, Any] | None = None  # news that are of a moment of their own
    last, latest = None, None  # the moment of the last decision, and its entry

    def tell(entry: LogEntry, at: Any) -> Iterator[Row]:
        for name in dict.fromkeys(news):
            # An audit takes one value at a moment: what changes after a row waits for the next.
            if name in said and said[name][0] == at:
                continue
            said[name] = (at, entitled[name])
            yield _entitled(entry, at, name, entitled[name])
        news[:] = [name for name in news if said[name][1] != entitled[name]]

    for entry in store.all_entries(pool, up_to=up_to):
        if entry.kind in ("join", "entitle"):
            event = _event(entry)
            if due is not None and due[1] != event.at:
                yield from tell(*due)
                due = None
            entitled[event.name] = event.entitlement
            if not differ:
                continue
            news.append(event.name)
            # One that never changes holds for the whole log, wherever it is said; one that does
            # counts from its own moment on. Before the first decision there is nothing to judge.
            # It is said when that moment is over, as it may be changed again until then.
            if (event.name in changed and latest is not None) or event.at == last:
                due = (entry, event.at)
        elif entry.kind == Decision.kind and entry.number not in undone:
            taken = read_decision(entry)
            if due is not None and due[1] != taken.at:
                yield from tell(*due)
            due = None
            last, latest = taken.at, entry
            yield from tell(entry, last)
            for name, _ in taken.shares:
                if name not in said or said[name][0] != last:
                    said[name] = (last, entitled[name])
            yield from _shares(entry, taken, {name: said[name][1] for name, _ in taken.shares})
    if due is not None:
        yield from tell(*due)
    if latest is not None:  # those who joined since
        yield from tell(latest, last)


def _shares(entry: LogEntry, taken: Decision, entitled: dict[str, float]) -> Iterator[Row]:
    by_rule = "" if taken.by_rule is None else str(taken.by_rule).lower()
    said = (entry.number, moment_of(entry.recorded), entry.actor, by_rule, taken.reason or "")
    for name, amount in taken.shares:
        yield (taken.at, name, amount, *said, entitled[name])


def _entitled(entry: LogEntry, at: Any, name: str, entitlement: float) -> Row:
    said = ("", moment_of(entry.recorded), entry.actor, "", "what it is entitled to")
    return (at, name, 0, *said, entitlement)


def are_entitled_differently(store: DecisionStore, pool: str, up_to: int) -> bool:
    """Whether some are, or were, entitled to more than others."""
    found = store.entries_of(pool, ("join", "entitle"), up_to)
    first = next(found, None)
    return first is not None and any(
        _event(entry).entitlement != _event(first).entitlement for entry in found
    )


def roster_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[Row]:
    """Who was there from when until when, and what each is entitled to at the end."""
    people: dict[str, list[Any]] = {}
    for entry in store.entries_of(pool, ("join", "leave", "entitle"), up_to):
        event = _event(entry)
        if entry.kind == "join":
            people[event.name] = [event.at, "", event.entitlement]
        elif entry.kind == "leave":
            people[event.name][1] = event.at
        else:
            people[event.name][2] = event.entitlement
    for name, known in people.items():
        yield (name, *known)


def request_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[Row]:
    """Who asked for how much and when. What was given to somebody unasked counts as asked then."""
    undone = set(undone_by(store, pool, up_to).values())
    left: dict[str, float] = {}  # what each has asked for and not received
    for entry in store.entries_of(pool, ("ask", Decision.kind), up_to):
        if entry.kind == "ask":
            event = _event(entry)
            left[event.name] = left.get(event.name, 0.0) + event.amount
            yield (event.at, event.name, event.amount)
        elif entry.number not in undone:
            taken = read_decision(entry)
            for name, amount in taken.shares:
                rest = left.get(name, 0.0) - amount
                if rest < 0.0:
                    yield (taken.at, name, -rest)
                left[name] = max(0.0, rest)


def _event(entry: LogEntry) -> Any:
    return read_change(entry)


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
