"""What every store does, here of one in a file; tests/system has the same for Postgres."""

from __future__ import annotations

import pytest

from evenhand.serve.store.sqlite_store import SqliteStore
from serving import new_store
from store_laws import *  # noqa: F403


@pytest.fixture
def store(tmp_path):
    found = new_store(tmp_path, durable=False)
    yield found
    found.close()


@pytest.fixture
def again(store):
    return lambda: SqliteStore(store.path, create=False)


@pytest.fixture
def bare(tmp_path):
    found = SqliteStore(tmp_path / "bare.db")
    yield found
    found.close()
