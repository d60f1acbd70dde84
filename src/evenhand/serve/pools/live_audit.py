"""The audit of a pool: the very answer that `evenhand audit` gives for its exported log."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from evenhand.auditing.answer.answer import Answer
from evenhand.auditing.audit_log import audit_with
from evenhand.errors import BadLog
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.exports import COLUMNS, ROSTER, decision_rows, roster_rows, write_csv
from evenhand.serve.store.decision_store import DecisionStore


def audit_pool(
    store: DecisionStore, definition: PoolDefinition, up_to: int, **asked: Any
) -> Answer:
    """Judge the decisions of a pool, with its roster and what each is entitled to.

    Args:
        store: Where the log is.
        definition: What the pool is, and how it is judged.
        up_to: The number of the last entry that counts.
        asked: Options of an audit in place of the pool's own.
    """
    options = definition.audit_options(**asked)
    with tempfile.TemporaryDirectory(prefix="evenhand-") as name:
        folder = Path(name)
        log, roster = folder / f"{definition.name}.csv", folder / "roster.csv"
        write_csv(log, COLUMNS, decision_rows(store, definition.name, up_to))
        people = list(roster_rows(store, definition.name, up_to))
        if log.stat().st_size < 200 and not _has_rows(log):
            raise BadLog(
                f"no decision was taken in the pool {definition.name!r} yet: there is nothing to "
                "judge."
            )
        write_csv(roster, ROSTER[:3], (row[:3] for row in people))
        given: dict[str, Any] = {"roster": str(roster)}
        entitled = {row[0]: float(row[3]) for row in people}
        if set(entitled.values()) != {1.0}:
            given["entitlement"] = entitled
        from dataclasses import replace

        return audit_with(str(log), replace(options, **given))


def _has_rows(path: Path) -> bool:
    with open(path, "rb") as file:
        file.readline()
        return bool(file.readline())
