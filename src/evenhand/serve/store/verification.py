"""Whether the log is as it was written: every digest follows from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand._util.wording import pluralise
from evenhand.serve.store.decision_store import DecisionStore
from evenhand.serve.store.log_entry import FIRST


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
