"""A service for tests, in this process or in one of its own, and a store with a small pool."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
from starlette.testclient import TestClient

from evenhand.serve.api.application import make_application
from evenhand.serve.api.middleware import GateLimits, Role, make_token
from evenhand.serve.store.sqlite_store import SqliteStore
from evenhand.serve.store.store import DecisionStore
from waiting import wait_until

THREE = [{"name": name} for name in ("Ann", "Ben", "Cem")]
MANY = GateLimits(per_second=1e6)


def new_store(folder: Path, name: str = "decisions.db", durable: bool = True) -> SqliteStore:
    """A store in a folder; one that need not survive does not wait for the disk."""
    store = SqliteStore(folder / name)
    if not durable:
        store._writer.execute("PRAGMA synchronous = OFF")
    store.migrate()
    return store


def forget_snapshots(store: DecisionStore, pool: str) -> None:
    """So that a pool is read from its log alone."""
    with store.transaction() as cursor:
        store.run(cursor, "DELETE FROM snapshots WHERE pool = ?", (pool,))


@contextlib.contextmanager
def client_of(
    store: DecisionStore, role: Role = Role.OWNER, limits: GateLimits = MANY, **options: Any
) -> Iterator[TestClient]:
    """Somebody with a token of that role, who asks a service in this process."""
    known = [token.name for token in store.tokens()]
    secret = make_token(store, f"{role.word} {len(known)}", role)
    app = make_application(store, limits, **options)
    with TestClient(app, raise_server_exceptions=False) as client:
        client.headers["authorization"] = f"Bearer {secret}"
        yield client


@contextlib.contextmanager
def small_service(folder: Path, **definition: Any) -> Iterator[TestClient]:
    """An owner at a service with the pool `small`: Ann, Ben and Cem, at times 0, 1, 2, …"""
    store = new_store(folder)
    with client_of(store) as client:
        sent = {"name": "small", "dates": False, "stakeholders": THREE, **definition}
        assert client.post("/v1/pools", json=sent).status_code == 201
        yield client
    store.close()


class Process:
    """`evenhand serve` in a process of its own."""

    def __init__(self, store: str | Path, *options: str) -> None:
        command = [sys.executable, "-m", "evenhand", "serve", "--store", str(store), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--json", "--rate-limit", "1e6", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.rstrip() == b"}":
                break
        said = json.loads(b"".join(lines))
        self.address: str = said["address"]
        self.secret: str | None = said["token"] and said["token"]["secret"]

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self._wait()

    def stop(self) -> int:
        """Ask it to stop, as a supervisor does: its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._wait()

    def _wait(self) -> int:
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


# Waits with everything loaded; each line of its input is a service to start.
NURSERY = """
import json, os, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import uvicorn, evenhand.cli.app, evenhand.serve.api.application, evenhand.serve.pools.imports
import evenhand.serve.store.postgres_store
from evenhand.cli import main
for line in sys.stdin:
    options = json.loads(line)
    if isinstance(options, int):
        os.waitpid(options, 0)
        print("over", flush=True)
        continue
    child = os.fork()
    if not child:
        sys.argv = ["evenhand", "serve", *options]
        main()
        os._exit(0)
    print(child, flush=True)
"""


class Nursery:
    """Services that start at once, as what they load was loaded before."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address, self._child = "", 0

    def start(self, store: str) -> None:
        self._say(["--store", store, "--port", "0", "--json", "--rate-limit", "1e6"])
        # Its number and the first line of what it says come in any order.
        lines: list[str] = []
        while sum(line.strip() == "}" for line in lines) + any(map(str.isdigit, lines)) < 2:
            lines.append(self._hear())
        self._child = int(next(line for line in lines if line.isdigit()))
        said = json.loads("".join(line for line in lines if not line.isdigit()))
        self.address = said["address"]

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self._child, number)
        self._say(self._child)
        assert self._hear() == "over"

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _say(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")


class Callers:
    """Many who decide at once, and retry with the same key whatever they were not answered.

    Args:
        secret: The token of all.
        pool: Where they decide.
        count: How many there are.
        dice: What their keys are drawn from.
    """

    def __init__(self, secret: str | None, pool: str, count: int, dice: random.Random) -> None:
        self._headers = {"authorization": f"Bearer {secret}"}
        self._pool, self._count, self._dice = pool, count, dice
        self._lock, self._over = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: list[str] = []  # keys of requests that were not answered
        self.acknowledged: dict[str, dict[str, Any]] = {}

    def begin(self, address: str) -> None:
        self._over.clear()
        url = f"{address}/v1/pools/{self._pool}/decisions"
        self._threads = [
            threading.Thread(target=self._decide, args=(url,)) for _ in range(self._count)
        ]
        for thread in self._threads:
            thread.start()

    def wait_for(self, more: int) -> None:
        """Wait until so many more decisions were acknowledged."""
        goal = len(self.acknowledged) + more
        assert wait_until(lambda: len(self.acknowledged) >= goal, limit=120.0)

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _decide(self, url: str) -> None:
        with httpx.Client(headers=self._headers, timeout=30, verify=False) as client:
            while not self._over.is_set():
                with self._lock:
                    new = f"{self._dice.getrandbits(64):x}"
                    key = self._open.pop() if self._open else new
                try:
                    answer = client.post(url, json={}, headers={"idempotency-key": key})
                except httpx.HTTPError:
                    with self._lock:
                        self._open.append(key)
                    return  # the service was killed
                assert answer.status_code in (201, 503), answer.text
                with self._lock:
                    if answer.status_code == 503:
                        self._open.append(key)
                    else:
                        self.acknowledged[key] = answer.json()

    def check(self, store: DecisionStore) -> None:
        """Every acknowledged decision is in the log once, as it was answered, and none twice."""
        written = {
            entry.number: entry for entry in store.all_entries(self._pool) if entry.kind == "decide"
        }
        numbers = [answer["number"] for answer in self.acknowledged.values()]
        assert len(set(numbers)) == len(numbers)
        for answer in self.acknowledged.values():
            shares = json.loads(written[answer["number"]].body)["shares"]
            assert shares == [[one["name"], one["amount"]] for one in answer["shares"]]
        # What is there besides was never answered, and each such request is there at most once.
        assert len(written) - len(numbers) <= len(self._open)
        received = Counter(json.loads(one.body)["shares"][0][0] for one in written.values())
        assert max(received.values()) - min(received.values()) <= 1
