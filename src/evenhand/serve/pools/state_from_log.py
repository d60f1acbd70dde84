"""The state of a pool from its log: a snapshot, and a fold over the entries since.

A decision that was undone is left out of the fold, as if it had not been taken: for rules with a
memory that fades or draws lots, giving back would not be the same. A snapshot that holds a decision
which was undone after it is of no use; an earlier one is taken, or none.
"""

from __future__ import annotations

from evenhand.errors import BadStore, UnknownPool
from evenhand.events import Undo
from evenhand.serve.pools.changes import Decision, PoolMade, read_change
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.policy_folder import NO_POLICIES, PolicyFolder
from evenhand.serve.pools.pool_snapshot import read_snapshot
from evenhand.serve.store.decision_store import DecisionStore

LATEST = (1 << 62) - 1


def load_pool(
    store: DecisionStore,
    name: str,
    up_to: int = LATEST,
    without: frozenset[int] = frozenset(),
    policies: PolicyFolder = NO_POLICIES,
) -> LivePool:
    """The state of a pool after an entry; the last one by default.

    Args:
        store: Where the log is.
        name: The pool.
        up_to: The number of the entry.
        without: Numbers of decisions to leave out besides those that the log says were undone.
        policies: Where the file is if a learned policy decides.
    """
    first = store.entry(name, 1)
    if first is None:
        raise UnknownPool(name, nearest=None)
    made = read_change(first)
    if not isinstance(made, PoolMade):
        raise BadStore(f"the log of the pool {name!r} does not begin with what the pool is.")
    definition = PoolDefinition.from_json(made.definition, policies)
    targets = undone_by(store, name, up_to)
    pool = _from_snapshot(store, definition, up_to, targets, without)
    pool.undone = set(targets.values())
    left_out = pool.undone | without
    for entry in store.all_entries(name, pool.number, up_to):
        change = read_change(entry)
        if not (isinstance(change, Decision) and entry.number in left_out):
            pool.apply(change)
        pool.follow(entry)
    return pool


def undone_by(store: DecisionStore, name: str, up_to: int) -> dict[int, int]:
    """The decisions that were undone up to an entry, by the entry that undid each."""
    found = {}
    for entry in store.undos(name):
        change = read_change(entry)
        if isinstance(change, Undo) and entry.number <= up_to:
            found[entry.number] = change.number
    return found


def _from_snapshot(
    store: DecisionStore,
    definition: PoolDefinition,
    up_to: int,
    targets: dict[int, int],
    without: frozenset[int],
) -> LivePool:
    """The latest snapshot in which nothing is that was undone later."""
    while (found := store.snapshot(definition.name, up_to)) is not None:
        number, digest, state = found
        later = [target for undo, target in targets.items() if undo > number]
        wrong = [target for target in (*later, *without) if target <= number]
        if wrong:
            up_to = min(wrong) - 1
            continue
        allocator, decisions = read_snapshot(state)
        return LivePool(definition, allocator, number, digest, decisions)
    return LivePool.new(definition)
