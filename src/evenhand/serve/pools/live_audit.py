"""The audit of a pool: the very answer that `evenhand audit` gives for its exported log."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Any

from evenhand.auditing.answer import Answer
from evenhand.errors import BadLog
from evenhand.events import Entitle, Give, Join, MemberEvent
from evenhand.log.checks import exact_copies
from evenhand.log.log import Log
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.exports import COLUMNS, Row, Told, csv_chunks, rows_of, told_by
from evenhand.serve.store.decision_store import DecisionStore


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
