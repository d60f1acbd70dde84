"""A pool in memory: folded from its log and snapshots, with those who wait at it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import zlib
from dataclasses import dataclass, field

import orjson

from evenhand.decide.allocator import Allocator, AllocatorCopy
from evenhand.decide.rules.rule import RULES
from evenhand.errors import BadStore, EvenhandError, UnknownPool
from evenhand.events import Undo
from evenhand.serve.pools.files import NO_POLICIES, PolicyFolder
from evenhand.serve.pools.pool import Decision, LivePool, PoolDefinition, PoolMade, read_change
from evenhand.serve.store.store import DecisionStore

# A pool with those who wait at it: who may change it now, and who listens for what happens.


@dataclass(eq=False)
class PoolRoom:
    """A pool in a running service.

    Args:
        pool: Its state, which runs ahead of the disk.
        lock: Held by whoever changes the state.
        generation: How often the state was read anew from the log.
        failed: Whether something in the state could not be written, so that it must be read anew.
        waiting: How many entries are in the state and not yet on disk.
        saved: The number of the entry of the last snapshot.
        written: The number of the last entry that is on disk.
    """

    pool: LivePool
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    generation: int = 0
    failed: bool = False
    waiting: int = 0
    saved: int = 0
    written: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, number: int) -> None:
        """An entry is on disk: whoever listens may read it."""
        self.written = max(self.written, number)
        self._news.set()
        self._news = asyncio.Event()

    async def news(self, after: int, limit: float) -> None:
        """Wait until there is an entry after a number, or so many seconds are over."""
        if self.written > after:
            return
        try:
            await asyncio.wait_for(self._news.wait(), limit)
        except TimeoutError:
            return

    async def all_written(self) -> None:
        """Wait until nothing of the state is still to be written, or it has failed to be."""
        while self.waiting:
            await asyncio.sleep(0.001)


# A snapshot of a pool: its state at one entry of the log, from which the next fold goes on.
#
# To write down the state of very many takes long. So it is copied first, which is quick, and the
# copy is written beside those who decide, in pieces after each of which they have their turn.

SNAPSHOTS_KEPT = 3
AT_ONCE = 500  # people of a piece


def can_be_kept(pool: LivePool) -> bool:
    """Whether a snapshot can hold the state; what a learned policy remembers it cannot."""
    return RULES.name_of(pool.allocator.rule) is not None


@dataclass(frozen=True)
class PoolSnapshot:
    """The state of a pool as it was; nothing that happens later changes it.

    Args:
        pool: Its name.
        number: The number of the last entry.
        digest: Its digest.
        decisions: How many decisions were taken and not undone.
        state: Who is next.
    """

    pool: str
    number: int
    digest: bytes
    decisions: int
    state: AllocatorCopy

    @staticmethod
    def of(pool: LivePool) -> PoolSnapshot:
        state = AllocatorCopy.of(pool.allocator)
        return PoolSnapshot(pool.name, pool.number, pool.digest, pool.decisions, state)

    def save(self, store: DecisionStore) -> None:
        """Keep it in the store, so that the next fold begins here."""
        store.save_snapshot(self.pool, self.number, self.digest, self._written(), SNAPSHOTS_KEPT)

    def _written(self) -> bytes:
        packer = zlib.compressobj(1)
        head = orjson.dumps({"decisions": self.decisions, "allocator": self.state.head})
        parts = [packer.compress(head[:-2] + b',"stakeholders":[')]
        people, between = self.state.people(), b""
        while piece := list(itertools.islice(people, AT_ONCE)):
            parts.append(packer.compress(between + orjson.dumps(piece)[1:-1]))
            between = b","
        return b"".join((*parts, packer.compress(b"]}}"), packer.flush()))


def read_snapshot(state: bytes) -> tuple[Allocator, int]:
    """Who is next, and how many decisions were taken, of a snapshot as the store has it."""
    try:
        table = orjson.loads(zlib.decompress(state))
        return Allocator.restore(table["allocator"]), int(table["decisions"])
    except (zlib.error, ValueError, KeyError, TypeError, EvenhandError) as error:
        raise BadStore(f"a snapshot in the store cannot be read ({error}).") from None


# Snapshots now and then, beside those who decide.

LEAST_BETWEEN = 1_000  # entries; or as many as there are people, as a snapshot holds all of them


class SnapshotKeeper:
    """Whoever keeps the states of pools.

    Args:
        store: Where they are kept.
    """

    def __init__(self, store: DecisionStore) -> None:
        self._store = store

    def due(self, room: PoolRoom) -> PoolSnapshot | None:
        """The state as it is now, if enough has happened since the last one."""
        pool = room.pool
        between = max(LEAST_BETWEEN, len(pool.allocator.names))
        if room.failed or pool.number < room.saved + between or not can_be_kept(pool):
            return None
        room.saved = pool.number
        return PoolSnapshot.of(pool)

    async def save(self, room: PoolRoom, snapshot: PoolSnapshot) -> None:
        """Keep a state, once all of it is on disk."""
        generation = room.generation
        while room.written < snapshot.number:
            await room.news(snapshot.number - 1, 1.0)
            if room.failed or room.generation != generation:
                return
        await self._write(snapshot)

    async def save_last(self, room: PoolRoom) -> None:
        """Keep the state in the end, when everything is on disk."""
        if room.pool.number > room.saved and not room.failed and can_be_kept(room.pool):
            await self._write(PoolSnapshot.of(room.pool))

    async def _write(self, snapshot: PoolSnapshot) -> None:
        with contextlib.suppress(EvenhandError):  # the log is what counts
            await asyncio.to_thread(snapshot.save, self._store)


# The state of a pool from its log: a snapshot, and a fold over the entries since.
#
# A decision that was undone is left out of the fold, as if it had not been taken: for rules with a
# memory that fades or draws lots, giving back would not be the same. A snapshot that holds a
# decision which was undone after it is of no use; an earlier one is taken, or none.

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
