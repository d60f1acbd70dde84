"""A store in one file: SQLite, with many writers sharing one wait for the disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand._util.files import require_regular
from evenhand.errors import BadStore, EvenhandError, StoreConflict, StoreUnavailable
from evenhand.serve.store.store import Append, DecisionStore

# Group commit: many writers at once share one wait for the disk.
#
# A thread takes all that is queued, writes it in one transaction and then answers everybody. While
# it waits for the disk, the next group gathers. So the disk bounds how long one waits, and not how
# many can decide in a second.

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


# A store in one file: SQLite with a write-ahead log, on disk before anything is answered.

WAIT = 10.0  # seconds for another process that is writing
TIDIED_FROM, TOO_LARGE = 4 << 20, 256 << 20  # bytes of the write-ahead log
TIDIED_AFTER = (
    4096  # rows written; each time the disk is kept busy, and those who write wait for it
)
MARK = 0x65766E68  # "evnh": which program a file of SQLite belongs to


class SqliteStore(DecisionStore):
    """Readers have a connection per thread and never wait for the writer."""

    blob = "BLOB"
    tail = "WITHOUT ROWID"

    def __init__(self, path: str | os.PathLike[str], create: bool = True) -> None:
        self.path = Path(path)
        require_regular(self.path)
        if not create and not os.path.exists(path):
            raise BadStore(f"there is no store {str(self.path)!r}: check the name and the folder.")
        self._writing = threading.Lock()
        self._own = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._tidied = 0, 0  # rows written and bytes of the write-ahead log when it was done last
        try:
            self._writer = self._connect()
            self._require_own()
            self._writer.execute("PRAGMA journal_mode = WAL")
        except (sqlite3.Error, ValueError) as error:
            self.close()
            if isinstance(error, BadStore):
                raise
            raise BadStore(_why_not(self.path, error)) from None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=WAIT, isolation_level=None, check_same_thread=False
        )
        self._open.append(connection)
        # What is committed is on disk, even if the power fails in the next moment.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _require_own(self) -> None:
        """Refuse a file of SQLite that is somebody else's; mark a new one as ours."""
        (mark,) = self._writer.execute("PRAGMA application_id").fetchone()
        (tables,) = self._writer.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if mark != MARK and tables:
            raise BadStore(
                f"{self.path} is a database of something else: name a new file, or a store that "
                "evenhand made."
            )
        if mark != MARK:
            self._writer.execute(f"PRAGMA application_id = {MARK}")

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        connection = getattr(self._own, "connection", None)
        try:
            if connection is None:
                connection = self._own.connection = self._connect()
            return connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(_why_not(self.path, error)) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        with self._writing:
            cursor = self._writer.cursor()
            try:
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                cursor.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back()
                raise StoreUnavailable(_why_not(self.path, error)) from None
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def insert(self, cursor: Any, table: str, rows: Sequence[Sequence[Any]]) -> None:
        places = ", ".join("?" * len(rows[0]))
        try:
            cursor.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        except sqlite3.IntegrityError:
            raise StoreConflict(table) from None

    def run(self, cursor: Any, statement: str, values: Sequence[Any]) -> None:
        cursor.execute(statement, values)

    def version(self) -> int:
        return int(self._writer.execute("PRAGMA user_version").fetchone()[0])

    def set_version(self, cursor: Any, version: int) -> None:
        cursor.execute(f"PRAGMA user_version = {version}")

    def begin_serving(self) -> None:
        """Let nobody who writes wait until the write-ahead log is moved into the file."""
        self._writer.execute("PRAGMA wal_autocheckpoint = 0")

    def tidy(self) -> None:
        """Move what is in the write-ahead log into the file, while others write on."""
        log, rows = f"{self.path}-wal", self._writer.total_changes
        size = os.path.getsize(log) if os.path.exists(log) else 0
        before, large = self._tidied
        # The file is written again from its beginning and never shrinks: size alone says little.
        if size > TIDIED_FROM and (rows - before >= TIDIED_AFTER or size - large >= TIDIED_FROM):
            self.query(f"PRAGMA wal_checkpoint({'RESTART' if size > TOO_LARGE else 'PASSIVE'})")
            self._tidied = rows, size

    def back_up(self, path: str | os.PathLike[str]) -> None:
        """Copy the store to another file while it is in use, as of one moment."""
        target = sqlite3.connect(path)
        try:
            self._connect().backup(target)
        except sqlite3.Error as error:
            raise BadStore(_why_not(Path(path), error)) from None
        finally:
            target.close()

    def close(self) -> None:
        for connection in self._open:
            connection.close()
        self._open.clear()


def _why_not(path: Path, error: Exception) -> str:
    words = str(error)
    if "null" in words:
        return f"{str(path)!r} cannot be the name of a file: check the name."
    if "not a database" in words:
        return f"{path} is not a file of SQLite: name a new file, or a store that evenhand made."
    if "unable to open" in words:
        return f"{path} cannot be opened: choose a folder that exists and that you may write to."
    if "locked" in words:
        return f"{path} is being written by another process, and did not become free: try again."
    return f"{path} cannot be used ({words}): check the disk, or restore a backup."
