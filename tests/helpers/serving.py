"""A service for tests, in this process or in one of its own, and a store with a small pool."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from evenhand.serve.api.application import make_application
from evenhand.serve.api.gate import GateLimits
from evenhand.serve.api.tokens import Role, make_token
from evenhand.serve.store.decision_store import DecisionStore
from evenhand.serve.store.sqlite_store import SqliteStore

THREE = [{"name": name} for name in ("Ann", "Ben", "Cem")]
MANY = GateLimits(per_second=1e6)


def new_store(folder: Path, name: str = "decisions.db", durable: bool = True) -> SqliteStore:
    """A store in a folder; one that need not survive does not wait for the disk."""
    store = SqliteStore(folder / name)
    if not durable:
        store._writer.execute("PRAGMA synchronous = OFF")
    store.migrate()
    return store


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
