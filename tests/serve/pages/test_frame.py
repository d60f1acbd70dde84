"""Tests of serve.pages.frame."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from at_the_page import at_the_page, text_of
from evenhand.serve.api.middleware import Role
from evenhand.serve.pages.frame import COOKIE, LASTS, OWN_PAGE, Sessions
from evenhand.serve.store.store import StoredToken
from serving import client_of, new_store, small_service

# Cookies of the page: nobody else can make one, and each ends.

ANN = StoredToken("Ann · אן", "owner", b"1" * 32, 0)
BEN = StoredToken("Ben", "reader", b"2" * 32, 0)


def test_a_cookie_says_whose_it_is_until_it_ends(monkeypatch):
    clock = iter((1000.0, 1000.0, 1000.0 + LASTS, 1001.0 + LASTS))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    sessions = Sessions()
    cookie = sessions.begin(ANN)
    assert cookie.isascii()
    assert sessions.visitor(cookie, [BEN, ANN]) is ANN
    assert sessions.visitor(cookie, [BEN, ANN]) is ANN
    assert sessions.visitor(cookie, [BEN, ANN]) is None


def test_a_cookie_is_of_one_process_and_one_token():
    sessions = Sessions()
    cookie = sessions.begin(ANN)
    assert Sessions().visitor(cookie, [ANN]) is None
    assert sessions.visitor(cookie, [BEN]) is None  # the token was taken back
    made_anew = StoredToken(ANN.name, "owner", b"3" * 32, 0)
    assert sessions.visitor(cookie, [made_anew]) is None


def test_a_cookie_holds_nothing_of_the_token():
    cookie = Sessions().begin(ANN)
    for written in (ANN.hash.hex(), base64.urlsafe_b64encode(ANN.hash).decode()[:40]):
        assert written not in cookie


def test_forms_of_two_sessions_differ():
    sessions = Sessions()
    one, other = sessions.begin(ANN), sessions.begin(ANN)
    assert one != other
    assert sessions.form_mark(one) == sessions.form_mark(one) != sessions.form_mark(other)
    assert sessions.form_mark(one) not in one


@given(st.text())
def test_no_text_is_a_cookie(text):
    assert Sessions().visitor(text, [ANN, BEN]) is None


@given(st.data())
def test_a_changed_cookie_is_nobodys(data):
    sessions = Sessions(key=b"k" * 32)
    cookie = sessions.begin(ANN)
    place = data.draw(st.integers(0, len(cookie) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda char: char != cookie[place]))
    changed = cookie[:place] + other + cookie[place + 1 :]
    assert sessions.visitor(changed, [ANN, BEN]) is None


# Who is let in to the page, and what those see who are not.

PAGES = ("/", "/pools/small", "/pools/small/log", "/pools/small/decisions/5", "/pools/none")


@pytest.fixture
def client(tmp_path):
    """Somebody who is not signed in."""
    with small_service(tmp_path) as found:
        found.secret = found.headers.pop("authorization").removeprefix("Bearer ")
        yield found


def test_whoever_is_not_signed_in_sees_the_sign_in_alone(client):
    pages = {path: client.get(path) for path in PAGES}
    for path, answer in pages.items():
        assert answer.status_code == 401
        assert "Your token" in answer.text
        words = text_of(answer.text).replace(path, "")
        assert not any(name in words for name in ("Ann", "Ben", "small"))
    # A pool that exists and one that does not look the same.
    there, not_there = (pages[f"/pools/{name}"].text for name in ("small", "none"))
    assert there.replace("/pools/small", "/pools/none") == not_there
    for path in ("/pools/small/take", "/pools/small/otherwise"):
        assert client.post(path, data={"amount": "1"}).status_code == 401


def test_signing_in_sets_a_cookie_that_no_script_and_no_other_site_has(client):
    wrong = client.post("/sign-in", data={"token": "evh_no"}, follow_redirects=False)
    assert wrong.status_code == 422
    assert "This token is not known here" in text_of(wrong.text)
    assert "set-cookie" not in wrong.headers
    fields = {"token": f" {client.secret}\n", "to": "/pools/small/log"}
    answer = client.post("/sign-in", data=fields, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/pools/small/log")
    said = answer.headers["set-cookie"]
    assert all(word in said for word in ("HttpOnly", "SameSite=strict", "Max-Age=", "Path=/"))
    assert client.secret not in said
    assert client.get("/pools/small").status_code == 200


def test_the_cookie_is_only_for_the_page(client):
    client.post("/sign-in", data={"token": client.secret})
    assert client.cookies[COOKIE]
    for path in ("/v1/pools", "/v1/pools/small/next", "/metrics"):
        assert client.get(path).status_code == 401
    assert client.post("/v1/pools/small/decisions", json={}).status_code == 401


def test_after_signing_in_one_stays_on_this_site(client):
    for to in (
        "https://example.org/",
        "//example.org",
        "/\\example.org",
        "/pools/../x",
        "javascript:1",
    ):
        assert not OWN_PAGE.fullmatch(to)
        fields = {"token": client.secret, "to": to}
        answer = client.post("/sign-in", data=fields, follow_redirects=False)
        assert answer.headers["location"] == "/"


def test_attempts_are_limited(client):
    answers = [client.post("/sign-in", data={"token": "evh_no"}) for _ in range(15)]
    assert any("Too many attempts" in answer.text for answer in answers)
    assert client.post("/sign-in", data={"token": client.secret}).status_code == 200


def test_a_link_from_elsewhere_asks_again_with_the_cookie(client):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    answer = client.get("/pools/small", headers=headers)
    assert 'http-equiv="refresh"' in answer.text
    assert "small" not in text_of(answer.text)


def test_forms_of_other_sites_and_other_sessions_do_nothing(tmp_path):
    with at_the_page(tmp_path) as ann:
        action = "/pools/small/take"
        fields = ann.form(ann.open("/pools/small"), action)
        for headers in ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
                        {"origin": "http://testserver:81"}, {"origin": "null"}):  # fmt: skip
            answer = ann.client.post(action, data=fields, headers=headers)
            assert answer.status_code == 403
            assert "comes from another site" in answer.text
        for mark in ("", "é", fields["mark"][:-1]):
            answer = ann.client.post(action, data=fields | {"mark": mark})
            assert answer.status_code == 403
        assert "Nobody is next" not in ann.open("/pools/small")
        assert "Ann is next" not in ann.open("/pools/small/log")
        assert "0 decisions" in ann.open("/pools/small/log")
        own = {"origin": "http://testserver", "sec-fetch-site": "same-origin"}
        assert ann.client.post(action, data=fields, headers=own).status_code == 200
        assert "1 decision" in ann.open("/pools/small/log")


def test_signing_out(tmp_path):
    with at_the_page(tmp_path) as ann:
        ann.send("/", "/sign-out", status=401)
        ann.open("/pools/small", status=401)


def test_a_token_that_is_taken_back_ends_the_visit(tmp_path):
    with at_the_page(tmp_path, Role.READER) as visitor:
        visitor.open("/")
        store = new_store(tmp_path)
        with client_of(store) as owner:
            known = owner.get("/v1/tokens").json()["tokens"]
            name = next(token["name"] for token in known if token["role"] == "reader")
            owner.delete(f"/v1/tokens/{name}")
        store.close()
        visitor.client.portal.call(visitor.client.app.inner.state.service.refresh_tokens)
        visitor.open("/", status=401)
