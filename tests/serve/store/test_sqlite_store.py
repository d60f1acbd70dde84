"""The store in a file: what is of SQLite alone. `test_decision_store` has what every store does."""

from __future__ import annotations

import sqlite3

import pytest

from evenhand.errors import BadStore, CannotWrite, StoreUnavailable
from evenhand.serve.store.decision_store import Append
from evenhand.serve.store.schema import CURRENT, VERSIONS
from evenhand.serve.store.sqlite_store import SqliteStore
from serving import new_store
from store_laws import entries


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
