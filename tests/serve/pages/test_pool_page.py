"""Who is next on a page: taken, overridden, asked about; by hand on three people."""

from __future__ import annotations

import pytest

from at_the_page import HOSTILE, LONG, at_the_page, text_of
from evenhand.serve.api.tokens import Role
from serving import new_store

HOME = "/pools/small"


@pytest.fixture
def ann(tmp_path):
    with at_the_page(tmp_path) as found:
        yield found


def test_the_page_says_who_is_next_and_why(ann):
    words = text_of(ann.open(HOME))
    assert "Next Ann Has received 0. The rule: next is" in words
    assert (
        "Ben would be next otherwise: has received 0. They are level; ties are broken by who "
        "joined first" in words
    )
    assert "whoever has received least" in words


def test_take_then_the_next_one(ann):
    words = text_of(ann.send(HOME, f"{HOME}/take"))
    assert "Noted: 1 to Ann Why?" in words
    assert "Next Ben Has received 0." in words


def test_a_form_that_is_sent_twice_gives_once(ann):
    fields = ann.form(ann.open(HOME), f"{HOME}/take")
    answers = [ann.client.post(f"{HOME}/take", data=fields) for _ in range(3)]
    assert {str(answer.url) for answer in answers} == {"http://testserver/pools/small?done=5"}
    assert "1 decision." in ann.open(f"{HOME}/log")


def test_a_page_that_is_out_of_date_decides_nothing(ann):
    fields = ann.form(ann.open(HOME), f"{HOME}/take")
    ann.send(HOME, f"{HOME}/take")
    answer = ann.client.post(f"{HOME}/take", data=fields)
    assert answer.status_code == 409
    words = text_of(answer.text)
    assert "Something else happened in the meantime: this is who is next now." in words
    assert "Next Ben" in words
    assert "1 decision." in ann.open(f"{HOME}/log")


def test_somebody_else_for_a_reason(ann):
    action = f"{HOME}/otherwise"
    words = text_of(ann.send(HOME, action, place="2", amount="2", reason="knows the code"))
    assert "Noted: 2 to Cem not the rule’s instead of 2 to Ann knows the code Why?" in words
    refused = ann.send(HOME, action, 422, place="2", reason="  ")
    assert "The rule proposes Ann: give a 'reason' to decide otherwise." in text_of(refused)
    refused = ann.send(HOME, action, 422, place="", reason="typed before")
    assert "Nobody was chosen: choose somebody from the list." in text_of(refused)
    assert 'value="typed before"' in refused  # is not lost
    refused = ann.send(HOME, action, 422, place="1", amount="−3", reason="x")
    assert "The amount is '−3': it must be a number above 0" in text_of(refused)
    for place in ("7", "-1", "1e3", "²", "9" * 30):
        ann.send(HOME, action, 422, place=place, reason="x")
    assert "1 decision." in ann.open(f"{HOME}/log")


def test_what_if(ann):
    before = ann.open(f"{HOME}/log")
    words = text_of(ann.open(f"{HOME}?place=0"))
    assert "If Ann is away, Ben would be next: has received 0." in words
    words = text_of(ann.open(f"{HOME}?away=0&place=1"))
    assert "If Ann and Ben are away, Cem would be next" in words
    words = text_of(ann.open(f"{HOME}?away=0&away=1&place=2"))
    assert "nobody would be next." in words
    assert "Nobody was chosen" in ann.open(f"{HOME}?away=99")
    after = ann.open(f"{HOME}/log")
    assert text_of(after) == text_of(before)


def test_another_amount_and_several_people(ann):
    page = ann.open(f"{HOME}?amount=2.5&count=2")
    assert "Next are Ann 2.5 has received 0 Ben 2.5 has received 0" in text_of(page)
    fields = ann.form(page, f"{HOME}/take")
    answer = ann.client.post(f"{HOME}/take", data=fields)
    assert "Noted: 2.5 to Ann, 2.5 to Ben" in text_of(answer.text)
    assert "The amount is 'x'" in ann.open(f"{HOME}?amount=x", 422).replace("&#x27;", "'")
    ann.open(f"{HOME}?count=0", 422)
    ann.open(f"{HOME}?count=99999999", 422)


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
    from evenhand.serve.pools.definition import PoolDefinition
    from evenhand.serve.pools.pool_file import WantedPool, make_missing_pools

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


def test_a_pool_that_is_not_there(ann):
    page = ann.open("/pools/smal", 404)
    assert "did you mean 'small'?" in text_of(page)
    ann.open("/pools/small/decisions/1", 404)
    ann.open("/pools/small/decisions/99", 404)


def test_the_policy_lets_nothing_else_run(ann):
    headers = ann.client.get(HOME).headers
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
