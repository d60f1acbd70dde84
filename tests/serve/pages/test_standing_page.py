"""Where everybody stands: the list, the lines, who joins, pauses and resumes."""

from __future__ import annotations

import re

import pytest

from at_the_page import HOSTILE, at_the_page, text_of
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.course_chart import HEIGHT, WIDTH, course_chart, nice_top

HOME = "/pools/small"
STANDING = f"{HOME}/standing"


@pytest.fixture
def ann(tmp_path):
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


def test_pause_and_resume(ann):
    page = ann.open(STANDING)
    assert "3 people, 3 of them eligible." in text_of(page)
    page = pressed(ann, page, "Pause", "Ann")
    words = text_of(page)
    assert "3 people, 2 of them eligible." in words
    assert "is paused" in words
    assert "Next Ben" in text_of(ann.open(HOME))
    pressed(ann, page, "Resume", "Ann")
    assert "Next Ann" in text_of(ann.open(HOME))


def test_somebody_joins(ann):
    ann.send(HOME, f"{HOME}/take")
    page = ann.open(STANDING)
    join = next(f for f in re.findall(r"<form.*?</form>", page, re.S) if 'value="join"' in f)
    fields = ann.form(join, f"{HOME}/happen")

    def joins(**typed):
        return ann.client.post(f"{HOME}/happen", data=fields | typed)

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
    assert "4 people" in text_of(ann.open(STANDING))


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


def test_what_was_received_over_time_is_drawn(ann):
    assert "Nothing was decided yet" in ann.open(STANDING)
    for _ in range(4):
        ann.send(HOME, f"{HOME}/take")
    page = ann.open(STANDING)
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
