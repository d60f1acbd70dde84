"""A backup that was made while decisions are taken is a store as of one moment."""

from __future__ import annotations

import pytest

from evenhand.errors import BadParameter, BadStore, CannotWrite
from evenhand.serve.store.open_store import back_up, verify_store
from serving import client_of, new_store, small_service


def test_a_backup_is_restored_by_serving_it(tmp_path):
    with small_service(tmp_path) as client:
        for _ in range(4):
            client.post("/v1/pools/small/decisions", json={})
        assert back_up(str(tmp_path / "decisions.db"), tmp_path / "copy.db") == 8
        before = client.get("/v1/pools/small/state").json()
        log = client.get("/v1/pools/small/events").json()
        client.post("/v1/pools/small/decisions", json={})  # which the copy does not have
    copy = new_store(tmp_path, "copy.db")
    assert all(one.is_whole for one in verify_store(copy))
    with client_of(copy) as client:
        assert client.get("/v1/pools/small/state").json() == before
        assert client.get("/v1/pools/small/events").json() == log
        assert client.post("/v1/pools/small/decisions", json={}).json()["number"] == 9
    copy.close()
    assert {path.name for path in tmp_path.iterdir()} == {"decisions.db", "copy.db"}


def test_what_cannot_be_backed_up(tmp_path):
    new_store(tmp_path).close()
    name = str(tmp_path / "decisions.db")
    with pytest.raises(BadStore, match="no store"):
        back_up(str(tmp_path / "none.db"), tmp_path / "copy.db")
    with pytest.raises(CannotWrite, match="written over"):
        back_up(name, tmp_path / "decisions.db")
    with pytest.raises(CannotWrite, match="folder that exists"):
        back_up(name, tmp_path / "no" / "copy.db")
    with pytest.raises(BadParameter, match="pg_dump"):
        back_up("postgresql://somebody@there/db", tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.db"]
