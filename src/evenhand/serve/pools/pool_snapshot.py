"""A snapshot of a pool: its state at one entry of the log, from which the next fold goes on.

To write down the state of very many takes long. So it is copied first, which is quick, and the copy
is written beside those who decide, in pieces after each of which they have their turn.
"""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass

import orjson

from evenhand.decide.allocator import Allocator, AllocatorCopy
from evenhand.decide.rules.rule import RULES
from evenhand.errors import BadStore, EvenhandError
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.store.decision_store import DecisionStore

SNAPSHOTS_KEPT = 3
AT_ONCE = 500  # people of a piece


def can_be_kept(pool: LivePool) -> bool:
    """Whether a snapshot can hold the state; what a learned policy remembers it cannot."""
    return RULES.name_of(pool.allocator.rule) is not None


@dataclass(frozen=True)
class PoolSnapshot:
    """The state of a pool as it was; nothing that happens later changes it.

    Args:
        pool: Its name.
        number: The number of the last entry.
        digest: Its digest.
        decisions: How many decisions were taken and not undone.
        state: Who is next.
    """

    pool: str
    number: int
    digest: bytes
    decisions: int
    state: AllocatorCopy

    @staticmethod
    def of(pool: LivePool) -> PoolSnapshot:
        state = AllocatorCopy.of(pool.allocator)
        return PoolSnapshot(pool.name, pool.number, pool.digest, pool.decisions, state)

    def save(self, store: DecisionStore) -> None:
        """Keep it in the store, so that the next fold begins here."""
        store.save_snapshot(self.pool, self.number, self.digest, self._written(), SNAPSHOTS_KEPT)

    def _written(self) -> bytes:
        packer = zlib.compressobj(1)
        head = orjson.dumps({"decisions": self.decisions, "allocator": self.state.head})
        parts = [packer.compress(head[:-2] + b',"stakeholders":[')]
        people, between = self.state.people(), b""
        while piece := list(itertools.islice(people, AT_ONCE)):
            parts.append(packer.compress(between + orjson.dumps(piece)[1:-1]))
            between = b","
        return b"".join((*parts, packer.compress(b"]}}"), packer.flush()))


def read_snapshot(state: bytes) -> tuple[Allocator, int]:
    """Who is next, and how many decisions were taken, of a snapshot as the store has it."""
    try:
        table = orjson.loads(zlib.decompress(state))
        return Allocator.restore(table["allocator"]), int(table["decisions"])
    except (zlib.error, ValueError, KeyError, TypeError, EvenhandError) as error:
        raise BadStore(f"a snapshot in the store cannot be read ({error}).") from None
