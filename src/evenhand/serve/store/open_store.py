"""A store opened by its name, copied while in use, and verified."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand._util.files import require_apart, require_place
from evenhand._util.wording import pluralise
from evenhand.errors import BadParameter, CannotWrite, argument
from evenhand.serve.store.sqlite_store import SqliteStore
from evenhand.serve.store.store import FIRST, DecisionStore

# A store from what names it: a file, or the address of a Postgres database.

POSTGRES = ("postgresql://", "postgres://")


def open_store(name: str, create: bool = True) -> DecisionStore:
    """The store of a name, with its tables up to date.

    Args:
        name: The path of a file, or an address such as postgresql://user@host/database.
        create: Whether a file that is not there is made.
    """
    store: DecisionStore
    if name.startswith(POSTGRES):
        from evenhand.serve.store.postgres_store import PostgresStore

        store = PostgresStore(name)
    elif "://" in name:
        raise BadParameter(
            f"{argument('store')} is {name.partition('://')[0]}://…: a store is a file, or an "
            "address of Postgres such as postgresql://user@host/database."
        )
    else:
        store = SqliteStore(name, create)
    try:
        store.migrate()
    except BaseException:
        store.close()
        raise
    return store


# A copy of a store while it is in use, written whole or not at all.


def back_up(name: str, target: Path) -> int:
    """Copy a store to a file: how many entries it holds.

    Args:
        name: The store, a file of SQLite.
        target: The new file; one that is there is replaced.
    """
    if name.startswith(POSTGRES):
        raise BadParameter("a store in Postgres is backed up with pg_dump, while it is in use.")
    require_place(target, "backup")
    require_apart([target], [name])
    store = SqliteStore(name, create=False)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        store.back_up(beside)
        copy = SqliteStore(beside)
        ((entries,),) = copy.query("SELECT count(*) FROM entries")
        copy.close()
        os.replace(beside, target)
    except OSError as error:
        raise CannotWrite(f"{target} cannot be written: {error.strerror}.") from None
    finally:
        store.close()
        for left in (beside, f"{beside}-wal", f"{beside}-shm"):
            Path(left).unlink(missing_ok=True)
    return int(entries)


# Whether the log is as it was written: every digest follows from the one before.


@dataclass(frozen=True)
class ChainCheck:
    """What was found in the log of one pool.

    Args:
        pool: Its name.
        entries: How many entries are as they were written, from the first on.
        digest: The digest of the last of these. Whoever notes it down elsewhere can tell later
            whether the end of the log was cut off.
        wrong: The number of the first entry that is not as it was written, or that is missing.
    """

    pool: str
    entries: int
    digest: bytes
    wrong: int | None

    @property
    def is_whole(self) -> bool:
        return self.wrong is None

    @property
    def sentence(self) -> str:
        if self.wrong is None:
            return (
                f"{self.pool}: {pluralise(self.entries, 'entry', 'entries')}, none changed; the "
                f"last has the digest {self.digest.hex()}."
            )
        return (
            f"{self.pool}: entry {self.wrong:,} was changed, or entries before it are missing; "
            f"{pluralise(self.entries, 'entry', 'entries')} before it are as written. Restore a "
            "backup."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "pool": self.pool,
            "entries": self.entries,
            "digest": self.digest.hex(),
            "first_wrong": self.wrong,
        }


def verify_store(store: DecisionStore) -> list[ChainCheck]:
    """Check the log of every pool."""
    return [verify_pool(store, name) for name in store.pools()]


def verify_pool(store: DecisionStore, name: str) -> ChainCheck:
    """Check the log of a pool, and that no snapshot knows of entries that are gone."""
    number, digest = 0, FIRST
    latest = store.snapshot(name, 1 << 62)
    for entry in store.all_entries(name):
        if entry.number != number + 1 or not entry.follows(digest):
            return ChainCheck(name, number, digest, number + 1)
        number, digest = entry.number, entry.digest
        if latest is not None and latest[0] == number and latest[1] != digest:
            return ChainCheck(name, number - 1, digest, number)
    if number == 0 or (latest is not None and latest[0] > number):
        return ChainCheck(name, number, digest, number + 1)
    return ChainCheck(name, number, digest, None)
