"""Tests of serve.pages.pool."""

from __future__ import annotations

import re

import pytest

from at_the_page import HOSTILE, LONG, at_the_page, text_of
from evenhand.errors import StoreUnavailable
from evenhand.serve.api.middleware import Role, make_token
from evenhand.serve.pages.pool import AT_ONCE
from serving import new_store

# Why a decision was so, why not somebody else, and undoing it.

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


# The log page by page, the latest first.

LOG = "/pools/small/log"


def numbers(page: str) -> list[int]:
    return [int(n) for n in re.findall(r'class="number">(\d+)<', page)]


def test_every_entry_is_on_one_page(tmp_path):
    people = tuple(f"p{k}" for k in range(2 * AT_ONCE + 6))
    with at_the_page(tmp_path, people=people) as ann:
        page, seen = ann.open(LOG), []
        while True:
            seen += numbers(page)
            earlier = re.search(r'href="([^"]*before=\d+)"', page)
            if earlier is None:
                break
            page = ann.open(earlier[1])
        assert seen == list(range(len(people) + 1, 0, -1))
        assert "The latest" in page
        for odd in ("0", "-1", "x", "9" * 30, "²", "1"):
            ann.open(f"{LOG}?before={odd}")


def test_what_happened_in_words(tmp_path):
    with at_the_page(tmp_path) as ann:
        ann.send("/pools/small", "/pools/small/take")
        words = text_of(ann.open(LOG))
        assert "4 entries" not in words
        assert "5 entries, 1 decision." in words
        assert "1 to Ann Why?" in words
        assert "Cem joined" in words
        assert "the pool was made" in words


def test_what_could_not_be_written_is_on_no_page(tmp_path, monkeypatch):
    def full(batch):
        raise StoreUnavailable("the disk is full.")

    def shown(path):
        return re.sub(r'value="[^"]*"', "", ann.open(path))

    paths = (LOG, "/pools/small", "/pools/small/standing", "/pools/small/people/0", "/")
    with at_the_page(tmp_path) as ann:
        service = ann.client.app.inner.state.service
        secret = make_token(service.store, "program", Role.DECIDER)
        ann.client.portal.call(service.refresh_tokens)
        for path in paths:
            before = shown(path)
            with monkeypatch.context() as broken:
                broken.setattr(service.store, "append", full)
                headers = {"authorization": f"Bearer {secret}"}
                sent = ann.client.post("/v1/pools/small/decisions", json={}, headers=headers)
                assert sent.status_code == 503
            assert shown(path) == before


# Who is next on a page: taken, overridden, asked about; by hand on three people.


@pytest.fixture
def ann_pool_page(tmp_path):
    with at_the_page(tmp_path) as found:
        yield found


def test_the_page_says_who_is_next_and_why(ann_pool_page):
    words = text_of(ann_pool_page.open(HOME))
    assert "Next Ann Has received 0. The rule: next is" in words
    assert (
        "Ben would be next otherwise: has received 0. They are level; ties are broken by who "
        "joined first" in words
    )
    assert "whoever has received least" in words


def test_take_then_the_next_one(ann_pool_page):
    words = text_of(ann_pool_page.send(HOME, f"{HOME}/take"))
    assert "Noted: 1 to Ann Why?" in words
    assert "Next Ben Has received 0." in words


def test_a_form_that_is_sent_twice_gives_once(ann_pool_page):
    fields = ann_pool_page.form(ann_pool_page.open(HOME), f"{HOME}/take")
    answers = [ann_pool_page.client.post(f"{HOME}/take", data=fields) for _ in range(3)]
    assert {str(answer.url) for answer in answers} == {"http://testserver/pools/small?done=5"}
    assert "1 decision." in ann_pool_page.open(f"{HOME}/log")


def test_a_page_that_is_out_of_date_decides_nothing(ann_pool_page):
    fields = ann_pool_page.form(ann_pool_page.open(HOME), f"{HOME}/take")
    ann_pool_page.send(HOME, f"{HOME}/take")
    answer = ann_pool_page.client.post(f"{HOME}/take", data=fields)
    assert answer.status_code == 409
    words = text_of(answer.text)
    assert "Something else happened in the meantime: this is who is next now." in words
    assert "Next Ben" in words
    assert "1 decision." in ann_pool_page.open(f"{HOME}/log")


def test_somebody_else_for_a_reason(ann_pool_page):
    action = f"{HOME}/otherwise"
    words = text_of(
        ann_pool_page.send(HOME, action, place="2", amount="2", reason="knows the code")
    )
    assert "Noted: 2 to Cem not the rule’s instead of 2 to Ann knows the code Why?" in words
    refused = ann_pool_page.send(HOME, action, 422, place="2", reason="  ")
    assert "The rule proposes Ann: give a 'reason' to decide otherwise." in text_of(refused)
    refused = ann_pool_page.send(HOME, action, 422, place="", reason="typed before")
    assert "Nobody was chosen: choose somebody from the list." in text_of(refused)
    assert 'value="typed before"' in refused  # is not lost
    refused = ann_pool_page.send(HOME, action, 422, place="1", amount="−3", reason="x")
    assert "The amount is '−3': it must be a number above 0" in text_of(refused)
    for place in ("7", "-1", "1e3", "²", "9" * 30):
        ann_pool_page.send(HOME, action, 422, place=place, reason="x")
    assert "1 decision." in ann_pool_page.open(f"{HOME}/log")


def test_what_if(ann_pool_page):
    before = ann_pool_page.open(f"{HOME}/log")
    words = text_of(ann_pool_page.open(f"{HOME}?place=0"))
    assert "If Ann is away, Ben would be next: has received 0." in words
    words = text_of(ann_pool_page.open(f"{HOME}?away=0&place=1"))
    assert "If Ann and Ben are away, Cem would be next" in words
    words = text_of(ann_pool_page.open(f"{HOME}?away=0&away=1&place=2"))
    assert "nobody would be next." in words
    assert "Nobody was chosen" in ann_pool_page.open(f"{HOME}?away=99")
    after = ann_pool_page.open(f"{HOME}/log")
    assert text_of(after) == text_of(before)


def test_another_amount_and_several_people(ann_pool_page):
    page = ann_pool_page.open(f"{HOME}?amount=2.5&count=2")
    assert "Next are Ann 2.5 has received 0 Ben 2.5 has received 0" in text_of(page)
    fields = ann_pool_page.form(page, f"{HOME}/take")
    answer = ann_pool_page.client.post(f"{HOME}/take", data=fields)
    assert "Noted: 2.5 to Ann, 2.5 to Ben" in text_of(answer.text)
    assert "The amount is 'x'" in ann_pool_page.open(f"{HOME}?amount=x", 422).replace("&#x27;", "'")
    ann_pool_page.open(f"{HOME}?count=0", 422)
    ann_pool_page.open(f"{HOME}?count=99999999", 422)


def test_a_reader_sees_no_form_that_decides(tmp_path):
    with at_the_page(tmp_path, Role.READER) as reader:
        for path in ("/", HOME, f"{HOME}/log"):
            assert reader.actions(reader.open(path)) == {"/sign-out"}
        assert "Next Ann Has received 0." in text_of(reader.open(HOME))
        mark = reader.form(reader.open(HOME), "/sign-out")["mark"]
        for action in ("take", "otherwise"):
            answer = reader.client.post(f"{HOME}/{action}", data={"mark": mark, "place": "0"})
            assert answer.status_code == 403
            assert "ask an owner for such a token" in text_of(answer.text)
        assert "0 decisions" in reader.open(f"{HOME}/log")


def test_names_are_data(tmp_path):
    with at_the_page(tmp_path, people=(HOSTILE, " ", "Cem")) as ann:
        for path in (HOME, f"{HOME}/log", f"{HOME}?place=1"):
            page = ann.open(path)
            assert "<img" not in page
            assert HOSTILE[:40] in text_of(page) or path.endswith("place=1")
        assert "Noted" in ann.send(HOME, f"{HOME}/take")


def test_a_name_of_three_thousand_characters(tmp_path):
    from evenhand.serve.pools.imports import WantedPool, make_missing_pools
    from evenhand.serve.pools.pool import PoolDefinition

    store = new_store(tmp_path)
    wanted = WantedPool(PoolDefinition("long"), ((LONG, 1.0), ("Ben", 1.0)))
    make_missing_pools(store, [wanted])
    store.close()
    with at_the_page(tmp_path) as ann:
        assert LONG[:50] in ann.open("/pools/long")
        page = ann.send("/pools/long", "/pools/long/take")
        assert "Noted" in page
        assert "Noted" in ann.send("/pools/long", "/pools/long/otherwise", place="0", reason="so")


def test_many_people_are_chosen_by_name(tmp_path):
    people = tuple(f"person {k}" for k in range(301))
    with at_the_page(tmp_path, people=people) as ann:
        page = ann.open(HOME)
        assert "<option" not in page
        action = f"{HOME}/otherwise"
        refused = ann.send(HOME, action, 422, name="persn 7", reason="x")
        assert "did you mean 'person 7'?" in text_of(refused)
        assert "Noted: 1 to person 7" in text_of(
            ann.send(HOME, action, name="person 7", reason="x")
        )
        words = text_of(ann.open(f"{HOME}?name=person+0"))
        assert "If person 0 is away, person 1 would be next" in words


def test_nobody_is_next(tmp_path):
    with at_the_page(tmp_path, people=()) as ann:
        assert "Nobody is in this pool yet" in ann.open(HOME)
    other = tmp_path / "other"
    other.mkdir()
    with at_the_page(other, rule="first_come") as ann:
        assert "Nobody has asked for more than they received" in ann.open(HOME)


def test_a_pool_that_is_not_there(ann_pool_page):
    page = ann_pool_page.open("/pools/smal", 404)
    assert "did you mean 'small'?" in text_of(page)
    ann_pool_page.open("/pools/small/decisions/1", 404)
    ann_pool_page.open("/pools/small/decisions/99", 404)


def test_the_policy_lets_nothing_else_run(ann_pool_page):
    headers = ann_pool_page.client.get(HOME).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "form-action 'self'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"


def test_a_rota_is_decided_ahead(tmp_path):
    """Week by week; one of them otherwise; a day that is over is refused on the page."""
    with at_the_page(tmp_path, dates=True) as ann:
        for day, who in (("2190-01-04", "Ann"), ("2190-01-11", "Ben")):
            page = f"{HOME}?day={day}&amount=1&count=1"
            assert f"Give 1 to {who} on {day}" in text_of(ann.open(page))
            assert f"Noted: 1 to {who}" in text_of(ann.send(page, f"{HOME}/take"))
        typed = {"place": "0", "reason": "swapped"}
        ann.send(f"{HOME}?day=2190-01-18", f"{HOME}/otherwise", **typed)
        log = ann.client.get(f"{HOME}/export.csv").text.splitlines()[1:]
        assert [line[:10] for line in log] == ["2190-01-04", "2190-01-11", "2190-01-18"]
        words = text_of(ann.open(f"{HOME}?day=2190-01-05", 422))
        assert "before what happened last (2190-01-18T00:00:00)" in words
        assert "Next Cem" in words
        assert "it must be a date" in text_of(ann.open(f"{HOME}?day=soon", 422))
        # Without a day it is now, or when the last thing happened.
        ann.send(HOME, f"{HOME}/take")
        assert ann.client.get(f"{HOME}/export.csv").text.splitlines()[-1].startswith("2190-01-18")
