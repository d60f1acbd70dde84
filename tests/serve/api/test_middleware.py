"""Tests of serve.api.middleware."""

from __future__ import annotations

import io
import json
import threading
import time

import pytest

from evenhand.serve.api import middleware
from evenhand.serve.api.middleware import (
    GateLimits,
    RequestLog,
    Role,
    find_token,
    hash_of,
    make_token,
)
from serving import THREE, client_of, new_store, small_service
from waiting import wait_until

# Who may do what: every endpoint with every role, and nobody without a token.

P = "/v1/pools/small"
READER, DECIDER, OWNER = Role.READER, Role.DECIDER, Role.OWNER
# Every operation of the API: what is sent, and who may; None: everybody, without a token too.
ENDPOINTS = [
    ("GET", "/health", None, None),
    ("GET", "/metrics", None, READER),
    ("GET", "/v1/pools", None, READER),
    ("POST", "/v1/pools", {"name": "new"}, OWNER),
    ("GET", "/v1/pools/{pool}", None, READER),
    ("GET", "/v1/pools/{pool}/state", None, READER),
    ("GET", "/v1/pools/{pool}/events", None, READER),
    ("GET", "/v1/pools/{pool}/events/stream", None, READER),
    ("GET", "/v1/pools/{pool}/next", None, READER),
    ("GET", "/v1/pools/{pool}/why?name=Ann", None, READER),
    ("GET", "/v1/pools/{pool}/forecast?name=Ann", None, READER),
    ("GET", "/v1/pools/{pool}/over-time", None, READER),
    ("GET", "/v1/pools/{pool}/decisions", None, READER),
    ("GET", "/v1/pools/{pool}/decisions/5", None, READER),
    ("GET", "/v1/pools/{pool}/decisions/5/why", None, READER),
    ("GET", "/v1/pools/{pool}/audit", None, READER),
    ("GET", "/v1/pools/{pool}/audit.html", None, READER),
    ("GET", "/v1/pools/{pool}/alarms", None, READER),
    ("GET", "/v1/pools/{pool}/export.csv", None, READER),
    ("GET", "/v1/pools/{pool}/export.parquet", None, READER),
    ("GET", "/v1/pools/{pool}/roster.csv", None, READER),
    ("GET", "/v1/pools/{pool}/requests.csv", None, READER),
    ("POST", "/v1/pools/{pool}/decisions", {}, DECIDER),
    ("POST", "/v1/pools/{pool}/decisions/5/undo", {}, DECIDER),
    ("POST", "/v1/pools/{pool}/import?stakeholder=a&time=b", {}, OWNER),
    ("GET", "/v1/tokens", None, OWNER),
    ("POST", "/v1/tokens", {"name": "new", "role": "owner"}, OWNER),
    ("DELETE", "/v1/tokens/nobody", None, OWNER),
]
# One endpoint, of which what happens decides who may let it happen.
HAPPENINGS = {
    **dict.fromkeys(("pause", "resume", "ask"), DECIDER),
    **dict.fromkeys(("join", "leave", "entitle"), OWNER),
}
ENDPOINTS += [
    ("POST", "/v1/pools/{pool}/events", {"event": event, "name": "Ann"}, role)
    for event, role in HAPPENINGS.items()
]


def shape(path):
    """A path as the description of the API has it."""
    plain = path.partition("?")[0].replace("/5", "/{number}")
    return plain.replace("/tokens/nobody", "/tokens/{name}")


@pytest.fixture
def service(tmp_path):
    """A service with a pool and a decision, and a token of each role."""
    store = new_store(tmp_path, durable=False)
    with client_of(store) as client:
        sent = {"name": "small", "dates": False, "stakeholders": THREE}
        assert client.post("/v1/pools", json=sent).status_code == 201
        assert client.post(f"{P}/decisions", json={}).json()["number"] == 5
        client.headers.pop("authorization")
        secrets = {role: make_token(store, f"a {role.word}", role) for role in Role}
        yield client, secrets, store
    store.close()


def status(client, method, path, sent, secret):
    headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
    path = path.replace("{pool}", "small")
    if path.endswith("/stream"):  # which never ends by itself: asked for what is not there
        path = path.replace("small", "none")
    return client.request(method, path, json=sent, headers=headers).status_code


@pytest.mark.system
@pytest.mark.parametrize("role", [None, *Role])
def test_every_endpoint_for_every_role(service, role):
    client, secrets, _ = service
    time.sleep(0.6)  # until the service knows of the tokens
    for method, path, sent, needed in ENDPOINTS:
        found = status(client, method, path, sent, None if role is None else secrets[role])
        if needed is None:
            assert found == 200, (method, path)
        elif role is None:
            assert found in (401, 429), (method, path)
        elif role < needed:
            assert found == 403, (method, path, sent)
        else:
            assert found not in (401, 403, 500, 503), (method, path, sent)


def test_no_endpoint_is_left_out(service):
    client, _, _ = service
    described = client.get("/openapi.json").json()["paths"]
    there = {(method.upper(), path) for path, methods in described.items() for method in methods}
    assert {(method, shape(path)) for method, path, _, _ in ENDPOINTS} == there


def test_what_is_refused_does_not_happen(service):
    client, secrets, store = service
    before = store.head("small")
    for method, path, sent, needed in ENDPOINTS:
        if needed is not None and needed > READER:
            status(client, method, path, sent, secrets[READER])
            status(client, method, path, sent, None)
    assert store.head("small") == before
    assert store.pools() == ["small"]
    assert "new" not in [token.name for token in store.tokens()]


# Who is let in, how often and with how much; and what every answer carries.

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
    monkeypatch.setattr("evenhand.serve.api.routes.pool_view", lambda pool: 1 / 0)
    lines = []
    with client_of(store, log=lines.append) as client:
        answer = client.get(BASE)
    assert (answer.status_code, answer.json()["title"]) == (500, "Something went wrong")
    assert "division" not in answer.text
    assert any("ZeroDivisionError" in line.get("error", "") for line in lines)
    assert "Traceback" in capsys.readouterr().err


# A mistyped parameter of a query is refused: left out silently, 1 would be given in place of 3.


@pytest.fixture
def client(tmp_path):
    with small_service(tmp_path) as found:
        yield found


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("/next?amout=3", "'amout' is not known here: did you mean 'amount'?"),
        ("/next?amount=3&coutn=2", "'coutn' is not known here: did you mean 'count'?"),
        ("/state?xyz=1", "'xyz' is not known here: see /docs for what there is."),
        ("?limit=3", "'limit' is not known here: see /docs for what there is."),
    ],
)
def test_what_no_route_takes_is_refused(client, asked, words):
    answer = client.get(f"{BASE}{asked}")
    assert (answer.status_code, answer.json()["detail"]) == (422, words)


def test_a_route_that_takes_nothing_and_one_that_writes(client):
    answer = client.post(f"{BASE}/decisions?amount=3", json={})
    assert answer.status_code == 422  # the amount belongs into the body
    assert client.get(f"{BASE}/state").json()["stakeholders"][0]["received"] == 0
    assert client.get(f"{BASE}/next?amount=3&among=Ben&among=Cem").status_code == 200


# Lines about requests: all of them, in order, and nobody waits for whoever reads them.


class SlowReader(io.BytesIO):
    """A stream whose writes wait until they are let."""

    def __init__(self):
        super().__init__()
        self.let, self.asked = threading.Event(), threading.Event()

    def write(self, text):
        self.asked.set()
        self.let.wait()
        return super().write(text)


def numbers(stream):
    return [json.loads(line).get("number") for line in stream.getvalue().splitlines()]


def test_lines_are_written_in_order_and_none_is_left_when_it_is_closed():
    stream = io.BytesIO()
    log = RequestLog(stream)
    for number in range(1000):
        log.write({"number": number})
    log.close()
    assert numbers(stream) == list(range(1000))
    assert all(json.loads(line)["time"] > 0 for line in stream.getvalue().splitlines())


def test_whoever_writes_does_not_wait_and_what_is_too_much_is_counted(monkeypatch):
    monkeypatch.setattr(middleware, "MOST_WAITING", 5)
    stream = SlowReader()
    log = RequestLog(stream)
    log.write({"number": 0})
    assert wait_until(stream.asked.is_set)
    for number in range(1, 9):
        log.write({"number": number})  # which would wait for ever otherwise
    stream.let.set()
    log.close()
    assert numbers(stream)[:6] == [0, 1, 2, 3, 4, 5]
    assert json.loads(stream.getvalue().splitlines()[-1])["left_out"] == 3


def test_a_stream_that_is_gone_stops_nothing():
    stream = io.BytesIO()
    log = RequestLog(stream)
    stream.close()
    log.write({"number": 1})
    log.close()
