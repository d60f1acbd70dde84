"""Pools from a TOML file: a table for each, by its name.

[reviews]
rule = "least_served"
stakeholders = ["Ann", "Ben", {name = "Cem", entitlement = 0.5}]
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand._util.files import read_file
from evenhand.errors import BadFile, BadParameter, StoreConflict
from evenhand.events import Join
from evenhand.serve.pools.changes import PoolMade
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.policy_folder import NO_POLICIES, PolicyFolder
from evenhand.serve.store.decision_store import Append, DecisionStore

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
