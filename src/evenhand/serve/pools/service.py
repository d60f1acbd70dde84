"""The service: pools by name, changed one after the other, answered once they are on disk."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evenhand._util.wording import nearest
from evenhand.auditing.options import AuditOptions
from evenhand.errors import BadParameter, EvenhandError, StoreConflict, UnknownPool
from evenhand.serve.pools.changes import Change, DecisionUndone
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.fold import LATEST, SNAPSHOTS_KEPT, load_pool, pool_state, save_pool
from evenhand.serve.pools.history_import import import_history
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.pool_file import first_entries
from evenhand.serve.pools.pool_room import PoolRoom
from evenhand.serve.pools.views import decision_view
from evenhand.serve.store.decision_store import Append, DecisionStore, KeptAnswer, StoredToken
from evenhand.serve.store.group_commit import GroupCommit
from evenhand.serve.store.log_entry import LogEntry

ATTEMPTS = 50  # to write an entry while other processes are quicker
FOLLOW_EVERY = 0.5  # seconds between looks at what other processes wrote
LEAST_BETWEEN_SNAPSHOTS = 1_000


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass(frozen=True)
class Request:
    """Who asks for a change, and the key by which a retry is known.

    Args:
        actor: The name of the token.
        key: The idempotency key, if there is one.
        content: What was asked for, to refuse a key that is used for something else.
    """

    actor: str
    key: str | None = None
    content: bytes = b""

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.content).digest()


Answerer = Callable[[LivePool, LogEntry], dict[str, Any]]
Preparation = Callable[[PoolRoom], Awaitable[None]]
Maker = Callable[[LivePool, int], Change]


class DecisionService:
    """All pools of a store.

    Args:
        store: Where the log is.
    """

    def __init__(self, store: DecisionStore) -> None:
        self.store = store
        self.rooms: dict[str, PoolRoom] = {}
        self.tokens: list[StoredToken] = []
        self._writer: GroupCommit | None = None
        self._answering: dict[tuple[str, str, str], asyncio.Future[bytes]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.heavy = asyncio.Semaphore(1)  # one audit, import or export at a time
        self.stopping = False

    async def start(self) -> None:
        """Read every pool, and begin to write."""
        self._writer = GroupCommit(self.store, asyncio.get_running_loop())
        await self._load_new()
        await self.refresh_tokens()
        await asyncio.to_thread(self.store.begin_serving)
        self._begin(self._follow())

    async def stop(self) -> None:
        """Write what is queued, keep the states, and end."""
        self.hang_up()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._writer is not None:
            await asyncio.to_thread(self._writer.stop)
        for room in self.rooms.values():
            if room.pool.number > room.saved and not room.failed:
                with contextlib.suppress(EvenhandError):  # the log is what counts
                    await asyncio.to_thread(save_pool, self.store, room.pool)

    def hang_up(self) -> None:
        """Let those who listen to what happens know that it is over."""
        self.stopping = True
        for room in self.rooms.values():
            room.tell(room.written)

    @property
    def writer(self) -> GroupCommit:
        assert self._writer is not None, "the service has not started"
        return self._writer

    def room(self, name: str) -> PoolRoom:
        """A pool by its name."""
        if name not in self.rooms:
            raise UnknownPool(name, nearest=nearest(name, self.rooms))
        return self.rooms[name]

    async def live(self, name: str) -> LivePool:
        """The state of a pool, read anew if part of it could not be written."""
        room = self.room(name)
        if room.failed:
            async with room.gate:
                if room.failed:
                    await self._read_anew(room)
        return room.pool

    # Changes.

    async def make_pool(
        self, definition: PoolDefinition, actor: str, people: Sequence[tuple[str, float]] = ()
    ) -> PoolRoom:
        """A new pool, with those who are there from the start; refused if its name is taken.

        Args:
            definition: What it is.
            actor: Who asks for it.
            people: The names and what each is entitled to.
        """
        if definition.name in self.rooms:
            raise _taken(definition.name)
        pool, moment = LivePool.new(definition), now()
        entries = first_entries(pool, people, actor, moment)
        try:
            await self.writer.write(Append(entries, new_pool=pool.name), pool.name, 0)
        except StoreConflict:
            await self._load_new()
            raise _taken(definition.name) from None
        room = self.rooms[pool.name] = PoolRoom(pool, generation=1)
        room.tell(pool.number)
        return room

    async def change(
        self,
        name: str,
        asked: Request,
        make: Maker,
        answer: Answerer,
        before: Preparation | None = None,
    ) -> bytes:
        """Let something happen in a pool: the answer as JSON, once it is on disk.

        Args:
            name: The pool.
            asked: Who asks. A key that was used before gets the same answer, and nothing happens.
            make: What is to happen, from the state as it is then; asked again if another process
                was quicker.
            answer: What is answered, from the state after it and its entry.
            before: What is done with the room first, while nobody else can change the state.
        """
        if asked.key is None:
            return await self._change(name, asked, make, answer, before)
        place = (name, asked.actor, asked.key)
        if place in self._answering:  # the same request is being answered at this moment
            with contextlib.suppress(EvenhandError, asyncio.CancelledError):
                await asyncio.shield(self._answering[place])
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if place in self._answering:
            return await self.change(name, asked, make, answer, before)
        self._answering[place] = future
        try:
            kept = await asyncio.to_thread(self.store.kept_answer, *place)
            if kept is not None:
                return _same(kept, asked)
            return await self._change(name, asked, make, answer, before)
        finally:
            del self._answering[place]
            future.set_result(b"")

    async def _change(
        self,
        name: str,
        asked: Request,
        make: Maker,
        answer: Answerer,
        before: Preparation | None = None,
    ) -> bytes:
        room = self.room(name)
        for _ in range(ATTEMPTS):
            async with room.gate:
                if room.failed:
                    await self._read_anew(room)
                if before is not None:
                    await before(room)
                moment = now()
                change = make(room.pool, moment)
                entry, said = self._record(room, change, asked.actor, moment, answer)
                kept = None
                if asked.key is not None:
                    kept = KeptAnswer(name, asked.actor, asked.key, asked.digest, said)
                done = self.writer.write(Append((entry,), kept), name, room.generation)
            try:
                await self._written(room, entry, done)
            except StoreConflict as conflict:
                if conflict.table == "answers":  # another process has answered this request
                    found = await asyncio.to_thread(
                        self.store.kept_answer, name, asked.actor, asked.key or ""
                    )
                    if found is not None:
                        return _same(found, asked)
                continue
            return said
        raise StoreConflict("entries")

    def _record(
        self, room: PoolRoom, change: Change, actor: str, moment: int, answer: Answerer
    ) -> tuple[LogEntry, bytes]:
        try:
            entry = room.pool.record(change, actor, moment)
            return entry, orjson.dumps(answer(room.pool, entry))
        except BaseException:
            room.failed = True  # part of it may have happened: the log says what did
            raise

    async def _written(self, room: PoolRoom, entry: LogEntry, done: asyncio.Future[None]) -> None:
        """Wait until an entry is on disk. Whoever asked may have gone: the entry is still noted."""
        room.waiting += 1
        generation = room.generation

        def note(future: asyncio.Future[None]) -> None:
            room.waiting -= 1
            if future.cancelled() or future.exception() is None:
                room.tell(entry.number)
            elif room.generation == generation:
                room.failed = True

        done.add_done_callback(note)
        await asyncio.shield(done)
        self._save_now_and_then(room)

    async def undo(self, name: str, asked: Request, taken: LogEntry, reason: str | None) -> bytes:
        """Let a decision count as not taken, which is an entry of its own."""

        async def leave_out(room: PoolRoom) -> None:
            if taken.number in room.pool.undone:
                raise BadParameter(f"decision {taken.number} was undone before.")
            await room.all_written()
            without = frozenset((taken.number,))
            room.pool = await asyncio.to_thread(load_pool, self.store, name, LATEST, without)
            room.pool.undone.add(taken.number)

        return await self.change(
            name,
            asked,
            lambda pool, _: DecisionUndone(taken.number, reason),
            lambda pool, entry: decision_view(taken, undone=True, turn=pool.turn),
            leave_out,
        )

    async def import_history(
        self, name: str, actor: str, log: str, options: AuditOptions
    ) -> PoolRoom:
        """Let a log be the history of a pool to which nothing has happened yet."""
        room = self.room(name)
        async with room.gate:
            await self._read_anew(room)
            pool = await asyncio.to_thread(load_pool, self.store, name)  # which may fail half way
            await asyncio.to_thread(import_history, self.store, pool, log, options, actor, now())
            room.pool = pool
            room.tell(pool.number)
        self._save_now_and_then(room)
        return room

    # What other processes do.

    async def refresh(self) -> None:
        """Read what other processes wrote to the store."""
        await self._load_new()
        await self.refresh_tokens()
        for name, room in list(self.rooms.items()):
            head = await asyncio.to_thread(self.store.head, name)
            async with room.gate:
                if room.failed or (head > room.pool.number and not room.waiting):
                    await self._read_anew(room)

    async def refresh_tokens(self) -> None:
        """Read who may ask."""
        self.tokens = await asyncio.to_thread(self.store.tokens)

    async def check(self) -> None:
        """Refuse to be called healthy if the store cannot be read."""
        await asyncio.to_thread(self.store.version)

    def gauges(self) -> dict[str, float]:
        """Numbers of the moment, for those who watch."""
        pools = [room.pool for room in self.rooms.values()]
        return {
            "pools": len(pools),
            "stakeholders": sum(pool.allocator.state.there.count(1) for pool in pools),
            "decisions": sum(pool.decisions for pool in pools),
            "entries": sum(pool.number for pool in pools),
            "commits": self.writer.commits,
            "entries_written": self.writer.written,
            "writes_waiting": self.writer.waiting,
        }

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_EVERY)
            with contextlib.suppress(EvenhandError):  # those who ask are told
                await self.refresh()
                await asyncio.to_thread(self.store.tidy)

    async def _load_new(self) -> None:
        for name in await asyncio.to_thread(self.store.pools):
            if name not in self.rooms:
                pool = await asyncio.to_thread(load_pool, self.store, name)
                if name not in self.rooms:
                    room = self.rooms[name] = PoolRoom(pool, generation=1, saved=pool.number)
                    room.tell(pool.number)

    async def _read_anew(self, room: PoolRoom) -> None:
        """Take the state from the log. Nobody else changes it meanwhile: the gate is held."""
        await room.all_written()
        room.pool = await asyncio.to_thread(load_pool, self.store, room.pool.name)
        room.generation += 1
        room.failed = False
        room.tell(room.pool.number)

    # Snapshots.

    def _save_now_and_then(self, room: PoolRoom) -> None:
        pool = room.pool
        between = max(LEAST_BETWEEN_SNAPSHOTS, len(pool.allocator.names))
        if room.failed or pool.number < room.saved + between:
            return
        room.saved = pool.number
        self._begin(self._save(room))

    async def _save(self, room: PoolRoom) -> None:
        """Keep the state as it is now, once all of it is on disk."""
        pool, generation, number, digest = (
            *(room.pool, room.generation),
            *(room.pool.number, room.pool.digest),
        )
        state = pool_state(pool)
        while room.written < number:
            await room.news(number - 1, 1.0)
            if room.failed or room.generation != generation:
                return
        with contextlib.suppress(EvenhandError):  # the log is what counts
            await asyncio.to_thread(
                self.store.save_snapshot, pool.name, number, digest, state, SNAPSHOTS_KEPT
            )

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _same(kept: KeptAnswer, asked: Request) -> bytes:
    if kept.request != asked.digest:
        raise BadParameter(
            f"the idempotency key {asked.key!r} was used for another request: use a new key for "
            "each, and the same one to try again."
        )
    return kept.answer


def _taken(name: str) -> BadParameter:
    return BadParameter(f"there is a pool {name!r} already: choose another name.")
