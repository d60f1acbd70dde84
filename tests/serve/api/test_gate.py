"""Who is let in, how often and with how much; and what every answer carries."""

from __future__ import annotations

import json

import pytest

from evenhand.serve.api.gate import GateLimits
from evenhand.serve.api.tokens import Role, find_token, hash_of, make_token
from serving import client_of, new_store, small_service

BASE = "/v1/pools/small"
READS = ("/v1/pools", BASE, f"{BASE}/next", f"{BASE}/state", f"{BASE}/events", f"{BASE}/decisions",
         f"{BASE}/why?name=Ann", "/metrics")  # fmt: skip


@pytest.fixture
def store(tmp_path):
    with small_service(tmp_path):
        pass
    found = new_store(tmp_path)
    yield found
    found.close()


def test_without_a_token_nothing_is_shown(store):
    with client_of(store) as client:
        for headers in ({}, {"authorization": "Bearer evh_wrong"}, {"authorization": "Basic x"}):
            client.headers.pop("authorization", None)
            for path in (*READS, "/v1/tokens", "/v1/anything"):
                answer = client.get(path, headers=headers)
                if answer.status_code != 429:  # guesses are limited too
                    assert (answer.status_code, answer.headers["www-authenticate"]) == (
                        401,
                        "Bearer",
                    )
                assert "Ann" not in answer.text
                assert "small" not in answer.text
        assert client.get("/health").json() == {"status": "ok"}


def test_a_reader_cannot_decide_and_a_decider_cannot_own(store):
    decisions = [
        ("POST", f"{BASE}/decisions", {}),
        ("POST", f"{BASE}/decisions/5/undo", {}),
        ("POST", f"{BASE}/events", {"event": "pause", "name": "Ann"}),
    ]
    ownership = [
        ("POST", "/v1/pools", {"name": "new"}),
        ("POST", f"{BASE}/events", {"event": "join", "name": "Eve"}),
        ("GET", "/v1/tokens", None),
        ("POST", "/v1/tokens", {"name": "n", "role": "owner"}),
        ("DELETE", "/v1/tokens/owner 0", None),
    ]
    for role, forbidden in ((Role.READER, decisions + ownership), (Role.DECIDER, ownership)):
        before = store.head("small"), len(store.tokens())
        with client_of(store, role) as client:
            for method, path, sent in forbidden:
                answer = client.request(method, path, json=sent)
                assert answer.status_code == 403, (role, path)
                assert "ask an owner" in answer.json()["detail"]
            assert all(client.get(path).status_code == 200 for path in READS)
        assert (store.head("small"), len(store.tokens())) == (before[0], before[1] + 1)


def test_tokens_are_made_shown_once_and_taken_back(store):
    with client_of(store) as client:
        made = client.post("/v1/tokens", json={"name": "bot", "role": "decider"}).json()
        assert made["secret"].startswith("evh_")
        assert len(made["secret"]) >= 43  # 256 bits
        assert made["secret"] not in client.get("/v1/tokens").text
        assert made["secret"].encode() not in store.path.read_bytes()
        bot = {"authorization": f"Bearer {made['secret']}"}
        taken = client.post(f"{BASE}/decisions", json={}, headers=bot)
        assert taken.json()["actor"] == "bot"
        assert client.post("/v1/tokens", json={"name": "bot", "role": "reader"}).status_code == 422
        assert client.delete("/v1/tokens/bot").status_code == 204
        assert client.get(BASE, headers=bot).status_code == 401
        assert client.delete("/v1/tokens/bot").status_code == 422


def test_the_last_owner_stays(tmp_path):
    store = new_store(tmp_path)
    with client_of(store) as client:
        answer = client.delete("/v1/tokens/owner 0")
        assert (answer.status_code, "only owner" in answer.json()["detail"]) == (422, True)
    store.close()


def test_a_token_is_found_by_its_hash_alone(tmp_path):
    store = new_store(tmp_path)
    secret = make_token(store, "a", Role.READER)
    make_token(store, "b", Role.OWNER)
    assert find_token(store.tokens(), secret).name == "a"
    assert find_token(store.tokens(), secret[:-1]) is None
    assert [token.hash for token in store.tokens() if token.name == "a"] == [hash_of(secret)]
    store.close()


def test_too_often_and_too_much(store):
    with client_of(store, limits=GateLimits(per_second=2.0, body=300)) as client:
        much = client.post(f"{BASE}/decisions", json={"reason": "x" * 400})
        assert (much.status_code, much.json()["title"]) == (413, "Too large")
        streamed = client.post(f"{BASE}/decisions", content=iter([b"x" * 200] * 3))
        assert streamed.status_code == 413
        answers = [client.get(BASE) for _ in range(8)]
        assert {answer.status_code for answer in answers} == {200, 429}
        late = next(answer for answer in answers if answer.status_code == 429)
        assert int(late.headers["retry-after"]) >= 1


def test_every_answer_has_its_headers_and_the_log_no_secret(store):
    lines = []
    with client_of(store, log=lines.append) as client:
        secret = client.headers["authorization"].removeprefix("Bearer ")
        for path in ("/health", BASE, "/v1/none", "/v1/pools/none"):
            headers = client.get(path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["cache-control"] == "no-store"
        text = client.get("/metrics").text
        assert 'route="/v1/pools/{pool}",status="200"} 1' in text
        assert "evenhand_decisions 0" in text
    assert [line["status"] for line in lines[:4]] == [200, 200, 404, 404]
    assert lines[1]["actor"] == client_name(store)
    assert secret not in json.dumps(lines)


def client_name(store):
    return store.tokens()[-1].name


def test_what_nobody_foresaw_is_a_problem_without_details(store, monkeypatch, capsys):
    monkeypatch.setattr("evenhand.serve.api.pool_routes.pool_view", lambda pool: 1 / 0)
    lines = []
    with client_of(store, log=lines.append) as client:
        answer = client.get(BASE)
    assert (answer.status_code, answer.json()["title"]) == (500, "Something went wrong")
    assert "division" not in answer.text
    assert any("ZeroDivisionError" in line.get("error", "") for line in lines)
    assert "Traceback" in capsys.readouterr().err
