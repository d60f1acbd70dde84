"""A new pool from names."""

from __future__ import annotations

import pytest

from at_the_page import HOSTILE, at_the_page, text_of
from evenhand.serve.api.tokens import Role


@pytest.fixture
def ann(tmp_path):
    with at_the_page(tmp_path) as found:
        yield found


def test_a_pool_of_names(ann):
    typed = {"pool": "on-call", "rule": "round_robin", "people": f" Dee \r\n\r\n{HOSTILE}\r\n"}
    words = text_of(ann.send("/new", "/new", **typed))
    assert "Next Dee" in words
    assert "everyone in the order of joining" in words
    assert "on-call" in ann.open("/")


def test_what_is_given_out_may_be_a_burden(ann):
    typed = {"pool": "on-call", "rule": "least_served", "people": "Dee\nEve", "given": "burden"}
    ann.send("/new", "/new", **typed)
    pool = ann.client.app.inner.state.service.rooms["on-call"].pool
    assert pool.definition.audit == {"lower_is_better": True}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"people": " \n "}, "Nobody is named"),
        ({"people": "A\nB\nA"}, "'A' stands there twice"),
        ({"people": "x" * 201}, "1 to 200 visible characters"),
        ({"pool": "no spaces"}, "at most 64 letters"),
        ({"pool": "small"}, "there is a pool 'small' already"),
        ({"rule": "nonsense"}, "No rule was chosen"),
    ],
)
def test_what_does_not_do(ann, typed, words):
    given = {"pool": "new", "people": "A\nB"} | typed
    page = ann.send("/new", "/new", 422, **given)
    assert words.lower() in text_of(page).lower()
    assert f'value="{given["pool"]}"' in page  # nothing has to be typed twice


def test_only_owners_make_pools(tmp_path):
    with at_the_page(tmp_path, Role.DECIDER) as decider:
        assert "Make a pool" not in decider.open("/")
        decider.open("/new", 403)
        mark = decider.form(decider.open("/"), "/sign-out")["mark"]
        for path in ("/new", "/new/import", "/new/columns"):
            assert decider.client.post(path, data={"mark": mark}).status_code == 403
