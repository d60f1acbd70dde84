"""The log of decisions: its entries, its tables, and what every store can do."""

from __future__ import annotations

import contextlib
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evenhand.errors import BadStore

# The tables of a store, version by version. A store of an older version is brought up to date.

# Each step leads from the version before to the next. `{blob}` and `{tail}` are what SQLite and
# Postgres say differently. No two entries of a pool have one number: so no turn is given twice,
# whichever process writes.
VERSIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE pools (name TEXT PRIMARY KEY)",
        "CREATE TABLE entries (pool TEXT NOT NULL REFERENCES pools (name), "
        "number BIGINT NOT NULL, recorded BIGINT NOT NULL, actor TEXT NOT NULL, "
        "kind TEXT NOT NULL, body TEXT NOT NULL, digest {blob} NOT NULL, "
        "PRIMARY KEY (pool, number)) {tail}",
        "CREATE INDEX entries_undone ON entries (pool, number) WHERE kind = 'undo'",
        "CREATE TABLE snapshots (pool TEXT NOT NULL REFERENCES pools (name), "
        "number BIGINT NOT NULL, digest {blob} NOT NULL, state {blob} NOT NULL, "
        "PRIMARY KEY (pool, number))",
        "CREATE TABLE tokens (name TEXT PRIMARY KEY, role TEXT NOT NULL, hash {blob} NOT NULL, "
        "created BIGINT NOT NULL)",
    ),
    (
        "CREATE TABLE answers (pool TEXT NOT NULL REFERENCES pools (name), actor TEXT NOT NULL, "
        "key TEXT NOT NULL, request {blob} NOT NULL, answer {blob} NOT NULL, "
        "PRIMARY KEY (pool, actor, key)) {tail}",
    ),
)
CURRENT = len(VERSIONS)


def statements(from_version: int, blob: str, tail: str) -> list[str]:
    """What leads from a version to the current one."""
    steps = VERSIONS[from_version:]
    return [statement.format(blob=blob, tail=tail) for step in steps for statement in step]


# An entry of the log: what happened in a pool, who asked for it and when, chained by digests.

FIRST = bytes(32)  # what the first entry of a pool follows


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One row of the log.

    Args:
        pool: The name of the pool.
        number: Its place in the pool's log, from 1.
        recorded: When it was written down, in microseconds since 1970.
        actor: The name of the token that asked for it.
        kind: What happened in a word, as in the body.
        body: What happened, as JSON.
        digest: SHA-256 of the digest of the entry before and of all of the above.
    """

    pool: str
    number: int
    recorded: int
    actor: str
    kind: str
    body: str
    digest: bytes

    def follows(self, before: bytes) -> bool:
        """Whether this entry is as it was when it was written after the one with that digest."""
        return self.digest == chained(
            before, self.pool, self.number, self.recorded, self.actor, self.kind, self.body
        )


def next_entry(
    pool: str, number: int, recorded: int, actor: str, kind: str, body: str, before: bytes
) -> LogEntry:
    """The entry that follows the one with the digest `before`."""
    digest = chained(before, pool, number, recorded, actor, kind, body)
    return LogEntry(pool, number, recorded, actor, kind, body, digest)


def chained(
    before: bytes, pool: str, number: int, recorded: int, actor: str, kind: str, body: str
) -> bytes:
    """The digest of an entry. JSON keeps the fields apart, whatever text is in them."""
    fields = orjson.dumps([pool, number, recorded, actor, kind, body])
    return hashlib.sha256(before + fields).digest()


# What a store can do, in the SQL that SQLite and Postgres share.

ENTRY = "pool, number, recorded, actor, kind, body, digest"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to a request with an idempotency key: a retry gets it again."""

    pool: str
    actor: str
    key: str
    request: bytes  # SHA-256 of what was asked
    answer: bytes  # as JSON


@dataclass(frozen=True, slots=True)
class Append:
    """What is written together or not at all."""

    entries: Sequence[LogEntry]
    kept: KeptAnswer | None = None
    new_pool: str | None = None


@dataclass(frozen=True, slots=True)
class StoredToken:
    """Somebody who may ask: a role, and the hash of a secret that only they know."""

    name: str
    role: str
    hash: bytes
    created: int


class DecisionStore(ABC):
    """A log in a database. Every method may be called from any thread."""

    blob: str
    tail: str = ""

    @abstractmethod
    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a SELECT."""

    @abstractmethod
    def transaction(self) -> contextlib.AbstractContextManager[Any]:
        """A cursor: what it does is on disk afterwards, or, if anything fails, nothing of it is."""

    @abstractmethod
    def insert(self, cursor: Any, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows; a `StoreConflict` if one of them is there already."""

    @abstractmethod
    def version(self) -> int:
        """The version of the tables; 0 of an empty store."""

    @abstractmethod
    def set_version(self, cursor: Any, version: int) -> None:
        """Note the version of the tables."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def begin_serving(self) -> None:
        """From now on `tidy` is called every now and then."""

    def tidy(self) -> None:
        """Do what has to be done now and then, beside those who write."""

    def migrate(self) -> None:
        """Bring the tables up to date; refused if a newer evenhand made them."""
        found = self.version()
        if found == CURRENT:
            return
        if found > CURRENT:
            raise BadStore(
                f"the store has version {found}, and this evenhand knows versions up to {CURRENT}: "
                "install a newer evenhand."
            )
        with self.transaction() as cursor:
            if self.version() == found:  # and nobody else was quicker
                for statement in statements(found, self.blob, self.tail):
                    cursor.execute(statement)
                self.set_version(cursor, CURRENT)

    # The log.

    def append(self, batch: Sequence[Append]) -> None:
        """Write all of these to disk; a `StoreConflict` if one of them is there already."""
        with self.transaction() as cursor:
            self.insert_all(cursor, batch)

    def insert_all(self, cursor: Any, batch: Sequence[Append]) -> None:
        """The same as a part of a transaction."""
        pools = [(one.new_pool,) for one in batch if one.new_pool is not None]
        if pools:
            self.insert(cursor, "pools", pools)
        entries = [
            (e.pool, e.number, e.recorded, e.actor, e.kind, e.body, e.digest)
            for one in batch
            for e in one.entries
        ]
        if entries:
            self.insert(cursor, "entries", entries)
        kept = [
            (k.pool, k.actor, k.key, k.request, k.answer)
            for one in batch
            if (k := one.kept) is not None
        ]
        if kept:
            self.insert(cursor, "answers", kept)

    def pools(self) -> list[str]:
        return [str(name) for (name,) in self.query("SELECT name FROM pools ORDER BY name")]

    def head(self, pool: str) -> int:
        """The number of the last entry; 0 if there is none."""
        rows = self.query(
            "SELECT number FROM entries WHERE pool = ? ORDER BY number DESC LIMIT 1", (pool,)
        )
        return int(rows[0][0]) if rows else 0

    def entries(self, pool: str, after: int = 0, most: int = 1000) -> list[LogEntry]:
        """Entries in order, after a number."""
        rows = self.query(
            f"SELECT {ENTRY} FROM entries WHERE pool = ? AND number > ? ORDER BY number LIMIT ?",
            (pool, after, most),
        )
        return list(map(_entry, rows))

    def all_entries(
        self, pool: str, after: int = 0, up_to: int | None = None
    ) -> Iterator[LogEntry]:
        """The same, however many there are; `up_to` is the last number."""
        while True:
            some = self.entries(pool, after, 5000)
            if not some:
                return
            for entry in some:
                if up_to is not None and entry.number > up_to:
                    return
                yield entry
            after = some[-1].number

    def entries_of(self, pool: str, kinds: Sequence[str], up_to: int) -> Iterator[LogEntry]:
        """The entries of some kinds in order, up to a number."""
        places, after = ", ".join("?" * len(kinds)), 0
        while True:
            rows = self.query(
                f"SELECT {ENTRY} FROM entries WHERE pool = ? AND kind IN ({places}) AND number > ? "
                "AND number <= ? ORDER BY number LIMIT 5000",
                (pool, *kinds, after, up_to),
            )
            if not rows:
                return
            yield from map(_entry, rows)
            after = int(rows[-1][1])

    def latest(self, pool: str, kind: str, before: int | None, most: int) -> list[LogEntry]:
        """Entries of a kind, the latest first, before a number."""
        rows = self.query(
            f"SELECT {ENTRY} FROM entries WHERE pool = ? AND kind = ? AND number < ? "
            "ORDER BY number DESC LIMIT ?",
            (pool, kind, (1 << 62) if before is None else before, most),
        )
        return list(map(_entry, rows))

    def entry(self, pool: str, number: int) -> LogEntry | None:
        found = self.entries(pool, number - 1, 1)
        return found[0] if found and found[0].number == number else None

    def undos(self, pool: str) -> list[LogEntry]:
        """The entries that undo a decision; an index of their own has them."""
        rows = self.query(
            f"SELECT {ENTRY} FROM entries WHERE pool = ? AND kind = 'undo' ORDER BY number", (pool,)
        )
        return list(map(_entry, rows))

    # Answers that are given again.

    def kept_answer(self, pool: str, actor: str, key: str) -> KeptAnswer | None:
        rows = self.query(
            "SELECT request, answer FROM answers WHERE pool = ? AND actor = ? AND key = ?",
            (pool, actor, key),
        )
        return KeptAnswer(pool, actor, key, bytes(rows[0][0]), bytes(rows[0][1])) if rows else None

    # Snapshots, from which the fold goes on.

    def save_snapshot(self, pool: str, number: int, digest: bytes, state: bytes, kept: int) -> None:
        """Keep a state, and of the older ones the latest few."""
        with self.transaction() as cursor:
            self.run(cursor, "DELETE FROM snapshots WHERE pool = ? AND number = ?", (pool, number))
            self.insert(cursor, "snapshots", [(pool, number, digest, state)])
            self.run(
                cursor,
                "DELETE FROM snapshots WHERE pool = ? AND number NOT IN (SELECT number FROM "
                "snapshots WHERE pool = ? ORDER BY number DESC LIMIT ?)",
                (pool, pool, kept),
            )

    def snapshot(self, pool: str, up_to: int) -> tuple[int, bytes, bytes] | None:
        """The latest snapshot up to a number: its number, digest and state."""
        rows = self.query(
            "SELECT number, digest, state FROM snapshots WHERE pool = ? AND number <= ? "
            "ORDER BY number DESC LIMIT 1",
            (pool, up_to),
        )
        return (int(rows[0][0]), bytes(rows[0][1]), bytes(rows[0][2])) if rows else None

    # Who may ask.

    def tokens(self) -> list[StoredToken]:
        rows = self.query("SELECT name, role, hash, created FROM tokens ORDER BY created, name")
        return [StoredToken(name, role, bytes(hash_), made) for name, role, hash_, made in rows]

    def add_token(self, token: StoredToken) -> None:
        with self.transaction() as cursor:
            row = (token.name, token.role, token.hash, token.created)
            self.insert(cursor, "tokens", [row])

    def drop_token(self, name: str) -> None:
        with self.transaction() as cursor:
            self.run(cursor, "DELETE FROM tokens WHERE name = ?", (name,))

    @abstractmethod
    def run(self, cursor: Any, statement: str, values: Sequence[Any]) -> None:
        """A statement in a transaction."""


def _entry(row: tuple[Any, ...]) -> LogEntry:
    pool, number, recorded, actor, kind, body, digest = row
    return LogEntry(pool, number, recorded, actor, kind, body, bytes(digest))
