"""The log page by page, the latest first."""

from __future__ import annotations

import re

from at_the_page import at_the_page, text_of
from evenhand.errors import StoreUnavailable
from evenhand.serve.api.tokens import Role, make_token
from evenhand.serve.pages.log_page import AT_ONCE

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
