"""Group commit: everybody is answered, once what they wrote is there, or told that it is not."""

from __future__ import annotations

import asyncio
import threading

import pytest

from evenhand.errors import StoreConflict, StoreUnavailable
from evenhand.serve.store.decision_store import Append
from evenhand.serve.store.group_commit import GroupCommit
from evenhand.serve.store.log_entry import FIRST, next_entry


class Memory:
    """A store that keeps what it is given in a list, when it is let."""

    def __init__(self):
        self.written, self.batches = [], []
        self.let, self.broken = threading.Event(), None
        self.let.set()

    def append(self, batch):
        self.let.wait()
        if self.broken is not None:
            raise self.broken
        entries = [(e.pool, e.number) for one in batch for e in one.entries]
        if set(entries) & set(self.written) or len(set(entries)) < len(entries):
            raise StoreConflict("entries")
        self.batches.append(len(batch))
        self.written += entries


def one(number, pool="p"):
    return Append([next_entry(pool, number, 0, "me", "k", "{}", FIRST)])


def run(work):
    """What each write came to, of those that `work` queues."""

    async def all_of_it():
        store = Memory()
        writer = GroupCommit(store, asyncio.get_running_loop())
        found = await asyncio.gather(*work(store, writer), return_exceptions=True)
        await asyncio.to_thread(writer.stop)
        return store, writer, [type(one) for one in found]

    return asyncio.run(all_of_it())


def test_those_who_wait_meanwhile_share_one_commit():
    def work(store, writer):
        store.let.clear()
        first = [writer.write(one(1), "p", 0)]
        while writer.waiting:  # until it is being written, and held up
            pass
        rest = [writer.write(one(number), "p", 0) for number in range(2, 30)]
        store.let.set()
        return first + rest

    store, writer, found = run(work)
    assert store.batches == [1, 28]
    assert store.written == [("p", number) for number in range(1, 30)]
    assert (writer.commits, writer.written) == (2, 29)
    assert set(found) == {type(None)}


def test_after_a_conflict_the_later_ones_of_that_state_are_refused_too():
    """They rest on what did not happen; other pools and a state read anew do not."""

    def work(store, writer):
        store.written.append(("p", 2))
        store.let.clear()
        writes = [writer.write(one(number), "p", 1) for number in (1, 2, 3)]
        writes += [writer.write(one(1, "q"), "q", 1), writer.write(one(4), "p", 2)]
        store.let.set()
        return writes

    store, _, found = run(work)
    assert found == [type(None), StoreConflict, StoreConflict, type(None), type(None)]
    assert store.written == [("p", 2), ("p", 1), ("q", 1), ("p", 4)]


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), OSError("no space left")])
def test_whatever_goes_wrong_nobody_is_left_waiting(error):
    def work(store, writer):
        store.broken = error
        return [writer.write(one(number), "p", 0) for number in (1, 2)]

    store, _, found = run(work)
    assert found == [StoreUnavailable, StoreConflict]
    assert store.written == []


def test_a_pool_that_could_not_be_made_can_be_made_when_the_store_is_back():
    async def twice():
        store = Memory()
        writer = GroupCommit(store, asyncio.get_running_loop())
        first = Append(one(1).entries, new_pool="p")
        store.broken = StoreUnavailable("gone")
        with pytest.raises(StoreUnavailable):
            await writer.write(first, "p", 0)
        store.broken = None
        await writer.write(first, "p", 0)
        await asyncio.to_thread(writer.stop)
        return store.written

    assert asyncio.run(twice()) == [("p", 1)]
