"""An entry of the log: what happened in a pool, who asked for it and when, chained by digests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import orjson

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
