"""Why a decision was so, why not somebody else, and undoing it."""

from __future__ import annotations

import pytest

from at_the_page import at_the_page, text_of

HOME = "/pools/small"


@pytest.fixture
def ann(tmp_path):
    with at_the_page(tmp_path) as found:
        for _ in range(2):
            found.send(HOME, f"{HOME}/take")
        yield found


def test_why_then(ann):
    words = text_of(ann.open(f"{HOME}/decisions/6"))
    assert "Ben is next of 3: it has received 0." in words
    assert "Next otherwise Cem: has received 0" in words
    words = text_of(ann.open(f"{HOME}/decisions/6?place=0"))
    assert "Ann is third of 3: it has received 1. Ben is next: it has received 0." in words
    assert "Ann would be next if Ben and Cem were away" in words


def test_why_of_a_decision_that_was_not_the_rules(ann):
    ann.send(HOME, f"{HOME}/otherwise", place="0", reason="<b>she asked</b>")
    page = ann.open(f"{HOME}/decisions/7")
    words = text_of(page)
    assert "The rule proposed 1 to Cem. It was decided otherwise: <b>she asked</b>" in words
    assert "<b>" not in page
    assert "By the rule: Ann is" in words


def test_undo(ann):
    where = f"{HOME}/decisions/5"
    words = text_of(ann.send(where, f"{where}/undo", reason="a slip"))
    assert "Noted: decision 5 was undone a slip" in words
    assert "Next Ann Has received 0." in words
    page = ann.open(where)
    assert "it does not count" in page
    assert f"{where}/undo" not in ann.actions(page)
    fields = ann.form(ann.open(f"{HOME}/decisions/6"), f"{HOME}/decisions/6/undo")
    answer = ann.client.post(f"{where}/undo", data=fields)
    assert answer.status_code == 422
    assert "was undone before" in answer.text
    log = text_of(ann.open(f"{HOME}/log"))
    assert "1 to Ann undone" in log
    assert "1 decision." in log
