"""Pools from what exists: a log that becomes a history, a TOML file."""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._util.files import read_file
from evenhand._util.numbers import as_numbers
from evenhand.errors import BadFile, BadLog, BadParameter, StoreConflict
from evenhand.events import Join, Leave, Moment
from evenhand.log.log import Kept, Log, log_of
from evenhand.log.options import AuditOptions
from evenhand.serve.pools.files import NO_POLICIES, PolicyFolder
from evenhand.serve.pools.pool import (
    Answer,
    AskedChange,
    Change,
    Decision,
    LivePool,
    PoolDefinition,
    PoolMade,
    import_view,
)
from evenhand.serve.store.store import Append, DecisionStore, LogEntry

# A log that exists already becomes a pool's: its history counts from the first day.

ROWS_AT_ONCE = 5000
THE_FILE = "the file"  # what a log is called that was sent: where it is kept meanwhile is ours


def import_history(
    store: DecisionStore,
    pool: LivePool,
    read: Callable[[], Log],
    asked: AskedChange,
    now: int,
) -> Answer:
    """Write the history of a log into a pool to which nothing has happened yet; all or nothing.

    Everybody in the log is there from its first day, unless a roster says otherwise.

    Args:
        store: Where the pool's log is.
        pool: Its state, which follows.
        read: Gives the log (see `read_history`); not asked if it could not be imported anyway.
        asked: Who asks for it.
        now: Microseconds since 1970.

    Returns:
        What is answered, which is kept for a retry.
    """
    if pool.number != 1:
        raise BadParameter(
            f"something has happened in the pool {pool.name!r} already: import into a new pool."
        )
    log = read()
    if log.history.plain_numbers == pool.definition.dates:
        kinds = ("dates", "plain numbers")
        raise BadParameter(
            f"the times of the log are {kinds[log.history.plain_numbers]}, and those of the "
            f"pool {pool.name!r} are not: make the pool with 'dates' = "
            f"{str(not log.history.plain_numbers).lower()}."
        )
    changes = _changes(log, lambda at: pool.moment(at, now))
    with store.transaction() as cursor:
        for entries in _some(pool.record(change, asked.actor, now) for change in changes):
            store.insert_all(cursor, [Append(entries)])
        said = [note.replace(log.label, THE_FILE) for note in log.notes]
        answer = import_view(pool, said)
        store.insert_all(cursor, [Append((), asked.kept(pool.name, answer))])
    return answer


def read_history(source: Any, options: AuditOptions) -> Log:
    """What is to be imported; refused if it cannot be.

    Args:
        source: A path, an address, or any table that an audit reads.
        options: Which columns hold what, as of an audit.
    """
    log = log_of(source, options, Kept(ends=False))
    assert log.lots is not None
    if (log.lots.amount < 0).any():
        raise BadLog(
            "the log has amounts below 0, which take something back: leave out what was taken back "
            "before it is imported."
        )
    return log


def _changes(log: Log, moment: Callable[[Moment], Moment]) -> Iterator[Change]:
    """What happened, in order of time: at one time people join first and leave last.

    All of it happens at times of the log, so whoever was there at none of them is left out.
    """
    history, lots = log.history, log.lots
    assert lots is not None
    moments, shown = as_numbers(history.slots), [_shown(at) for at in history.slots]
    comes, goes = _bounds(log)
    are_there = np.searchsorted(moments, comes) < np.searchsorted(moments, goes, side="right")
    joining = sorted(np.flatnonzero(are_there).tolist(), key=lambda k: (comes[k], k))
    leaving = sorted((k for k in joining if np.isfinite(goes[k])), key=lambda k: goes[k])
    entitled = log.shares
    order = np.lexsort((lots.who, lots.slot))
    given = iter(
        (int(lots.slot[k]), int(lots.who[k]), float(lots.amount[k]))
        for k in order
        for _ in range(int(lots.copies[k]))
        if lots.amount[k] > 0
    )
    coming = next(given, None)
    for slot, now in enumerate(moments):
        while joining and comes[joining[0]] <= now:
            k = joining.pop(0)
            own = 1.0 if entitled is None else float(entitled[k])
            yield Join(history.names[k], moment(shown[slot]), own)
        while coming is not None and coming[0] == slot:
            _, who, amount = coming
            yield Decision(((history.names[who], amount),), moment(shown[slot]))
            coming = next(given, None)
        while leaving and slot + 1 < len(moments) and goes[leaving[0]] < moments[slot + 1]:
            yield Leave(history.names[leaving.pop(0)], moment(shown[slot]))


def _bounds(log: Log) -> tuple[np.ndarray, np.ndarray]:
    names = log.history.names
    if log.roster is None or not log.roster.dated:
        return np.full(len(names), -np.inf), np.full(len(names), np.inf)
    return log.roster.bounds(names, log.history.plain_numbers)


def _shown(at: Any) -> Moment:
    return str(at) if np.asarray(at).dtype.kind == "M" else float(at)


def _some(entries: Iterator[LogEntry]) -> Iterator[list[LogEntry]]:
    gathered: list[LogEntry] = []
    for entry in entries:
        gathered.append(entry)
        if len(gathered) == ROWS_AT_ONCE:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


# Pools from a TOML file: a table for each, by its name.
#
# [reviews]
# rule = "least_served"
# stakeholders = ["Ann", "Ben", {name = "Cem", entitlement = 0.5}]

MOST_BYTES = 16 << 20
ACTOR = "pool file"


@dataclass(frozen=True)
class WantedPool:
    """A pool to be made, with those who are there from the start."""

    definition: PoolDefinition
    people: tuple[tuple[str, float], ...]


def read_pool_file(
    path: str | os.PathLike[str], policies: PolicyFolder = NO_POLICIES
) -> list[WantedPool]:
    """The pools of a TOML file.

    Args:
        path: The file.
        policies: Where the files of learned policies are.
    """
    text = read_file(path, MOST_BYTES, "a file of pools")
    try:
        tables = tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFile(f"{path} is not TOML: {error}.") from None
    if not tables:
        raise BadFile(f"{path} has no pools: write a table for each, such as [reviews].")
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise BadFile(f"{path} says {name!r} outside of a pool: begin with [the pool's name].")
    return [_wanted(name, table, policies) for name, table in tables.items()]


def _wanted(name: str, table: Mapping[str, Any], policies: PolicyFolder) -> WantedPool:
    rest = {key: value for key, value in table.items() if key != "stakeholders"}
    people = table.get("stakeholders", [])
    if not isinstance(people, list):
        raise BadParameter(f"the stakeholders of the pool {name!r} must be a list of names.")
    found = tuple(_person(name, one) for one in people)
    if len({who for who, _ in found}) < len(found):
        raise BadParameter(f"the pool {name!r} names somebody twice: name everybody once.")
    return WantedPool(PoolDefinition.from_json({"name": name, **rest}, policies), found)


def _person(pool: str, said: Any) -> tuple[str, float]:
    table = {"name": said} if isinstance(said, str) else said
    if isinstance(table, Mapping) and set(table) <= {"name", "entitlement"}:
        name, entitlement = table.get("name"), table.get("entitlement", 1.0)
        is_number = isinstance(entitlement, int | float) and not isinstance(entitlement, bool)
        if isinstance(name, str) and name.strip() and is_number:
            return name, float(entitlement)
    raise BadParameter(
        f"the pool {pool!r} has the stakeholder {said!r}: write a name, or {{name = …, "
        "entitlement = …}."
    )


def make_missing_pools(store: DecisionStore, wanted: Sequence[WantedPool]) -> None:
    """Make those pools that the store does not have; the others stay as they are."""
    there = set(store.pools())
    for one in wanted:
        if one.definition.name in there:
            continue
        pool, moment = LivePool.new(one.definition), time.time_ns() // 1000
        entries = first_entries(pool, one.people, ACTOR, moment)
        try:
            store.append([Append(entries, new_pool=pool.name)])
        except StoreConflict:  # another process has just made it
            continue


def first_entries(
    pool: LivePool, people: Sequence[tuple[str, float]], actor: str, moment: int
) -> list[Any]:
    """What a log begins with: what the pool is, and who is there from the start."""
    entries = [pool.record(PoolMade(pool.definition.to_json()), actor, moment)]
    for name, entitlement in people:
        joined = Join(name, pool.moment(None, moment), entitlement)
        entries.append(pool.record(joined, actor, moment))
    return entries
