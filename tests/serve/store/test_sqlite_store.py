"""Tests of serve.store.sqlite_store."""

from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest

from evenhand.errors import BadStore, CannotWrite, StoreConflict, StoreUnavailable
from evenhand.serve.store.sqlite_store import GroupCommit, SqliteStore
from evenhand.serve.store.store import CURRENT, FIRST, VERSIONS, Append, next_entry
from serving import new_store
from store_laws import entries

# Group commit: everybody is answered, once what they wrote is there, or told that it is not.


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


# The store in a file: what is of SQLite alone. `test_decision_store` has what every store does.


def test_the_disk_has_it_before_anybody_is_answered(tmp_path):
    store = new_store(tmp_path)
    assert store.query("PRAGMA journal_mode") == [("wal",)]
    assert store.query("PRAGMA synchronous") == [(2,)]  # FULL
    assert store._writer.execute("PRAGMA synchronous").fetchall() == [(2,)]
    store.close()


@pytest.mark.parametrize("version", range(1, CURRENT))
def test_a_store_of_an_older_version_is_brought_up_to_date(tmp_path, version):
    old = SqliteStore(tmp_path / "old.db")
    with old.transaction() as cursor:
        for step in VERSIONS[:version]:
            for statement in step:
                cursor.execute(statement.format(blob=old.blob, tail=old.tail))
        old.set_version(cursor, version)
    written = entries(1, 2)
    old.append([Append(written, new_pool="p")])
    old.close()
    store = new_store(tmp_path, "old.db")
    new = new_store(tmp_path, "new.db")
    assert store.version() == CURRENT
    assert store.entries("p") == written
    tables = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    assert store.query(tables) == new.query(tables)
    store.close()
    new.close()


def test_files_that_are_not_stores_are_refused(tmp_path):
    (tmp_path / "text.db").write_text("nothing of the kind\n" * 100)
    with pytest.raises(BadStore, match="not a file of SQLite"):
        SqliteStore(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE customers (name TEXT)")
    other.close()
    with pytest.raises(BadStore, match="something else"):
        SqliteStore(tmp_path / "other.db")
    with pytest.raises(BadStore, match="no store"):
        SqliteStore(tmp_path / "none.db", create=False)
    with pytest.raises(CannotWrite, match="a folder"):
        SqliteStore(tmp_path)
    for name in (tmp_path / "no" / "such.db", "x" * 300):
        with pytest.raises(BadStore, match="folder that exists"):
            SqliteStore(name)
    with pytest.raises(BadStore, match="no store"):
        SqliteStore("x" * 300, create=False)
    with pytest.raises(BadStore, match="name of a file"):
        SqliteStore("nul\0byte")


def test_a_writer_that_waits_for_another_in_vain_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.serve.store.sqlite_store.WAIT", 0.01)
    store, other = new_store(tmp_path), new_store(tmp_path)
    with other.transaction(), pytest.raises(StoreUnavailable, match="another process"):
        store.append([Append(entries(1), new_pool="p")])
    store.append([Append(entries(1), new_pool="p")])
    assert other.head("p") == 1
    store.close()
    other.close()


def test_the_write_ahead_log_is_tidied_now_and_then_and_not_always(tmp_path, monkeypatch):
    """Its file never shrinks: what counts is what was written since."""
    monkeypatch.setattr("evenhand.serve.store.sqlite_store.TIDIED_FROM", 4096)
    monkeypatch.setattr("evenhand.serve.store.sqlite_store.TIDIED_AFTER", 3)
    store, asked = new_store(tmp_path), []
    store.begin_serving()
    store.append([Append(entries(1), new_pool="p")])
    query = store.query

    def told(statement, *values):
        asked.append(statement)
        return query(statement, *values)

    monkeypatch.setattr(store, "query", told)
    store.tidy()
    assert asked == ["PRAGMA wal_checkpoint(PASSIVE)"]
    store.tidy()
    store.append([Append(entries(1, 2)[1:])])
    store.tidy()
    assert len(asked) == 1
    store.append([Append(entries(*range(1, 6))[2:])])
    store.tidy()
    assert len(asked) == 2
    store.close()
