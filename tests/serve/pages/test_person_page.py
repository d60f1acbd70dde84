"""One person: why, when, and what can happen to them."""

from __future__ import annotations

import re

import pytest

from at_the_page import HOSTILE, at_the_page, text_of
from evenhand.serve.api.tokens import Role

HOME = "/pools/small"


@pytest.fixture
def ann(tmp_path):
    with at_the_page(tmp_path) as found:
        found.send(HOME, f"{HOME}/take")
        yield found


def happens(visitor, place, event, status=200, **typed):
    page = visitor.open(f"{HOME}/people/{place}")
    forms = re.findall(r"<form.*?</form>", page, re.S)
    form = next(one for one in forms if f'value="{event}"' in one)
    fields = visitor.form(form, f"{HOME}/happen") | typed
    answer = visitor.client.post(f"{HOME}/happen", data=fields)
    assert answer.status_code == status, answer.text
    return text_of(answer.text)


def test_why_and_when(ann):
    words = text_of(ann.open(f"{HOME}/people/0"))
    assert "Ann is third of 3: it has received 1. Ben is next: it has received 0." in words
    assert (
        "Ann would be next if Ben and Cem were away, or if it had received at least 1 less" in words
    )
    assert "Ann is next after 2 turns." in words
    ann.open(f"{HOME}/people/3", 422)


def test_what_can_happen_to_somebody(ann):
    assert "Noted: Ben paused" in happens(ann, 1, "pause")
    assert "Noted: Ben is back" in happens(ann, 1, "resume")
    words = happens(ann, 0, "entitle", entitlement="2")
    assert "Noted: Ann is entitled to 2" in words
    assert "0.5 per unit of its entitlement" in words
    assert "The entitlement is 'much'" in happens(ann, 0, "entitle", 422, entitlement="much")
    words = happens(ann, 2, "leave")
    assert "Noted: Cem left" in words
    assert "Cem has left." in words
    page = ann.open(f"{HOME}/people/2")
    assert ann.actions(page) == {"/sign-out"}


def test_somebody_asks(tmp_path):
    with at_the_page(tmp_path, rule="first_come") as ann:
        assert "Noted: Cem asked for 2" in happens(ann, 2, "ask", amount="2")
        assert "Next Cem" in text_of(ann.open(HOME))


def test_roles(tmp_path):
    with at_the_page(tmp_path, Role.DECIDER, people=(HOSTILE,)) as decider:
        page = decider.open(f"{HOME}/people/0")
        assert HOSTILE[:30] in text_of(page)
        assert "Pause" in page
        assert "Leave the pool" not in page
