"""A mistyped parameter of a query is refused: left out silently, 1 would be given in place of 3."""

from __future__ import annotations

import pytest

from serving import small_service

BASE = "/v1/pools/small"


@pytest.fixture
def client(tmp_path):
    with small_service(tmp_path) as found:
        yield found


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("/next?amout=3", "'amout' is not known here: did you mean 'amount'?"),
        ("/next?amount=3&coutn=2", "'coutn' is not known here: did you mean 'count'?"),
        ("/state?xyz=1", "'xyz' is not known here: see /docs for what there is."),
        ("?limit=3", "'limit' is not known here: see /docs for what there is."),
    ],
)
def test_what_no_route_takes_is_refused(client, asked, words):
    answer = client.get(f"{BASE}{asked}")
    assert (answer.status_code, answer.json()["detail"]) == (422, words)


def test_a_route_that_takes_nothing_and_one_that_writes(client):
    answer = client.post(f"{BASE}/decisions?amount=3", json={})
    assert answer.status_code == 422  # the amount belongs into the body
    assert client.get(f"{BASE}/state").json()["stakeholders"][0]["received"] == 0
    assert client.get(f"{BASE}/next?amount=3&among=Ben&among=Cem").status_code == 200
