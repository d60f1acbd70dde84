"""Group commit: many writers at once share one wait for the disk.

A thread takes all that is queued, writes it in one transaction and then answers everybody. While
it waits for the disk, the next group gathers. So the disk bounds how long one waits, and not how
many can decide in a second.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.errors import EvenhandError, StoreConflict, StoreUnavailable
from evenhand.serve.store.decision_store import Append, DecisionStore

MOST_TOGETHER = 512


@dataclass(frozen=True, eq=False)
class _Item:
    append: Append
    pool: str
    generation: int
    done: asyncio.Future[None]


class GroupCommit:
    """The one who writes to the store.

    The state in memory runs ahead of the disk. So once an entry of a pool could not be written,
    the later ones of the same `generation` of that state rest on what did not happen, and are
    refused too, until the pool was read anew. A pool that could not be made leaves nothing to rest
    on: its name is free.

    Args:
        store: Where to write.
        loop: Where those wait who are answered.
    """

    def __init__(self, store: DecisionStore, loop: asyncio.AbstractEventLoop) -> None:
        self._store, self._loop = store, loop
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._failed: dict[str, int] = {}  # the latest generation of each pool that failed
        self.commits = 0
        self.written = 0
        self._thread = threading.Thread(target=self._work, name="group commit", daemon=True)
        self._thread.start()

    def write(self, append: Append, pool: str, generation: int) -> asyncio.Future[None]:
        """Queue a write: what is returned is done once it is on disk, or has failed."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put(_Item(append, pool, generation, done))
        return done

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def stop(self) -> None:
        """Write what is queued, and end."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        over = False
        while not over:
            items = [self._queue.get()]
            while len(items) < MOST_TOGETHER and not self._queue.empty():
                items.append(self._queue.get())
            over = None in items
            batch = [item for item in items if item is not None]
            if batch:
                answers = self._commit(batch)
                self._loop.call_soon_threadsafe(_answer, batch, answers)

    def _commit(self, batch: Sequence[_Item]) -> list[EvenhandError | None]:
        if not any(self._rests_on_failure(item) for item in batch):
            try:
                self._append(batch)
                return [None] * len(batch)
            except EvenhandError:
                pass  # one of them is to blame: which one is found out one by one
        return [self._commit_one(item) for item in batch]

    def _commit_one(self, item: _Item) -> EvenhandError | None:
        if self._rests_on_failure(item):
            return StoreConflict("entries")
        try:
            self._append([item])
        except EvenhandError as error:
            if item.append.new_pool is None:
                self._failed[item.pool] = item.generation
            return error
        return None

    def _append(self, batch: Sequence[_Item]) -> None:
        try:
            self._store.append([item.append for item in batch])
        except EvenhandError:
            raise
        except Exception as error:  # such as a full disk: nobody is left waiting
            raise StoreUnavailable(f"the log cannot be written ({error}).") from error
        self.commits += 1
        self.written += len(batch)

    def _rests_on_failure(self, item: _Item) -> bool:
        return self._failed.get(item.pool, -1) >= item.generation


def _answer(batch: Sequence[_Item], answers: Sequence[EvenhandError | None]) -> None:
    for item, error in zip(batch, answers, strict=True):
        if item.done.cancelled():
            continue
        if error is None:
            item.done.set_result(None)
        else:
            item.done.set_exception(error)
