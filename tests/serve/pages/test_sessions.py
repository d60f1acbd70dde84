"""Cookies of the page: nobody else can make one, and each ends."""

from __future__ import annotations

import base64
import time

from hypothesis import given
from hypothesis import strategies as st

from evenhand.serve.pages.sessions import LASTS, Sessions
from evenhand.serve.store.decision_store import StoredToken

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
