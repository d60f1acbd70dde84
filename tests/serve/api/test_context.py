"""Who may do what: every endpoint with every role, and nobody without a token."""

from __future__ import annotations

import time

import pytest

from evenhand.serve.api.tokens import Role, make_token
from serving import THREE, client_of, new_store

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
