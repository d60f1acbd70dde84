"""A pool as a log: exported, judged, watched for alarms, and over time."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evenhand._util.wording import as_beginning, join_names
from evenhand.auditing.answer import Answer
from evenhand.errors import BadLog, BadParameter
from evenhand.events import EVENTS, Ask, Entitle, Give, Join, Leave, MemberEvent, Pause
from evenhand.log.checks import exact_copies
from evenhand.log.from_events import given_rows, wanted_rows
from evenhand.log.log import Log
from evenhand.log.text_files import parquet_copy
from evenhand.serve.pools.pool import Decision, PoolDefinition, moment_of, read_change
from evenhand.serve.pools.state import undone_by
from evenhand.serve.store.store import DecisionStore, LogEntry

# A pool's log as tables that `evenhand audit` and everybody else can read.
#
# What was undone is left out: it counts as never decided. The log itself keeps it.

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


# How much each had received by each of a few moments: the standing of everyone over time.

MOST_DECISIONS = 1_000_000


def received_over_time(
    store: DecisionStore, pool: str, up_to: int, names: Sequence[str], points: int
) -> dict[str, Any]:
    """What each of some had received by then, at so many decisions spread evenly over the log.

    The mean is that of all who were there then, also of those who had received nothing.

    Args:
        store: Where the log is.
        pool: Its name.
        up_to: The number of the last entry that counts.
        names: Whose standing.
        points: How many moments at most.
    """
    if up_to > MOST_DECISIONS:
        raise BadParameter(
            f"the log has {up_to:,} entries, which are too many to show: export it, or audit it."
        )
    told = told_by(store, pool, up_to, Decision.kind, Join.kind, Leave.kind)
    happened = [event for _, event, _ in told]
    decided = sum(isinstance(one, Give) for one in happened)
    marks = {round((k + 1) * decided / points) for k in range(points)} if decided else set()
    received: dict[str, float] = {}
    course: dict[str, list[float]] = {name: [] for name in names}
    times, mean, total, there, number = [], [], 0.0, 0, 0
    for one in happened:
        if isinstance(one, Join):
            there += 1
        elif isinstance(one, Leave):
            there -= 1
            total -= received.get(one.name, 0.0)
        elif isinstance(one, Give):
            number += 1
            total += one.amount
            received[one.name] = received.get(one.name, 0.0) + one.amount
            if number in marks:
                times.append(one.at)
                mean.append(total / there)
                for name in names:
                    course[name].append(received.get(name, 0.0))
    return {
        "pool": pool,
        "times": times,
        "mean": mean,
        "stakeholders": [{"name": name, "received": course[name]} for name in names],
    }


# The audit of a pool: the very answer that `evenhand audit` gives for its exported log.


def audit_pool(
    store: DecisionStore, definition: PoolDefinition, up_to: int, **asked: Any
) -> Answer:
    """Judge the decisions of a pool: with its roster, and with what held at each moment.

    Where only those are eligible who ask, it is judged how much of what each asked for was met.
    Otherwise by what each received, per unit of what it was entitled to at the time.

    Args:
        store: Where the log is.
        definition: What the pool is, and how it is judged.
        up_to: The number of the last entry that counts.
        asked: Options of an audit in place of the pool's own.
    """
    name = definition.name
    events: list[MemberEvent] = []
    copies: dict[int, int] = {}  # shares of a decision that are as another of it

    def told() -> Iterator[Told]:
        for at, event, (entry, taken) in told_by(store, name, up_to):
            events.append(event)
            if taken is not None and len(taken.shares) > 1:
                copies[entry.number] = len(taken.shares) - len(set(taken.shares))
            yield at, event, (entry, taken)

    entitled = told_by(store, name, up_to, Join.kind, Entitle.kind)
    exported = _exported(name, rows_of(told(), entitled))
    if not any(isinstance(event, Give) for event in events):
        raise BadLog(f"no decision was taken in the pool {name!r} yet: there is nothing to judge.")
    by_request = definition.allocator().state.by_request
    log = Log.from_events(events, f"{name}.csv", by_request)
    found = log.audit(**{**definition.audit, **asked})
    copied = sum(copies.values())
    return dataclasses.replace(
        found,
        notes=(*([exact_copies(copied)] if copied else ()), *found.notes),
        origin={**found.origin, "files": [exported]},
    )


def _exported(name: str, rows: Iterator[Row]) -> dict[str, Any]:
    """The file that the decisions are exported as, by which others can judge them again."""
    digest, size = hashlib.sha256(), 0
    for chunk in csv_chunks(COLUMNS, rows):
        digest.update(chunk)
        size += len(chunk)
    return {"path": f"{name}.csv", "bytes": size, "sha256": digest.hexdigest()}


# Alarms of a pool: who is behind by more than a fair lottery explains, as `audit --alarm` says.


def alarms_of_pool(
    store: DecisionStore, definition: PoolDefinition, up_to: int, alpha: float
) -> dict[str, Any]:
    """The alarms, in a sentence and each by itself.

    Args:
        store: Where the log is.
        definition: What the pool is.
        up_to: The number of the last entry that counts.
        alpha: The probability of ever raising a false alarm.
    """
    finding = audit_pool(store, definition, up_to, alarm=alpha).alarm
    assert finding is not None
    pauses = told_by(store, definition.name, up_to, Pause.kind)
    paused = list(dict.fromkeys(event.name for _, event, _ in pauses))
    notes = []
    if paused:
        notes.append(
            f"{join_names(paused)} {'was' if len(paused) == 1 else 'were'} paused at some time: an "
            "audit knows from when until when somebody was there, and not of pauses in between, so "
            "turns that went by meanwhile count as passed over."
        )
    sentence = finding.sentence()
    return {
        "pool": definition.name,
        **finding.to_json(),
        "sentence": as_beginning(sentence),
        "notes": notes,
    }
