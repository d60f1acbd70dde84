"""The service: pools by name, changed one after the other, answered once they are on disk."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.errors import BadParameter, EvenhandError, StoreConflict
from evenhand.serve.pools.asked_changes import AnswersOnce, AskedChange
from evenhand.serve.pools.changes import Change, DecisionUndone
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.history_import import import_history
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.policy_folder import NO_POLICIES, PolicyFolder
from evenhand.serve.pools.pool_file import first_entries
from evenhand.serve.pools.pool_room import PoolRoom
from evenhand.serve.pools.pool_rooms import PoolRooms
from evenhand.serve.pools.snapshot_keeper import SnapshotKeeper
from evenhand.serve.pools.views import decision_view, pool_view
from evenhand.serve.store.decision_store import Append, DecisionStore, StoredToken
from evenhand.serve.store.group_commit import GroupCommit
from evenhand.serve.store.log_entry import LogEntry

ATTEMPTS = 50  # to write an entry while other processes are quicker
FOLLOW_EVERY = 0.5  # seconds between looks at what other processes wrote


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


Answerer = Callable[[LivePool, LogEntry], dict[str, Any]]
Preparation = Callable[[PoolRoom], Awaitable[None]]
Maker = Callable[[LivePool, int], Change]


class DecisionService:
    """All pools of a store.

    Args:
        store: Where the log is.
        policies: Where the files of learned policies are.
        log: Where a line is written about what cannot be read.
    """

    def __init__(
        self,
        store: DecisionStore,
        policies: PolicyFolder = NO_POLICIES,
        log: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.store = store
        self.pools = PoolRooms(store, policies, log)
        self.tokens: list[StoredToken] = []
        self._writer: GroupCommit | None = None
        self._once, self._snapshots = AnswersOnce(store), SnapshotKeeper(store)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.heavy = asyncio.Semaphore(1)  # one audit, import or export at a time
        self.stopping = False

    async def start(self) -> None:
        """Read every pool, and begin to write."""
        self._writer = GroupCommit(self.store, asyncio.get_running_loop())
        await self.pools.load_new()
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
            await self._snapshots.save_last(room)

    def hang_up(self) -> None:
        """Let those who listen to what happens know that it is over."""
        self.stopping = True
        for room in self.rooms.values():
            room.tell(room.written)

    @property
    def writer(self) -> GroupCommit:
        assert self._writer is not None, "the service has not started"
        return self._writer

    @property
    def rooms(self) -> dict[str, PoolRoom]:
        return self.pools.by_name

    def room(self, name: str) -> PoolRoom:
        """A pool by its name."""
        return self.pools.room(name)

    async def live(self, name: str) -> LivePool:
        """The state of a pool."""
        return await self.pools.live(name)

    # Changes.

    async def make_pool(
        self,
        definition: PoolDefinition,
        asked: AskedChange,
        people: Sequence[tuple[str, float]] = (),
    ) -> bytes:
        """A new pool, with those who are there from the start; answered as JSON.

        Refused if its name is taken.

        Args:
            definition: What it is.
            asked: Who asks for it. A key that was used before gets the same answer.
            people: The names and what each is entitled to.
        """

        async def carry_out() -> bytes:
            return await self._make_pool(definition, asked, people)

        answer = await self._once.answer(definition.name, asked, carry_out)
        if definition.name not in self.rooms:  # it was written, and the answer to that was lost
            await self.pools.load_new()
        return answer

    async def _make_pool(
        self, definition: PoolDefinition, asked: AskedChange, people: Sequence[tuple[str, float]]
    ) -> bytes:
        name = definition.name
        if name in self.rooms:
            raise _taken(name)
        pool = LivePool.new(definition)
        entries = first_entries(pool, people, asked.actor, now())
        answer = orjson.dumps(pool_view(pool))
        try:
            await self.writer.write(Append(entries, asked.kept(name, answer), name), name, 0)
        except StoreConflict:
            found = await self._once.before(name, asked)  # of another process
            await self.pools.load_new()
            if found is None:
                raise _taken(name) from None
            return found
        # Whoever follows the store may have been quicker.
        room = self.rooms.setdefault(name, PoolRoom(pool, generation=1))
        room.tell(pool.number)
        return answer

    async def change(
        self,
        name: str,
        asked: AskedChange,
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

        async def carry_out() -> bytes:
            return await self._change(name, asked, make, answer, before)

        return await self._once.answer(name, asked, carry_out)

    async def _change(
        self,
        name: str,
        asked: AskedChange,
        make: Maker,
        answer: Answerer,
        before: Preparation | None = None,
    ) -> bytes:
        room = self.room(name)
        for _ in range(ATTEMPTS):
            async with room.lock:
                if room.failed:
                    await self.pools.read_anew(room)
                if before is not None:
                    await before(room)
                moment = now()
                change = make(room.pool, moment)
                entry, said = self._record(room, change, asked.actor, moment, answer)
                append = Append((entry,), asked.kept(name, said))
                done = self.writer.write(append, name, room.generation)
            try:
                await self._written(room, entry, done)
            except StoreConflict as conflict:
                if conflict.table == "answers":  # another process has answered this request
                    found = await self._once.before(name, asked)
                    if found is not None:
                        return found
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

    async def undo(
        self, name: str, asked: AskedChange, taken: LogEntry, reason: str | None
    ) -> bytes:
        """Let a decision count as not taken, which is an entry of its own."""

        async def leave_out(room: PoolRoom) -> None:
            if taken.number in room.pool.undone:
                raise BadParameter(f"decision {taken.number} was undone before.")
            await room.all_written()
            without = frozenset((taken.number,))
            room.pool = await self.pools.load_aside(name, without)
            room.pool.undone.add(taken.number)

        return await self.change(
            name,
            asked,
            lambda pool, _: DecisionUndone(taken.number, reason),
            lambda pool, entry: decision_view(taken, undone=True, turn=pool.turn),
            leave_out,
        )

    async def import_history(
        self,
        name: str,
        asked: AskedChange,
        log: str,
        options: AuditOptions,
    ) -> bytes:
        """Let a log be the history of a pool to which nothing has happened yet; answered as JSON.

        Args:
            name: The pool.
            asked: Who asks for it. A key that was used before gets the same answer.
            log: The path of the log.
            options: Which columns hold what, as of an audit.
        """

        async def carry_out() -> bytes:
            return await self._import_history(name, asked, log, options)

        return await self._once.answer(name, asked, carry_out)

    async def _import_history(
        self, name: str, asked: AskedChange, log: str, options: AuditOptions
    ) -> bytes:
        room = self.room(name)
        async with room.lock:
            await self.pools.read_anew(room)
            pool = await self.pools.load_aside(name)  # which may fail half way
            answer = await asyncio.to_thread(
                import_history, self.store, pool, log, options, asked, now(), Notes()
            )
            room.pool = pool
            room.tell(pool.number)
        self._save_now_and_then(room)
        return answer

    # What other processes do.

    async def refresh(self) -> None:
        """Read what other processes wrote to the store."""
        await self.refresh_tokens()
        await self.pools.follow()

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
            "pools_unreadable": len(self.pools.unreadable),
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

    def _save_now_and_then(self, room: PoolRoom) -> None:
        snapshot = self._snapshots.due(room)
        if snapshot is not None:
            self._begin(self._snapshots.save(room, snapshot))

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _taken(name: str) -> BadParameter:
    return BadParameter(f"there is a pool {name!r} already: choose another name.")
