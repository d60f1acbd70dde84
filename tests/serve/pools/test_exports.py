"""Entitlements in the export and in an audit of a pool: as they held at each moment."""

from __future__ import annotations

import io
import random

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


def entitlements(client):
    """What each row of the export says: when, who, and what it was entitled to."""
    rows = client.get(f"{BASE}/export.csv").content.decode().splitlines()[1:]
    return [
        (float(row.split(",")[0]), row.split(",")[1], float(row.split(",")[-1])) for row in rows
    ]


def test_a_change_on_the_day_of_a_decision_is_no_obstacle(client):
    """Days are moments too: a decision of a day, another entitlement, a decision of that day."""
    made(client, "Ann", "Ben", dates=False)
    decide(client, "Ann", 1, 1)
    happens(client, "entitle", "Ben", entitlement=2, at=1)
    assert judged(client)["over_time"]["unfairness"] == {"Ann": [0.5], "Ben": [-0.5]}
    decide(client, "Ben", 1, 1)
    assert judged(client)["over_time"]["unfairness"] == {"Ann": [0.0], "Ben": [0.0]}
    assert client.get(f"{BASE}/alarms").status_code == 200
    decide(client, "Ann", 1, 2)
    assert entitlements(client)[-2:] == [(2, "Ben", 2), (2, "Ann", 1)]
    # Ann has 2 and Ben 1 / 2, of which the mean is 3 given for 3 entitled.
    assert judged(client)["over_time"]["unfairness"] == {
        "Ann": pytest.approx([0, 1]),
        "Ben": pytest.approx([0, -0.5]),
    }


def test_of_two_changes_at_a_moment_the_second_holds(client):
    """A slip that is put right must not count, nor be said at the moment of a decision before."""
    made(client, "Ann", "Ben", dates=False)
    decide(client, "Ann", 1, 1)
    happens(client, "entitle", "Ben", entitlement=20, at=5)
    happens(client, "entitle", "Ben", entitlement=2, at=5)
    assert entitlements(client)[-1] == (5, "Ben", 2)
    judged(client)
    happens(client, "entitle", "Ann", entitlement=3, at=6)
    assert entitlements(client)[-2:] == [(5, "Ben", 2), (6, "Ann", 3)]
    judged(client)


@pytest.mark.parametrize("seed", range(8))
def test_every_order_of_changes_and_decisions_can_be_judged(client, seed):
    """Few moments and many changes: of each moment and name there is one value, and the last of
    an earlier moment holds."""
    draw = random.Random(seed)
    made(client, "Ann", {"name": "Ben", "entitlement": 2}, dates=False)
    names, now, held, changed = ["Ann", "Ben"], 0, {"Ann": 1.0, "Ben": 2.0}, {}
    decide(client, "Ann", 1, now)
    for k in range(25):
        now += draw.random() < 0.4
        what = draw.choice(("decide", "entitle", "entitle", "join"))
        if what == "decide":
            decide(client, draw.choice(names), 1, now)
        elif what == "entitle":
            name, value = draw.choice(names), draw.choice((0.5, 1, 2, 3))
            happens(client, "entitle", name, entitlement=value, at=now)
            held[name], changed[name] = value, now
        else:
            names.append(f"P{k}")
            happens(client, "join", f"P{k}", at=now)
            held[f"P{k}"] = 1.0
    values = {}
    for at, name, value in entitlements(client):
        assert values.setdefault((at, name), value) == value
    judged(client)
    decide(client, "Ann", 1, now + 1)
    rows = entitlements(client)
    assert rows == sorted(rows, key=lambda row: row[0])
    told = {name: value for _, name, value in rows}
    assert {name: told[name] for name in changed} == {name: held[name] for name in changed}
