"""Bad input, fifty times over: problem details with one sentence, and nothing has happened."""

from __future__ import annotations

import pytest

from serving import small_service

BASE = "/v1/pools/small"
LONG = "x" * 300
GET = [
    ("/v1/pools/none/next", 404),
    ("/v1/pools/none", 404),
    ("/v1/pools/%00", 404),
    ("/v1/pols", 404),
    (f"{BASE}/decisions/99", 404),
    (f"{BASE}/decisions/2", 404),
    (f"{BASE}/decisions/2/why", 404),
    (f"{BASE}/decisions/x", 422),
    (f"{BASE}/decisions/0", 422),
    (f"{BASE}/decisions/{10**30}", 422),
    (f"{BASE}/decisions?limit=0", 422),
    (f"{BASE}/decisions?limit=1001", 422),
    (f"{BASE}/decisions?cursor=-1", 422),
    (f"{BASE}/events?cursor=x", 422),
    (f"{BASE}/state?limit=many", 422),
    (f"{BASE}/next?amount=0", 422),
    (f"{BASE}/next?amount=-1", 422),
    (f"{BASE}/next?amount=nan", 422),
    (f"{BASE}/next?amount=inf", 422),
    (f"{BASE}/next?amount=1e300", 422),
    (f"{BASE}/next?count=0", 422),
    (f"{BASE}/next?count=10001", 422),
    (f"{BASE}/next?count=1.5", 422),
    (f"{BASE}/next?among=Eve", 422),
    (f"{BASE}/next?without=Eve", 422),
    (f"{BASE}/next?at=soon", 422),
    (f"{BASE}/next?at=-5", 422),
    (f"{BASE}/next?distinct=perhaps", 422),
    (f"{BASE}/why", 422),
    (f"{BASE}/why?name=Eve", 422),
    (f"{BASE}/why?name={LONG}", 422),
    (f"{BASE}/why?name=a%0Ab", 422),
    (f"{BASE}/audit?welfare=none", 422),
    (f"{BASE}/audit?every=moon", 422),
    (f"{BASE}/forecast?name=Ann&per_day=0", 422),
    (f"{BASE}/over-time?points=0", 422),
]
POST = [
    (f"{BASE}/decisions", {"amount": 0}, 422),
    (f"{BASE}/decisions", {"amount": "much"}, 422),
    (f"{BASE}/decisions", {"amuont": 1}, 422),
    (f"{BASE}/decisions", {"shares": []}, 422),
    (f"{BASE}/decisions", {"shares": [{"name": "Eve"}], "reason": "why"}, 422),
    (f"{BASE}/decisions", {"shares": [{"name": "Ann", "amount": -1}], "reason": "why"}, 422),
    (f"{BASE}/decisions", {"shares": [{"name": "Ben"}]}, 422),
    (f"{BASE}/decisions", {"reason": "x" * 3000}, 422),
    (f"{BASE}/decisions", {"turn": "1-0"}, 409),
    (f"{BASE}/decisions", {"among": ["Eve"]}, 422),
    (f"{BASE}/decisions", {"at": -1}, 422),
    (f"{BASE}/decisions", [], 422),
    (f"{BASE}/decisions", None, 422),
    (f"{BASE}/events", {}, 422),
    (f"{BASE}/events", {"event": "explode", "name": "Ann"}, 422),
    (f"{BASE}/events", {"event": "give", "name": "Ann"}, 422),
    (f"{BASE}/events", {"event": "join", "name": ""}, 422),
    (f"{BASE}/events", {"event": "join", "name": LONG}, 422),
    (f"{BASE}/events", {"event": "join", "name": "Eve", "entitlement": 0}, 422),
    (f"{BASE}/events", {"event": "pause", "name": "Eve"}, 422),
    ("/v1/pools", {"name": "a b"}, 422),
    ("/v1/pools", {"name": "b", "rule": "least"}, 422),
    ("/v1/pools", {"name": "b", "rule": {"name": "half_life"}}, 422),
    ("/v1/pools", {"name": "b", "rule": {"name": "half_life", "half_life": "never"}}, 422),
    ("/v1/pools", {"name": "b", "ties": {"name": "draw", "seed": -1}}, 422),
    ("/v1/pools", {"name": "b", "audit": {"every": []}}, 422),
    ("/v1/tokens", {"name": "b", "role": "king"}, 422),
    (f"{BASE}/import?stakeholder=a&time=b", None, 422),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with small_service(tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.fixture(autouse=True)
def _nothing_happens(client):
    before = client.get("/v1/pools").json(), len(client.get("/v1/tokens").json()["tokens"])
    yield
    after = client.get("/v1/pools").json(), len(client.get("/v1/tokens").json()["tokens"])
    assert after == before


def is_a_problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    sentence = body["detail"]
    assert 10 < len(sentence) <= 580
    assert "\n" not in sentence
    assert "Traceback" not in sentence


@pytest.mark.parametrize(("path", "status"), GET)
def test_asked_badly(client, path, status):
    is_a_problem(client.get(path), status)


@pytest.mark.parametrize(("path", "sent", "status"), POST)
def test_sent_badly(client, path, sent, status):
    is_a_problem(client.post(path, json=sent), status)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"amount": 1e999}', b"[" * 2000, b"NaN"]
)
def test_what_is_not_json(client, body):
    is_a_problem(client.post(f"{BASE}/decisions", content=body), 422)


def test_methods_that_are_not_there(client):
    is_a_problem(client.delete(BASE), 405)
    is_a_problem(client.put(f"{BASE}/decisions", json={}), 405)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/csv", ""])
def test_json_that_is_not_called_so(client, kind):
    """As curl sends it: the sentence must not say that the body is no object, which it is."""
    headers = {"content-type": kind}
    answer = client.post(f"{BASE}/decisions", content=b'{"amount": 1}', headers=headers)
    is_a_problem(answer, 422)
    assert "'Content-Type: application/json'" in answer.json()["detail"]


def test_what_a_name_must_be_is_said_in_words(client):
    said = client.post("/v1/pools", json={"name": "a/b"}).json()["detail"]
    assert said == (
        "'name' does not fit: it must be at most 64 letters, digits, dots, dashes and underscores, "
        "and begin with a letter or a digit."
    )
    said = client.post(f"{BASE}/events", json={"event": "join", "name": "a\nb"}).json()["detail"]
    assert said == "'name' does not fit: it must be a text of one line, without control characters."
