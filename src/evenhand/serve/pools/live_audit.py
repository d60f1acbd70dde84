"""The audit of a pool: the very answer that `evenhand audit` gives for its exported log."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenhand.auditing.answer.answer import Answer
from evenhand.auditing.audit_log import audit_with
from evenhand.errors import BadLog
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.exports import (
    COLUMNS,
    REQUESTS,
    ROSTER,
    are_entitled_differently,
    decision_rows,
    request_rows,
    roster_rows,
    write_csv,
)
from evenhand.serve.pools.log_kinds import called
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
    with tempfile.TemporaryDirectory(prefix="evenhand-") as made:
        folder = Path(made)
        log = folder / f"{name}.csv"
        write_csv(log, COLUMNS, _some(decision_rows(store, name, up_to), name))
        write_csv(folder / "roster.csv", ROSTER, roster_rows(store, name, up_to))
        given: dict[str, Any] = {"roster": str(folder / "roster.csv")}
        if definition.allocator().state.by_request:
            write_csv(folder / "requests.csv", REQUESTS, request_rows(store, name, up_to))
            given |= {"requests": str(folder / "requests.csv"), "asked": "asked"}
        elif are_entitled_differently(store, name, up_to):
            given["entitlement"] = "entitlement"
        place = f"{folder}{os.sep}"
        with called("", place):
            found = audit_with(str(log), definition.audit_options(**given | asked))
    # The folder is gone, and concerns nobody: a table is known by its name.
    files = [
        {**file, "path": file["path"].replace(place, "")} for file in found.origin.get("files", ())
    ]
    return dataclasses.replace(
        found,
        label=found.label.replace(place, ""),
        notes=tuple(note.replace(place, "") for note in found.notes),
        origin={**found.origin, "files": files},
    )


def _some(rows: Iterator[tuple[Any, ...]], pool: str) -> Iterator[tuple[Any, ...]]:
    """The rows; refused if there are none."""
    first = next(rows, None)
    if first is None:
        raise BadLog(f"no decision was taken in the pool {pool!r} yet: there is nothing to judge.")
    yield first
    yield from rows
