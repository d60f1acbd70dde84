"""Tests of serve.pools.service."""

from __future__ import annotations

import io
import itertools
import json
import sys
import threading

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.decide.allocator import Allocator
from evenhand.events import MemberEvent
from evenhand.serve.pools import service as service_module
from evenhand.serve.pools.pool import PoolDefinition, PoolMade
from evenhand.serve.store.store import FIRST, Append, next_entry
from serving import THREE, client_of, new_store, small_service

# Pools that other processes make: one that cannot be read here keeps nobody from the others.


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
        monkeypatch.setattr(service_module, "TRY_AGAIN", 0.0)
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
        monkeypatch.setattr(service_module, "TRY_AGAIN", 0.0)
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


# The law of the service: its state is that of an allocator that is told the exported events.
#
# And the audit of the exported log adds up to it. What is refused changes nothing, and costs
# nothing.

RULES = ("least_served", "round_robin", "lottery:3", "longest_wait")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    store = new_store(tmp_path_factory.mktemp("store"), durable=False)
    with client_of(store) as client:
        yield client, itertools.count()
    store.close()


def folded(rule, entries):
    """An allocator of its own, told what the log says, without what was undone."""
    allocator = Allocator(rule)
    undone = {one["body"]["number"] for one in entries if one["body"]["event"] == "undo"}
    for one in entries:
        body = one["body"]
        if body["event"] == "decide" and one["number"] not in undone:
            for name, amount in body["shares"]:
                share = {"event": "give", "name": name, "amount": amount, "at": body["at"]}
                share |= {"among": body["among"]} if "among" in body else {}
                allocator.apply(MemberEvent.from_json(share))
        elif body["event"] not in ("create", "decide", "undo"):
            allocator.apply(MemberEvent.from_json(body))
    return allocator


steps = st.lists(
    st.tuples(st.sampled_from(["take", "other", "pause", "resume", "join", "undo"]),
              st.integers(0, 5)), min_size=1, max_size=10,
)  # fmt: skip


@settings(max_examples=12)  # each is a dozen requests
@given(rule=st.sampled_from(RULES), happened=steps)
def test_the_state_is_the_fold_of_what_is_exported(service, rule, happened):
    client, number = service
    base = f"/v1/pools/p{next(number)}"
    sent = {"name": base[10:], "rule": rule, "dates": False, "stakeholders": THREE}
    client.post("/v1/pools", json=sent)
    for kind, k in happened:
        name = THREE[k % 3]["name"]
        if kind == "take":
            client.post(f"{base}/decisions", json={"amount": 1 + k, "count": 1 + k % 2})
        elif kind == "other":
            shares = {"shares": [{"name": name, "amount": 2}], "reason": "because"}
            client.post(f"{base}/decisions", json=shares)
        elif kind == "undo":
            client.post(f"{base}/decisions/{5 + k}/undo", json={})
        else:
            who = f"N{k}" if kind == "join" else name
            client.post(f"{base}/events", json={"event": kind, "name": who})
    entries = client.get(f"{base}/events?limit=1000").json()["entries"]
    allocator = folded(rule, entries)
    shown = client.get(f"{base}/state").json()["stakeholders"]
    assert [(one["name"], one["rank"], one["reason"]) for one in shown] == [
        (one.name, one.rank, one.reason) for one in allocator.ranking()
    ]
    table = pd.read_csv(io.BytesIO(client.get(f"{base}/export.csv").content))
    totals = table.groupby("stakeholder")["amount"].sum().to_dict()
    assert totals == {one["name"]: one["received"] for one in shown if one["received"]}


REFUSED = [
    ("events", {"event": "pause", "name": "nobody"}),
    ("events", {"event": "pause", "name": "Ben"}),
    ("events", {"event": "resume", "name": "Ann"}),
    ("events", {"event": "join", "name": "Ann"}),
    ("events", {"event": "join", "name": "Cem"}),
    ("events", {"event": "leave", "name": "Cem"}),
    ("events", {"event": "ask", "name": "Ann", "at": -1}),
    ("decisions", {"turn": "1-0"}),
    ("decisions", {"at": -1}),
    ("decisions", {"shares": [{"name": "Ben"}]}),
    ("decisions", {"shares": [{"name": "Ann"}, {"name": "Cem"}], "reason": "because"}),
    ("decisions", {"shares": [{"name": "Ben"}, {"name": "nobody"}], "reason": "because"}),
    ("decisions/2/undo", {}),
    ("decisions/99/undo", {}),
]


def test_what_is_refused_changes_nothing_and_no_log_is_read_again(tmp_path, monkeypatch):
    with small_service(tmp_path) as client:
        for event in ({"event": "pause", "name": "Ben"}, {"event": "leave", "name": "Cem"}):
            assert client.post("/v1/pools/small/events", json=event).status_code == 201
        room, read = client.app.inner.state.service.room("small"), []
        monkeypatch.setattr(client.app.inner.state.service.pools, "load", read.append)
        before = room.pool.allocator.snapshot(), room.pool.turn
        for path, sent in REFUSED:
            answer = client.post(f"/v1/pools/small/{path}", json=sent)
            assert answer.status_code in (404, 409, 422), (sent, answer.text)
            assert (room.pool.allocator.snapshot(), room.pool.turn) == before
            assert client.get("/v1/pools/small/next").json()["shares"][0]["name"] == "Ann"
            assert not read, sent


def test_to_be_refused_costs_no_more_than_to_be_taken(tmp_path):
    """Counted in functions that are called, also of the question after it, among 2,000 people."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    def cost(client, sent, status):
        nonlocal calls
        calls = 0
        assert client.post("/v1/pools/small/events", json=sent).status_code == status
        assert client.get("/v1/pools/small/next").status_code == 200
        return calls

    people = [{"name": f"Person {k}"} for k in range(2_000)]
    threading.setprofile(count)  # for the thread of the service
    try:
        with small_service(tmp_path, stakeholders=people) as client:
            threading.setprofile(None)
            pause = {"event": "pause", "name": "Person 7"}
            first, taken = (cost(client, pause | {"name": f"Person {k}"}, 201) for k in (6, 7))
            for refused in (pause, pause | {"name": "Persn 8"}, pause | {"event": "join"}):
                assert cost(client, refused, 422) <= 1.5 * taken, refused
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
    assert first >= taken > 100
