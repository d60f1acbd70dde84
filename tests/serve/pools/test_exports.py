"""Entitlements in the export and in an audit of a pool: as they held at each moment."""

from __future__ import annotations

import io

import pytest

from serving import small_service

BASE = "/v1/pools/team"


@pytest.fixture
def client(tmp_path):
    with small_service(tmp_path) as found:
        yield found


def made(client, *people, dates=True):
    sent = {"name": "team", "dates": dates, "stakeholders": list(people)}
    assert client.post("/v1/pools", json=sent).status_code == 201


def happens(client, event, name, **more):
    sent = {"event": event, "name": name, **more}
    assert client.post(f"{BASE}/events", json=sent).status_code == 201


def decide(client, name, amount, at):
    sent = {"shares": [{"name": name, "amount": amount}], "at": at, "reason": "by hand"}
    assert client.post(f"{BASE}/decisions", json=sent).status_code == 201


def judged(client, **asked):
    answer = client.get(f"{BASE}/audit", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_entitlement_counts_from_the_moment_at_which_it_changed(client):
    made(client)
    for name in ("Ann", "Ben"):
        happens(client, "join", name, at="2026-01-01")
    decide(client, "Ann", 4, "2026-01-05")
    decide(client, "Ben", 4, "2026-01-06")
    happens(client, "entitle", "Ann", entitlement=2, at="2026-01-20")
    decide(client, "Ann", 4, "2026-02-28")
    found = judged(client, every="month", until="2026-02-28")
    # At the end of January Ann has 4 / 2 and Ben 4, of which the mean is 8 / 3.
    january = {name: row[0] for name, row in found["over_time"]["unfairness"].items()}
    assert january == pytest.approx({"Ann": 2 - 8 / 3, "Ben": 4 - 8 / 3})


def test_whoever_joins_after_the_last_decision_is_no_obstacle(client):
    made(client, "Ann", {"name": "Cem", "entitlement": 0.5}, dates=False)
    client.post(f"{BASE}/decisions", json={})
    before = judged(client)
    happens(client, "join", "Dan")
    after = judged(client)
    assert after["overall"]["score"] == before["overall"]["score"]
    assert not [note for note in after["notes"] if "before coming" in note]
    rows = client.get(f"{BASE}/export.csv").content.decode().splitlines()
    assert rows[-1].startswith("0,Dan,0,") or rows[-1].startswith("0.0,Dan,0,")


def test_a_change_at_the_moment_of_a_decision_is_said_with_the_next(client):
    made(client, "Ann", "Ben", dates=False)
    decide(client, "Ann", 1, 1)
    happens(client, "entitle", "Ann", entitlement=2, at=1)
    decide(client, "Ben", 1, 2)
    found = judged(client)
    # Ann has 1 per unit and then 1 / 2; Ben 0 and then 1.
    assert found["over_time"]["unfairness"] == {
        "Ann": pytest.approx([0.5, 0.5 - 2 / 3]),
        "Ben": pytest.approx([-0.5, 1 - 2 / 3]),
    }
    import polars as pl

    table = pl.read_csv(io.BytesIO(client.get(f"{BASE}/export.csv").content))
    assert table["entitlement"].to_list() == [1.0, 1.0, 1.0, 2.0, 1.0]
