"""Pools and those in them, over HTTP."""

from __future__ import annotations

import pytest

from evenhand.errors import StoreUnavailable
from serving import THREE, small_service

BASE = "/v1/pools/small"


@pytest.fixture
def client(tmp_path):
    with small_service(tmp_path) as found:
        yield found


def happen(client, event, name, **more):
    return client.post(f"{BASE}/events", json={"event": event, "name": name, **more})


def test_people_join_pause_resume_and_leave(client):
    def names():
        people = client.get(f"{BASE}/state").json()["stakeholders"]
        return [(one["name"], one["rank"]) for one in people]

    assert happen(client, "pause", "Ann").status_code == 201
    assert names() == [("Ben", 1), ("Cem", 2), ("Ann", None)]
    happen(client, "resume", "Ann"), happen(client, "leave", "Ben")
    joined = happen(client, "join", "Dan", entitlement=2).json()
    assert joined["body"] == {"event": "join", "name": "Dan", "at": 0, "entitlement": 2.0}
    assert names() == [("Ann", 1), ("Cem", 2), ("Dan", 3)]
    happen(client, "entitle", "Dan", entitlement=5)
    assert client.get(BASE).json()["stakeholders"] == 3
    for event, name, word in (
        ("join", "Ann", "joined before"),
        ("pause", "Ben", "has left"),
        ("resume", "Eve", "no stakeholder 'Eve'"),
    ):
        answer = happen(client, event, name)
        assert answer.status_code == 422
        assert word in answer.json()["detail"]
    assert "no 'amount'" in happen(client, "pause", "Ann", amount=1).json()["detail"]


def test_a_pool_by_request(client):
    client.post(
        "/v1/pools",
        json={"name": "queue", "rule": "first_come", "dates": False, "stakeholders": THREE},
    )
    nobody = client.post("/v1/pools/queue/decisions", json={})
    assert (nobody.status_code, "nobody" in nobody.json()["detail"]) == (422, True)
    for at, name in enumerate(("Cem", "Ann")):
        client.post("/v1/pools/queue/events", json={"event": "ask", "name": name, "at": at})
    served = [client.post("/v1/pools/queue/decisions", json={}).json() for _ in range(2)]
    assert [one["shares"][0]["name"] for one in served] == ["Cem", "Ann"]


def test_pools_are_listed_and_their_names_are_taken_once(client):
    assert [one["name"] for one in client.get("/v1/pools").json()["pools"]] == ["small"]
    again = client.post("/v1/pools", json={"name": "small"})
    assert (again.status_code, "already" in again.json()["detail"]) == (422, True)
    twice = client.post("/v1/pools", json={"name": "b", "stakeholders": [THREE[0], THREE[0]]})
    assert (twice.status_code, "twice" in twice.json()["detail"]) == (422, True)


def test_a_pool_made_twice_with_one_key_is_made_once(client):
    sent = {"name": "other", "stakeholders": ["Ann"]}
    client.headers["idempotency-key"] = "mine"
    first = client.post("/v1/pools", json=sent)
    assert first.status_code == 201
    client.post(
        "/v1/pools/other/events",
        json={"event": "pause", "name": "Ann"},
        headers={"idempotency-key": "another"},
    )
    assert client.post("/v1/pools", json=sent).json() == first.json()
    refused = client.post("/v1/pools", json={**sent, "stakeholders": ["Ben"]})
    assert "was used for another request" in refused.json()["detail"]


def test_a_pool_that_was_written_while_the_answer_was_lost_is_there_when_tried_again(client):
    """As where the connection to the database breaks just after it was written."""
    service = client.app.inner.state.service
    append = service.store.append

    def lost(batch):
        if not service.store.pools().count("other"):
            append(batch)
        raise StoreUnavailable("the connection was lost.")

    service.store.append = lost
    sent, key = {"name": "other", "stakeholders": ["Ann"]}, {"idempotency-key": "mine"}
    assert client.post("/v1/pools", json=sent, headers=key).status_code == 503
    service.store.append = append
    assert client.post("/v1/pools", json=sent, headers=key).status_code == 201
    assert client.get("/v1/pools/other/next").json()["shares"][0]["name"] == "Ann"


def test_stakeholders_are_names_or_names_with_an_entitlement(client):
    sent = ["Dan", {"name": "Eve", "entitlement": 0.5}, {"name": "Fay"}]
    assert client.post("/v1/pools", json={"name": "c", "stakeholders": sent}).status_code == 201
    shown = client.get("/v1/pools/c/state").json()["stakeholders"]
    assert [(one["name"], one["entitlement"]) for one in shown] == [
        ("Dan", 1.0),
        ("Eve", 0.5),
        ("Fay", 1.0),
    ]
    for wrong, sentence in (
        ("", "'stakeholders.0' does not fit"),
        ({"nme": "Gil"}, "'stakeholders.0.name' is missing: see /docs for what must be sent."),
        (3, "'stakeholders.0' does not fit"),
    ):
        refused = client.post("/v1/pools", json={"name": "d", "stakeholders": [wrong]})
        assert refused.status_code == 422
        assert sentence in refused.json()["detail"]
    refused = client.post("/v1/pools", json={"name": "d", "members": ["Ann"]})
    assert (
        refused.json()["detail"] == "'members' is not known here: see /docs for what can be sent."
    )


def test_the_state_and_the_log_page_by_page(client):
    first = client.get(f"{BASE}/state?limit=2").json()
    assert (first["cursor"], first["eligible"]) == (2, 3)
    last = client.get(f"{BASE}/state?limit=2&cursor=2").json()
    assert ([one["name"] for one in last["stakeholders"]], last["cursor"]) == (["Cem"], None)
    page = client.get(f"{BASE}/events?limit=3").json()
    assert [one["body"]["event"] for one in page["entries"]] == ["create", "join", "join"]
    rest = client.get(f"{BASE}/events?cursor={page['cursor']}").json()
    assert ([one["number"] for one in rest["entries"]], rest["cursor"]) == ([4], None)


def test_a_name_is_data(client):
    for name in ("<script>alert(1)</script>", "Zoë 🦊", "a/b?c#d", "'; DROP TABLE entries; --"):
        assert happen(client, "join", name).status_code == 201
        assert client.get(f"{BASE}/why", params={"name": name}).json()["name"] == name
    assert happen(client, "join", "line\nbreak").status_code == 422
