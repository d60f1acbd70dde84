"""All pools of a store at work, kept up to date with what other processes write to it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

from evenhand._util.wording import nearest
from evenhand.errors import EvenhandError, StoreUnavailable, UnknownPool, UnreadablePool
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.policy_folder import PolicyFolder
from evenhand.serve.pools.pool_room import PoolRoom
from evenhand.serve.pools.state_from_log import LATEST, load_pool
from evenhand.serve.store.decision_store import DecisionStore

NOT_FORESEEN = "its log cannot be read, and nobody foresaw why: the log of the service says more."
TRY_AGAIN = 10.0  # seconds after which a pool that could not be read is read again


class PoolRooms:
    """Pools by name.

    Args:
        store: Where the log is.
        policies: Where the files of learned policies are.
        log: Where a line is written about a pool that cannot be read.
    """

    def __init__(
        self,
        store: DecisionStore,
        policies: PolicyFolder,
        log: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.store, self.policies, self._log = store, policies, log
        self.by_name: dict[str, PoolRoom] = {}
        self.unreadable: dict[str, str] = {}  # why, of those that cannot be read
        self._tried: dict[str, float] = {}  # when they were read last

    def room(self, name: str) -> PoolRoom:
        """A pool by its name."""
        if name in self.unreadable:
            raise UnreadablePool(name, self.unreadable[name])
        if name not in self.by_name:
            raise UnknownPool(name, nearest=nearest(name, self.by_name))
        return self.by_name[name]

    async def live(self, name: str) -> LivePool:
        """The state of a pool, read anew if part of it could not be written."""
        room = self.room(name)
        if room.failed:
            async with room.lock:
                if room.failed:
                    with self._reading(name):
                        await self.read_anew(room)
        return self.room(name).pool

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
            if name not in self.by_name and self._is_due(name):
                with self._reading(name):
                    await self._open(name)

    async def _open(self, name: str) -> None:
        pool = await asyncio.to_thread(self.load, name)
        if name not in self.by_name:
            room = self.by_name[name] = PoolRoom(pool, generation=1, saved=pool.number)
            room.tell(pool.number)

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """A pool that cannot be read, such as for want of a file, keeps nobody from the others."""
        self._tried[name] = time.monotonic()
        try:
            yield
        except StoreUnavailable:  # which is not about this pool
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, EvenhandError) else NOT_FORESEEN
            if name not in self.unreadable and self._log is not None:
                self._log({"pool": name, "error": f"{type(error).__name__}: {error}"})
            self.unreadable[name] = reason
        else:
            self.unreadable.pop(name, None)

    def _is_due(self, name: str) -> bool:
        """Whether to read a pool: one that could not be read is not read again at once."""
        later = self._tried.get(name, 0.0) + TRY_AGAIN
        return name not in self.unreadable or time.monotonic() >= later

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
                news = head > room.pool.number and not room.waiting
                if (room.failed or news) and self._is_due(name):
                    with self._reading(name):
                        await self.read_anew(room)
