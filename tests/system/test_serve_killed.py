"""Killed a hundred times under load, on SQLite and on Postgres: nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time

import httpx2 as httpx
import pytest

import postgres_server
from evenhand.auditing import audit
from evenhand.serve.api.middleware import Role, make_token
from evenhand.serve.pools.imports import make_missing_pools, read_pool_file
from evenhand.serve.pools.state import load_pool
from evenhand.serve.store.open_store import open_store, verify_store
from serving import Callers, Nursery, Process, client_of, forget_snapshots

pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]
KILLS = int(os.environ.get("EVENHAND_KILLS", "100"))
CALLERS = 20
POOL = """
[small]
stakeholders = ["Ann", "Ben", "Cem", "Dan", "Eve"]
"""


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    """The name of a new store with a pool."""
    with contextlib.ExitStack() as stack:
        name = str(tmp_path / "decisions.db")
        if request.param == "postgres":
            programs = postgres_server.programs()
            if programs is None:
                pytest.skip("no Postgres server is installed")
            name = stack.enter_context(postgres_server.running(programs)).admin
        (tmp_path / "pools.toml").write_text(POOL)
        opened = open_store(name)
        make_missing_pools(opened, read_pool_file(tmp_path / "pools.toml"))
        opened.close()
        yield name


def new_token(name):
    opened = open_store(name)
    secret = make_token(opened, f"caller {time.monotonic_ns()}", Role.OWNER)
    opened.close()
    return secret


def test_killed_under_load_nothing_acknowledged_is_lost(store, tmp_path):
    dice, nursery = random.Random(7), Nursery()
    callers = Callers(new_token(store), "small", CALLERS, dice)
    begun = time.monotonic()
    nursery.start(store)
    for _ in range(KILLS):
        callers.begin(nursery.address)
        callers.wait_for(dice.randint(0, 40))
        time.sleep(dice.uniform(0, 0.05))  # at any moment of a commit
        nursery.kill()
        callers.end()
        nursery.start(store)
    callers.begin(nursery.address)
    callers.wait_for(20)
    callers.end()
    nursery.kill(signal.SIGTERM)
    nursery.close()
    opened = open_store(store)
    callers.check(opened)
    assert all(one.is_whole for one in verify_store(opened))
    log = [entry.number for entry in opened.all_entries("small")]
    assert log == list(range(1, len(log) + 1))
    with client_of(opened) as client:
        live = client.get("/v1/pools/small/audit").json()
        for name in ("export.csv", "roster.csv"):
            (tmp_path / name).write_bytes(client.get(f"/v1/pools/small/{name}").content)
    columns = {"stakeholder": "stakeholder", "time": "time", "amount": "amount"}
    found = audit(str(tmp_path / "export.csv"), roster=str(tmp_path / "roster.csv"), **columns)
    assert live["origin"]["fingerprint"] == found.origin["fingerprint"]
    assert live["overall"]["score"] == found.score
    pool = load_pool(opened, "small")
    forget_snapshots(opened, "small")
    assert load_pool(opened, "small").allocator.snapshot() == pool.allocator.snapshot()
    opened.close()
    seconds = time.monotonic() - begun
    print(f"{KILLS} kills, {len(callers.acknowledged):,} acknowledged, {seconds:.0f} s")


@pytest.mark.parametrize("count", [2, 10, 50])
def test_two_processes_never_give_one_turn_twice(store, count):
    """However many ask at once, of either process."""
    secret = new_token(store)
    services = [Process(store) for _ in range(2)]
    taken, failed = [], []

    def ask_and_take(service):
        headers = {"authorization": f"Bearer {secret}"}
        base = f"{service.address}/v1/pools/small"
        with httpx.Client(headers=headers, timeout=60, verify=False) as client:
            for _ in range(4):
                turn = client.get(f"{base}/next").json()["turn"]
                answer = client.post(f"{base}/decisions", json={"turn": turn})
                (taken if answer.status_code == 201 else failed).append((turn, answer))

    threads = [threading.Thread(target=ask_and_take, args=(services[k % 2],)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for _, answer in failed} <= {409}
    assert len({turn for turn, _ in taken}) == len(taken) > 0
    numbers = [answer.json()["number"] for _, answer in taken]
    assert [service.stop() for service in services] == [0, 0]
    opened = open_store(store)
    log = [e.number for e in opened.all_entries("small") if e.kind == "decide"]
    assert sorted(numbers) == log
    assert all(one.is_whole for one in verify_store(opened))
    opened.close()
