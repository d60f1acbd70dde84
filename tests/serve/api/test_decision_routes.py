"""Ask, take, override, undo and why, over HTTP; by hand on three people."""

from __future__ import annotations

import pytest

from serving import small_service

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
