"""Tests of serve.api.routes."""

from __future__ import annotations

import pytest

from evenhand.errors import StoreUnavailable
from serving import THREE, small_service

# Ask, take, override, undo and why, over HTTP; by hand on three people.

BASE = "/v1/pools/small"


@pytest.fixture
def client(tmp_path):
    with small_service(tmp_path) as found:
        yield found


def take(client, key=None, **sent):
    headers = {} if key is None else {"idempotency-key": key}
    return client.post(f"{BASE}/decisions", json=sent, headers=headers)


def received(client):
    people = client.get(f"{BASE}/state").json()["stakeholders"]
    return {one["name"]: one["received"] for one in people}


def refused(answer, status, *words):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["title"]
    for word in words:
        assert word in body["detail"]


def test_ask_then_take(client):
    asked = client.get(f"{BASE}/next").json()
    assert asked["shares"] == [{"name": "Ann", "amount": 1.0, "reason": "has received 0"}]
    assert asked["runner_up"]["name"] == "Ben"
    taken = take(client, turn=asked["turn"])
    assert taken.status_code == 201
    body = taken.json()
    assert (body["number"], body["by_rule"], body["actor"]) == (5, True, "owner 0")
    assert body["runner_up"] == {"name": "Ben", "reason": "has received 0"}
    assert client.get(f"{BASE}/next").json()["shares"][0]["name"] == "Ben"
    refused(take(client, turn=asked["turn"]), 409, "is over", "ask again")
    assert received(client) == {"Ann": 1.0, "Ben": 0.0, "Cem": 0.0}
    assert take(client, turn=body["turn"]).json()["shares"][0]["name"] == "Ben"


def test_asking_changes_nothing(client):
    before = client.get(BASE).json()
    for query in ("", "?count=5", "?without=Ann", "?among=Cem&amount=3", "?count=2&distinct=true"):
        assert client.get(f"{BASE}/next{query}").status_code == 200
    assert client.get(f"{BASE}/why?name=Cem").json()["turns_until"] == 2
    assert client.get(BASE).json() == before


def test_what_if_somebody_is_away(client):
    answer = client.get(f"{BASE}/next?without=Ann&without=Ben").json()
    assert answer["shares"][0]["name"] == "Cem"
    refused(client.get(f"{BASE}/next?without=Anne"), 422, "did you mean 'Ann'?")


def test_a_retry_with_the_same_key_changes_nothing(client):
    first = take(client, "key 1", amount=2)
    assert [take(client, "key 1", amount=2).content for _ in range(3)] == [first.content] * 3
    assert received(client)["Ann"] == 2.0
    refused(take(client, "key 1", amount=3), 422, "used for another request")
    refused(take(client, "x" * 201), 422, "idempotency key")
    assert take(client, "key 2", amount=2).json()["shares"][0]["name"] == "Ben"


def test_another_decision_with_a_reason(client):
    shares = [{"name": "Cem", "amount": 2}]
    refused(take(client, shares=shares), 422, "the rule proposes Ann")
    taken = take(client, shares=shares, reason="knows the code").json()
    assert (taken["by_rule"], taken["reason"]) == (False, "knows the code")
    assert taken["proposed"] == [{"name": "Ann", "amount": 1.0}]
    assert received(client) == {"Ann": 0.0, "Ben": 0.0, "Cem": 2.0}


def test_an_undone_decision_never_was_and_stays_in_the_log(client):
    take(client), take(client)
    undone = client.post(f"{BASE}/decisions/5/undo", json={"reason": "a slip"})
    assert undone.status_code == 201
    assert undone.json()["undone"]
    assert received(client) == {"Ann": 0.0, "Ben": 1.0, "Cem": 0.0}
    refused(client.post(f"{BASE}/decisions/5/undo", json={}), 422, "undone before")
    refused(client.post(f"{BASE}/decisions/2/undo", json={}), 404, "not a decision")
    refused(client.post(f"{BASE}/decisions/99/undo", json={}), 404, "no decision 99")
    listed = client.get(f"{BASE}/decisions").json()["decisions"]
    assert [(one["number"], one["undone"]) for one in listed] == [(6, False), (5, True)]
    log = client.get(f"{BASE}/events?cursor=6").json()["entries"]
    assert log[0]["body"] == {"event": "undo", "number": 5, "reason": "a slip"}
    assert take(client).json()["shares"][0]["name"] == "Ann"


def test_why_now_and_why_then(client):
    take(client), take(client)
    now = client.get(f"{BASE}/why?name=Ann").json()
    assert (
        now["sentence"] == "Ann is second of 3: it has received 1. Cem is next: it has received 0."
    )
    assert (now["rank"], now["turns_until"], now["standing"]["received"]) == (2, 1, 1.0)
    then = client.get(f"{BASE}/decisions/6/why").json()
    assert then["why"]["sentence"] == "Ben is next of 3: it has received 0."
    not_me = client.get(f"{BASE}/decisions/6/why?name=Ann").json()["why"]
    assert not_me["rank"] == 3
    assert "next if Ben and Cem were away, or if it had received" in not_me["what_would_differ"]
    client.post(f"{BASE}/events", json={"event": "pause", "name": "Ann"})
    paused = client.get(f"{BASE}/why?name=Ann").json()
    assert paused["sentence"] == "Ann is not eligible: it is paused."
    assert paused["what_would_differ"] == "Ann would have to resume first."


def test_decisions_page_by_page(client):
    for _ in range(7):
        take(client)
    numbers, cursor = [], ""
    while cursor is not None:
        page = client.get(f"{BASE}/decisions?limit=3{cursor}").json()
        numbers += [one["number"] for one in page["decisions"]]
        cursor = page["cursor"] and f"&cursor={page['cursor']}"
    assert numbers == [11, 10, 9, 8, 7, 6, 5]
    one = client.get(f"{BASE}/decisions/7").json()
    assert one["shares"][0]["name"] == "Cem"


def test_it_goes_on_after_a_restart(tmp_path):
    from serving import client_of, new_store

    with small_service(tmp_path) as client:
        take(client, "key")
        client.post(f"{BASE}/events", json={"event": "pause", "name": "Ben"})
        before = client.get(BASE).json()
        state = client.get(f"{BASE}/state").json()
    store = new_store(tmp_path)
    assert store.snapshot("small", 99)[0] == 6  # a clean stop leaves one
    with client_of(store) as client:
        assert client.get(BASE).json() == before
        assert client.get(f"{BASE}/state").json() == state
    store.close()


# Pools and those in them, over HTTP.


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
