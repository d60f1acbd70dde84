"""Pools that other processes make: one that cannot be read here keeps nobody from the others."""

from __future__ import annotations

import json

import pytest

from evenhand.serve.pools import pool_rooms
from evenhand.serve.pools.changes import PoolMade
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.store.decision_store import Append
from evenhand.serve.store.log_entry import FIRST, next_entry
from serving import THREE, client_of, new_store


@pytest.fixture
def store(tmp_path):
    found = new_store(tmp_path, durable=False)
    yield found
    found.close()


def made_elsewhere(store, name):
    """As another process makes a pool by the file of a policy, which this one does not have."""
    rule = {"name": "policy", "file": "fair.plan", "digest": "00"}
    made = PoolMade({**PoolDefinition(name).to_json(), "rule": rule})
    entry = next_entry(name, 1, 0, "them", made.kind, json.dumps(made.to_json()), FIRST)
    store.append([Append([entry], new_pool=name)])


def follow(client):
    client.portal.call(client.app.inner.state.service.refresh)


def answers_as_it_should(client):
    """Whether the one pool is refused in a sentence, and the other goes on."""
    refused = client.get("/v1/pools/a/next")
    assert (refused.status_code, refused.json()["error"]) == (503, "unreadable-pool")
    words = refused.json()["detail"]
    assert words.startswith("the pool 'a' cannot be used here: fair.plan cannot decide here")
    assert client.get("/pools/a").status_code != 500
    assert client.post("/v1/pools/a/decisions", json={}).status_code == 503
    assert client.post("/v1/pools/b/decisions", json={}).status_code == 201
    found = client.get("/v1/pools").json()
    assert [one["name"] for one in found["pools"]] == ["b"]
    assert [one["name"] for one in found["unreadable"]] == ["a"]
    assert "evenhand_pools_unreadable 1" in client.get("/metrics").text
    taken = client.post("/v1/pools", json={"name": "a"})
    assert "there is a pool 'a' already" in taken.json()["detail"]


def test_a_pool_that_cannot_be_read_stops_no_other(store, monkeypatch):
    lines = []
    with client_of(store, log=lines.append) as client:
        client.post("/v1/pools", json={"name": "b", "stakeholders": THREE})
        made_elsewhere(store, "a")
        monkeypatch.setattr(pool_rooms, "TRY_AGAIN", 0.0)
        for _ in range(3):
            follow(client)
        answers_as_it_should(client)
    said = [line for line in lines if line.get("pool") == "a"]
    assert len(said) == 1
    assert "fair.plan" in said[0]["error"]
    with client_of(store) as client:  # and the same after a restart
        answers_as_it_should(client)


def test_a_pool_is_used_again_once_it_can_be_read(store, monkeypatch):
    with client_of(store) as client:
        client.post("/v1/pools", json={"name": "a", "dates": False, "stakeholders": THREE})
        rooms = client.app.inner.state.service.pools
        load = rooms.load

        def broken(*_):
            raise KeyError("state")

        with client_of(store) as other:  # another process, which writes
            monkeypatch.setattr(rooms, "load", broken)
            other.post("/v1/pools/a/decisions", json={})
        follow(client)
        refused = client.get("/v1/pools/a/next")
        assert refused.status_code == 503
        assert "nobody foresaw" in refused.json()["detail"]
        monkeypatch.setattr(rooms, "load", load)
        follow(client)  # not at once
        assert client.get("/v1/pools/a/next").status_code == 503
        monkeypatch.setattr(pool_rooms, "TRY_AGAIN", 0.0)
        follow(client)
        assert client.get("/v1/pools/a/next").json()["shares"][0]["name"] == "Ben"
        assert client.get("/v1/pools").json()["unreadable"] == []


def test_a_pool_that_cannot_be_read_again_keeps_nobody_from_the_list(store, monkeypatch):
    with client_of(store) as client:
        for name in ("a", "b"):
            client.post("/v1/pools", json={"name": name, "stakeholders": THREE})
        service = client.app.inner.state.service
        service.room("a").failed = True  # as after a write that failed
        monkeypatch.setattr(service.pools, "load", lambda *_: 1 / 0)
        found = client.get("/v1/pools").json()
        assert [one["name"] for one in found["pools"]] == ["b"]
        assert [one["name"] for one in found["unreadable"]] == ["a"]
        assert client.get("/v1/pools/a/next").status_code == 503
