"""A pool with those who wait at it: who may change it now, and who listens for what happens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from evenhand.serve.pools.live_pool import LivePool


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
