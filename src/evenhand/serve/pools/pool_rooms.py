"""All pools of a store at work, kept up to date with what other processes write to it."""

from __future__ import annotations

import asyncio
import gc

from evenhand._util.wording import nearest
from evenhand.errors import UnknownPool
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.policy_folder import PolicyFolder
from evenhand.serve.pools.pool_room import PoolRoom
from evenhand.serve.pools.state_from_log import LATEST, load_pool
from evenhand.serve.store.decision_store import DecisionStore


class PoolRooms:
    """Pools by name.

    Args:
        store: Where the log is.
        policies: Where the files of learned policies are.
    """

    def __init__(self, store: DecisionStore, policies: PolicyFolder) -> None:
        self.store, self.policies = store, policies
        self.by_name: dict[str, PoolRoom] = {}

    def room(self, name: str) -> PoolRoom:
        """A pool by its name."""
        if name not in self.by_name:
            raise UnknownPool(name, nearest=nearest(name, self.by_name))
        return self.by_name[name]

    async def live(self, name: str) -> LivePool:
        """The state of a pool, read anew if part of it could not be written."""
        room = self.room(name)
        if room.failed:
            async with room.lock:
                if room.failed:
                    await self.read_anew(room)
        return room.pool

    def load(
        self, name: str, up_to: int = LATEST, without: frozenset[int] = frozenset()
    ) -> LivePool:
        """The state of a pool from its log (see `load_pool`)."""
        return load_pool(self.store, name, up_to, without, self.policies)

    async def load_aside(self, name: str, without: frozenset[int] = frozenset()) -> LivePool:
        """The latest state from the log, while others are answered."""
        pool = await asyncio.to_thread(self.load, name, LATEST, without)
        if gc.get_freeze_count():  # as in a process of its own: what stays is not looked through
            gc.freeze()
        return pool

    async def load_new(self) -> None:
        """Open the pools that another process, or nobody yet, has opened."""
        for name in await asyncio.to_thread(self.store.pools):
            if name not in self.by_name:
                pool = await asyncio.to_thread(self.load, name)
                if name not in self.by_name:
                    room = self.by_name[name] = PoolRoom(pool, generation=1, saved=pool.number)
                    room.tell(pool.number)

    async def read_anew(self, room: PoolRoom) -> None:
        """Take the state from the log. Nobody else changes it meanwhile: its lock is held."""
        await room.all_written()
        room.pool = await self.load_aside(room.pool.name)
        room.generation += 1
        room.failed = False
        room.tell(room.pool.number)

    async def follow(self) -> None:
        """Read what other processes wrote to the store."""
        await self.load_new()
        for name, room in list(self.by_name.items()):
            head = await asyncio.to_thread(self.store.head, name)
            async with room.lock:
                if room.failed or (head > room.pool.number and not room.waiting):
                    await self.read_anew(room)
