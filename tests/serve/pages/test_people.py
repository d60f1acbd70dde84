"""Tests of serve.pages.people."""

from __future__ import annotations

import re

import pytest

from at_the_page import HOSTILE, at_the_page, text_of
from evenhand.serve.api.middleware import Role
from evenhand.serve.pages.people import HEIGHT, WIDTH, course_chart, nice_top

# One person: why, when, and what can happen to them.

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


# Where everybody stands: the list, the lines, who joins, pauses and resumes.

STANDING = f"{HOME}/standing"


@pytest.fixture
def ann_standing_page(tmp_path):
    with at_the_page(tmp_path) as found:
        yield found


def pressed(visitor, page, words, name):
    """Press a button in the row of somebody."""
    place = {"Ann": "0", "Ben": "1", "Cem": "2"}[name]
    forms = re.findall(r"<form.*?</form>", page, re.S)
    form = next(one for one in forms if f'name="place" value="{place}"' in one and words in one)
    answer = visitor.client.post(f"{HOME}/happen", data=visitor.form(form, f"{HOME}/happen"))
    assert answer.status_code == 200
    return answer.text


def test_pause_and_resume(ann_standing_page):
    page = ann_standing_page.open(STANDING)
    assert "3 people, 3 of them eligible." in text_of(page)
    page = pressed(ann_standing_page, page, "Pause", "Ann")
    words = text_of(page)
    assert "3 people, 2 of them eligible." in words
    assert "is paused" in words
    assert "Next Ben" in text_of(ann_standing_page.open(HOME))
    pressed(ann_standing_page, page, "Resume", "Ann")
    assert "Next Ann" in text_of(ann_standing_page.open(HOME))


def test_somebody_joins(ann_standing_page):
    ann_standing_page.send(HOME, f"{HOME}/take")
    page = ann_standing_page.open(STANDING)
    join = next(f for f in re.findall(r"<form.*?</form>", page, re.S) if 'value="join"' in f)
    fields = ann_standing_page.form(join, f"{HOME}/happen")

    def joins(**typed):
        return ann_standing_page.client.post(f"{HOME}/happen", data=fields | typed)

    words = text_of(joins(**{"new-name": HOSTILE, "entitlement": "0.5"}).text)
    assert HOSTILE[:30] in words
    assert "4 people" in words
    assert joins(key="2", **{"new-name": "Ann"}).status_code == 422
    refused = joins(key="3", **{"new-name": "Ann"})
    assert "'Ann' has joined before" in text_of(refused.text)
    assert 'value="Ann"' in refused.text
    assert "1 to 200 visible characters" in joins(key="4", **{"new-name": " "}).text
    assert "1 to 200 visible characters" in joins(key="5", **{"new-name": "x" * 201}).text
    assert joins(key="6", **{"new-name": "Dee", "entitlement": "0"}).status_code == 422
    assert "4 people" in text_of(ann_standing_page.open(STANDING))


def test_deciders_pause_and_only_owners_let_join(tmp_path):
    with at_the_page(tmp_path, Role.DECIDER) as decider:
        page = decider.open(STANDING)
        assert "Somebody joins" not in page
        fields = decider.form(page, f"{HOME}/happen")
        sent = fields | {"event": "join", "new-name": "Dee"}
        answer = decider.client.post(f"{HOME}/happen", data=sent)
        assert answer.status_code == 403
        assert "3 people, 2" in text_of(pressed(decider, page, "Pause", "Ben"))
    other = tmp_path / "other"
    other.mkdir()
    with at_the_page(other, Role.READER) as reader:
        assert reader.actions(reader.open(STANDING)) == {"/sign-out"}


def test_a_long_list_is_shown_in_pages(tmp_path):
    with at_the_page(tmp_path, people=tuple(f"p{k}" for k in range(230))) as ann:
        seen, page = [], ann.open(STANDING)
        while True:
            seen += re.findall(r'<tr><th scope="row">.*?>(p\d+)<', page)
            more = re.search(r'href="([^"]*from=\d+)"', page)
            if more is None:
                break
            page = ann.open(more[1])
        assert seen == [f"p{k}" for k in range(230)]
        ann.open(f"{STANDING}?from=x")


def test_what_was_received_over_time_is_drawn(ann_standing_page):
    assert "Nothing was decided yet" in ann_standing_page.open(STANDING)
    for _ in range(4):
        ann_standing_page.send(HOME, f"{HOME}/take")
    page = ann_standing_page.open(STANDING)
    assert page.count('class="line line') == 2 * 3  # a line and its key for each
    assert "As a table" in page


def test_the_lines_are_where_the_numbers_are():
    course = {
        "times": [0.0, 1.0, 4.0],
        "mean": [1.0, 1.0, 2.0],
        "stakeholders": [{"name": "A", "received": [1.0, 1.0, 4.0]}],
    }
    shown = course_chart(course, 1)
    # A quarter, then a quarter, then all of the height; at 0, a quarter and all of the width.
    low, high = 0.75 * HEIGHT, 0.0
    assert f'd="M0.0 {low:.1f}H{WIDTH / 4:.1f}V{low:.1f}H{WIDTH:.1f}V{high:.1f}"' in shown
    again = course_chart(course, 30)
    assert "Of 30 people it shows 1" in again


@pytest.mark.parametrize("value", [0.001, 0.39, 1, 4, 4.1, 39, 41, 99, 100, 101, 12345.6, 1e12])
def test_a_scale_ends_above_what_it_shows_and_not_far(value):
    top = nice_top(value)
    assert value <= top
    assert value <= 4 or top <= 2.6 * value
