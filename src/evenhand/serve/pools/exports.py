"""A pool's log as tables that `evenhand audit` and everybody else can read.

What was undone is left out: it counts as never decided. The log itself keeps it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenhand.serve.pools.changes import DecisionTaken, Happened, read_change
from evenhand.serve.pools.fold import undone_by
from evenhand.serve.pools.views import moment_of
from evenhand.serve.store.decision_store import DecisionStore

COLUMNS = ("time", "stakeholder", "amount", "decision", "recorded", "actor", "by_rule", "reason")
ROSTER = ("name", "from", "until", "entitlement")
ROWS_AT_ONCE = 2000


def decision_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[tuple[Any, ...]]:
    """Who was given what and when, one row for each share, in order."""
    undone = set(undone_by(store, pool, up_to).values())
    for entry in store.all_entries(pool, up_to=up_to):
        if entry.kind != DecisionTaken.kind or entry.number in undone:
            continue
        taken = read_change(entry)
        assert isinstance(taken, DecisionTaken)
        by_rule = str(taken.proposed is None).lower()
        recorded = moment_of(entry.recorded)
        for name, amount in taken.shares:
            yield (
                *(taken.at, name, amount, entry.number, recorded, entry.actor, by_rule),
                taken.reason or "",
            )


def roster_rows(store: DecisionStore, pool: str, up_to: int) -> Iterator[tuple[Any, ...]]:
    """Who was there from when until when, and what each is entitled to at the end."""
    people: dict[str, list[Any]] = {}
    for entry in store.all_entries(pool, up_to=up_to):
        if entry.kind not in ("join", "leave", "entitle"):
            continue
        happened = read_change(entry)
        assert isinstance(happened, Happened)
        event: Any = happened.event
        if entry.kind == "join":
            people[event.name] = [event.at, "", event.entitlement]
        elif entry.kind == "leave":
            people[event.name][1] = event.at
        else:
            people[event.name][2] = event.entitlement
    for name, known in people.items():
        yield (name, *known)


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
    with open(path, "wb") as file:
        file.writelines(csv_chunks(columns, rows))


def parquet_file(store: DecisionStore, pool: str, up_to: int, dates: bool, folder: Path) -> Path:
    """The decisions as a Parquet file in a folder, with the types that they have."""
    import duckdb

    table, target = folder / "decisions.csv", folder / "decisions.parquet"
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
    }
    with duckdb.connect() as connection:
        read = connection.read_csv(str(table), dtype=kinds, header=True, delimiter=",")
        read.write_parquet(str(target))
    return target
