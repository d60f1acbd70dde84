"""The store in a file: all of a batch is there or nothing, and nothing twice."""

from __future__ import annotations

import sqlite3

import pytest

from evenhand.errors import BadStore, CannotWrite, StoreConflict, StoreUnavailable
from evenhand.serve.store.decision_store import Append, KeptAnswer
from evenhand.serve.store.log_entry import FIRST, next_entry
from evenhand.serve.store.schema import CURRENT, VERSIONS
from evenhand.serve.store.sqlite_store import SqliteStore
from serving import new_store


def entries(*numbers, pool="p"):
    before, found = FIRST, []
    for number in numbers:
        found.append(next_entry(pool, number, number, "me", "join", "{}", before))
        before = found[-1].digest
    return found


def test_what_was_appended_is_read_in_order(tmp_path):
    store = new_store(tmp_path)
    written = entries(1, 2, 3)
    store.append([Append(written[:2], new_pool="p"), Append(written[2:])])
    assert store.entries("p") == written
    assert store.entries("p", after=1, most=1) == written[1:2]
    assert list(store.all_entries("p", 0, up_to=2)) == written[:2]
    assert store.entry("p", 3) == written[2]
    assert store.entry("p", 4) is None
    assert (store.head("p"), store.head("other"), store.pools()) == (3, 0, ["p"])
    store.close()
    again = SqliteStore(tmp_path / "decisions.db", create=False)
    assert again.entries("p") == written
    again.close()


def test_a_batch_of_which_one_is_there_already_is_not_written_at_all(tmp_path):
    store = new_store(tmp_path)
    one, two, three = entries(1, 2, 3)
    store.append([Append([one], new_pool="p")])
    with pytest.raises(StoreConflict) as conflict:
        store.append([Append([two]), Append([one]), Append([three])])
    assert conflict.value.table == "entries"
    assert store.entries("p") == [one]
    kept = KeptAnswer("p", "me", "key", b"r", b"{}")
    store.append([Append([two], kept)])
    with pytest.raises(StoreConflict) as conflict:
        store.append([Append([three], kept)])
    assert conflict.value.table == "answers"
    assert store.head("p") == 2
    assert store.kept_answer("p", "me", "key") == kept
    assert store.kept_answer("p", "you", "key") is None
    store.close()


def test_only_the_latest_snapshots_are_kept(tmp_path):
    store = new_store(tmp_path)
    store.append([Append(entries(1), new_pool="p")])
    for number in (1, 4, 9, 9):
        store.save_snapshot("p", number, b"d", b"%d" % number, kept=2)
    assert store.snapshot("p", 100) == (9, b"d", b"9")
    assert store.snapshot("p", 8) == (4, b"d", b"4")
    assert store.snapshot("p", 3) is None
    store.drop_snapshots("p", 5)
    assert store.snapshot("p", 100) == (4, b"d", b"4")
    store.close()


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


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    store = new_store(tmp_path)
    with store.transaction() as cursor:
        store.set_version(cursor, CURRENT + 1)
    with pytest.raises(BadStore, match="newer evenhand"):
        store.migrate()
    store.close()


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
