"""Snapshots now and then, beside those who decide."""

from __future__ import annotations

import asyncio
import contextlib

from evenhand.errors import EvenhandError
from evenhand.serve.pools.pool_room import PoolRoom
from evenhand.serve.pools.pool_snapshot import PoolSnapshot, can_be_kept
from evenhand.serve.store.decision_store import DecisionStore

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
