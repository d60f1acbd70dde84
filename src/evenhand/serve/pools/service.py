"""The service: pools by name, changed one after the other, answered once they are on disk."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand._util.wording import nearest
from evenhand.errors import (
    BadParameter,
    EvenhandError,
    StoreConflict,
    StoreUnavailable,
    UnknownDecision,
    UnknownPool,
    UnreadablePool,
)
from evenhand.events import MemberEvent, Moment, Undo
from evenhand.serve.pools.explain import explain, forecast, recent_rate
from evenhand.serve.pools.exports import alarms_of_pool, audit_pool, received_over_time
from evenhand.serve.pools.files import NO_POLICIES, PolicyFolder
from evenhand.serve.pools.imports import first_entries, import_history
from evenhand.serve.pools.pool import (
    Answer,
    AnswersOnce,
    AskedChange,
    Change,
    Decision,
    LivePool,
    PoolDefinition,
    Wish,
    decision_view,
    entry_view,
    pool_view,
    proposal_view,
    read_decision,
    stakeholder_view,
)
from evenhand.serve.pools.state import LATEST, PoolRoom, SnapshotKeeper, load_pool
from evenhand.serve.store.sqlite_store import GroupCommit
from evenhand.serve.store.store import Append, DecisionStore, LogEntry, StoredToken

if TYPE_CHECKING:
    from evenhand.auditing.answer import Answer as Audit
    from evenhand.log.log import Log


# All pools of a store at work, kept up to date with what other processes write to it.

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


# The service: pools by name, changed one after the other, answered once they are on disk.

ATTEMPTS = 50  # to write an entry while other processes are quicker
FOLLOW_EVERY = 0.5  # seconds between looks at what other processes wrote
FURTHEST_BACK = 200_000  # entries that are read again to explain a decision of long ago
RECENT = 200  # decisions by which the expected number a day is estimated


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


Answerer = Callable[[LivePool, LogEntry, Change], Answer]
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

    def known_tokens(self) -> Sequence[StoredToken]:
        """Who may ask, at this moment."""
        return self.tokens

    # What is asked; nothing changes.

    async def all_pools(self) -> Answer:
        """All pools; `unreadable` are those that this process cannot read, and why."""
        shown = []
        for name in sorted(self.rooms):
            with contextlib.suppress(UnreadablePool):
                shown.append(pool_view(await self.live(name)))
        reasons = sorted(self.pools.unreadable.items())
        unreadable = [{"name": name, "reason": reason} for name, reason in reasons]
        return {"pools": shown, "unreadable": unreadable}

    async def who_is_next(self, name: str, wish: Wish) -> Answer:
        """Whom the rule proposes, and why."""
        live = await self.live(name)
        return proposal_view(live, live.propose(wish, now()), wish.amount)

    async def why(self, name: str, who: str, wish: Wish) -> Answer:
        """Why somebody is next now, or why not, and what would have to differ."""
        return explain(await self.live(name), who, wish, now())

    async def forecast(self, name: str, who: str, per_day: float | None, amount: float) -> Answer:
        """When somebody's turn will come, and under which assumptions."""
        live = await self.live(name)
        latest = await asyncio.to_thread(self.store.latest, name, Decision.kind, None, RECENT)
        times = [read_decision(one).at for one in latest if one.number not in live.undone]
        recent = recent_rate(live, times, now())
        return forecast(live, who, Wish(amount), now(), per_day, recent)

    async def standing(self, name: str, cursor: int, limit: int) -> Answer:
        """Where everybody stands, whoever is next first; those who are not eligible come last."""
        live = await self.live(name)
        ranked = live.allocator.ranking(most=cursor + limit + 1)
        return {
            "pool": name,
            "turn": live.turn,
            "eligible": len(live.allocator.state.heap),
            "stakeholders": [
                stakeholder_view(live, one) for one in ranked[cursor : cursor + limit]
            ],
            "cursor": cursor + limit if len(ranked) > cursor + limit else None,
        }

    async def events(self, name: str, cursor: int, limit: int) -> Answer:
        """Entries of the log in order, after one of them."""
        self.room(name)
        found = await asyncio.to_thread(self.store.entries, name, cursor, limit + 1)
        more = found[limit - 1].number if len(found) > limit else None
        return {"entries": [entry_view(entry) for entry in found[:limit]], "cursor": more}

    async def decisions(self, name: str, cursor: int | None, limit: int) -> Answer:
        """The decisions before one of them, the latest first."""
        live = await self.live(name)
        found = await asyncio.to_thread(self.store.latest, name, Decision.kind, cursor, limit + 1)
        shown = [decision_view(entry, entry.number in live.undone) for entry in found[:limit]]
        return {
            "decisions": shown,
            "cursor": shown[-1]["number"] if len(found) > limit else None,
        }

    async def decision(self, name: str, number: int) -> Answer:
        """One decision of the log."""
        entry = await self._entry(name, number)
        return decision_view(entry, number in (await self.live(name)).undone)

    async def why_then(self, name: str, number: int, who: str | None = None) -> Answer:
        """Why a decision was as it was; or why somebody else was not chosen then.

        The state before it is made again from the log.
        """
        entry = await self._entry(name, number)
        taken = read_decision(entry)
        shown = decision_view(entry, number in (await self.live(name)).undone, taken=taken)
        (first, amount), *_ = taken.shares
        wish = Wish(amount, among=taken.among, at=taken.at)

        def then() -> Answer:
            self._require_near(name, number)
            before = self.pools.load(name, number - 1)
            return explain(before, first if who is None else who, wish, entry.recorded)

        return {"decision": shown, "why": await asyncio.to_thread(then)}

    async def _entry(self, name: str, number: int) -> LogEntry:
        self.room(name)
        entry = await asyncio.to_thread(self.store.entry, name, number)
        if entry is None:
            raise UnknownDecision(
                f"there is no decision {number} in the pool {name!r}: GET /v1/pools/{name}/"
                "decisions shows which there are."
            )
        return entry

    def _require_near(self, name: str, number: int) -> None:
        snapshot = self.store.snapshot(name, number - 1)
        begins = 0 if snapshot is None else snapshot[0]
        if self.room(name).pool.number - begins > FURTHEST_BACK:
            raise UnknownDecision(
                f"decision {number} lies too far back to be gone through again: look at it with "
                f"GET /v1/pools/{name}/decisions/{number}, or export the log."
            )

    # What is asked of the whole log: one such question at a time.

    async def audit(self, name: str, asked: dict[str, Any]) -> Audit:
        """What an audit says of a pool; `asked` are options in place of the pool's own."""
        room = self.room(name)
        async with self.heavy:
            return await asyncio.to_thread(
                audit_pool, self.store, room.pool.definition, room.written, **asked
            )

    async def alarms(self, name: str, alpha: float) -> Answer:
        """Who is behind by more than a fair lottery explains."""
        room = self.room(name)
        async with self.heavy:
            return await asyncio.to_thread(
                alarms_of_pool, self.store, room.pool.definition, room.written, alpha
            )

    async def over_time(self, name: str, names: Sequence[str], points: int) -> Answer:
        """How much each of some had received by then; of the first 20 in the ranking by default."""
        room, allocator = self.room(name), (await self.live(name)).allocator
        names = names or [one.name for one in allocator.ranking(most=20)]
        for one in names:
            allocator.place_of(one)
        async with self.heavy:
            return await asyncio.to_thread(
                received_over_time, self.store, name, room.written, names, points
            )

    # Changes.

    async def make_pool(
        self,
        definition: PoolDefinition,
        asked: AskedChange,
        people: Sequence[tuple[str, float]] = (),
    ) -> Answer:
        """A new pool, with those who are there from the start; refused if its name is taken.

        Args:
            definition: What it is.
            asked: Who asks for it. A key that was used before gets the same answer.
            people: The names and what each is entitled to.
        """
        carry_out = partial(self._make_pool, definition, asked, people)
        answer = await self._once.answer(definition.name, asked, carry_out)
        if definition.name not in self.rooms:  # it was written, and the answer to that was lost
            await self.pools.load_new()
        return answer

    async def _make_pool(
        self, definition: PoolDefinition, asked: AskedChange, people: Sequence[tuple[str, float]]
    ) -> Answer:
        name = definition.name
        if name in self.rooms:
            raise _taken(name)
        pool = LivePool.new(definition)
        entries = first_entries(pool, people, asked.actor, now())
        answer = pool_view(pool)
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
    ) -> Answer:
        """Let something happen in a pool: what is answered, once it is on disk.

        Args:
            name: The pool.
            asked: Who asks. A key that was used before gets the same answer, and nothing happens.
            make: What is to happen, from the state as it is then; asked again if another process
                was quicker. Whatever cannot happen is refused here, before anything has changed.
            answer: What is answered, from the state after it, its entry and what happened.
            before: What is done with the room first, while nobody else can change the state.
        """
        carry_out = partial(self._change, name, asked, make, answer, before)
        return await self._once.answer(name, asked, carry_out)

    async def _change(
        self,
        name: str,
        asked: AskedChange,
        make: Maker,
        answer: Answerer,
        before: Preparation | None = None,
    ) -> Answer:
        room = self.room(name)
        for _ in range(ATTEMPTS):
            async with room.lock:
                if room.failed:
                    await self.pools.read_anew(room)
                if before is not None:
                    await before(room)
                moment = now()
                change = make(room.pool, moment)
                append, said = self._record(room, change, asked, moment, answer)
                done = self.writer.write(append, name, room.generation)
            try:
                await self._written(room, append.entries[0], done)
            except StoreConflict as conflict:
                if conflict.table == "answers":  # another process has answered this request
                    found = await self._once.before(name, asked)
                    if found is not None:
                        return found
                continue
            return said
        raise StoreConflict("entries")

    def _record(
        self, room: PoolRoom, change: Change, asked: AskedChange, moment: int, answer: Answerer
    ) -> tuple[Append, Answer]:
        try:
            entry = room.pool.record(change, asked.actor, moment)
            said = answer(room.pool, entry, change)
            return Append((entry,), asked.kept(room.pool.name, said)), said
        except BaseException:
            # Nobody foresaw it, as what can be refused was: part of it may have happened, and the
            # log says what did.
            room.failed = True
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

    async def decide(self, name: str, asked: AskedChange, wish: Wish) -> Answer:
        """Take the decision of the rule, or another one."""

        def shown(live: LivePool, entry: LogEntry, taken: Change) -> Answer:
            assert isinstance(taken, Decision)
            return decision_view(entry, undone=False, turn=live.turn, taken=taken)

        return await self.change(name, asked, lambda live, moment: live.decide(wish, moment), shown)

    async def happen(
        self, name: str, asked: AskedChange, event: dict[str, Any], at: Moment = None
    ) -> Answer:
        """Let somebody join, leave, pause, resume, ask, or be entitled to another amount."""

        def make(live: LivePool, moment: int) -> Change:
            return live.require(MemberEvent.from_json({**event, "at": live.moment(at, moment)}))

        return await self.change(
            name, asked, make, lambda live, entry, made: entry_view(entry, live.turn, made)
        )

    async def undo(self, name: str, asked: AskedChange, number: int, reason: str | None) -> Answer:
        """Let a decision count as not taken, which is an entry of its own."""
        entry = await self._entry(name, number)
        taken = read_decision(entry)
        self._require_near(name, number)

        async def leave_out(room: PoolRoom) -> None:
            if number in room.pool.undone:
                raise BadParameter(f"decision {number} was undone before.")
            await room.all_written()
            room.pool = await self.pools.load_aside(name, frozenset((number,)))
            room.pool.undone.add(number)

        return await self.change(
            name,
            asked,
            lambda live, _: Undo(number, reason),
            lambda live, *_: decision_view(entry, undone=True, turn=live.turn, taken=taken),
            leave_out,
        )

    async def import_history(
        self,
        name: str,
        asked: AskedChange,
        read: Callable[[], Log],
    ) -> Answer:
        """Let a log be the history of a pool to which nothing has happened yet.

        Args:
            name: The pool.
            asked: Who asks for it. A key that was used before gets the same answer.
            read: Gives the log; not asked where the answer is known.
        """
        carry_out = partial(self._import_history, name, asked, read)
        return await self._once.answer(name, asked, carry_out)

    async def _import_history(
        self, name: str, asked: AskedChange, read: Callable[[], Log]
    ) -> Answer:
        room = self.room(name)
        async with room.lock:
            await self.pools.read_anew(room)
            pool = await self.pools.load_aside(name)  # which may fail half way
            answer = await asyncio.to_thread(import_history, self.store, pool, read, asked, now())
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
