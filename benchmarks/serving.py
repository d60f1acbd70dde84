"""`evenhand serve` under load: ask-and-take at a steady rate, and start with a long history.

Requests come at their own times, whether or not earlier ones were answered: what is measured is
from when a request was due until its answer. Everything is on loopback.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evenhand.serve.api.tokens import Role, make_token
from evenhand.serve.pools.changes import DecisionTaken
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.fold import save_pool
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.pool_file import first_entries
from evenhand.serve.store.decision_store import Append, DecisionStore
from evenhand.serve.store.open_store import open_store

PEOPLE = 100_000
RATE, SECONDS = 200.0, 20.0
HISTORY = int(os.environ.get("EVENHAND_HISTORY", "10_000_000"))
CONNECTIONS = 32
HEAD = (
    "POST /v1/pools/large/decisions HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\n"
    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
)
ASK = "GET /v1/pools/large/next HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\n\r\n"


def make_large(store: DecisionStore, decisions: int = 0) -> None:
    """A pool of many, with so many decisions in its past, and a snapshot at its end."""
    pool = LivePool.new(PoolDefinition("large", dates=False))
    people = [(f"person {k}", 1.0) for k in range(PEOPLE)]
    store.append([Append(first_entries(pool, people, "benchmark", 0), new_pool="large")])
    done = 0
    while done < decisions:
        entries = []
        for k in range(done, min(done + 50_000, decisions)):
            taken = DecisionTaken(((f"person {k % PEOPLE}", 1.0),), k)
            entries.append(pool.record(taken, "benchmark", k))
        store.append([Append(entries)])
        done += len(entries)
    save_pool(store, pool)


class Service:
    """The service in a process of its own."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "evenhand", "serve", "--store", str(path), "--port", "0"]
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--json", "--rate-limit", "1e6"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        lines = iter(self.process.stdout.readline, b"}\n")
        said = json.loads(b"".join(lines) + b"}")
        self.seconds = time.perf_counter() - begun
        self.port = int(said["address"].rpartition(":")[2])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


async def load(port: int, request: bytes, rate: float, seconds: float) -> list[float]:
    """The times that requests took, which come at a steady rate."""
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    took: list[float] = []
    begun = time.perf_counter()

    async def one(due: float) -> None:
        reader, writer = await free.get()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        assert head.startswith((b"HTTP/1.1 201", b"HTTP/1.1 200")), head
        free.put_nowait((reader, writer))
        took.append(time.perf_counter() - due)

    tasks = []
    for k in range(int(rate * seconds)):
        due = begun + k / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(due)))
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait()[1].close()
    return took


def say(what: str, took: list[float]) -> None:
    ordered = sorted(took)
    at = {
        p: 1000 * ordered[min(len(ordered) - 1, int(p * len(ordered)))] for p in (0.5, 0.99, 0.999)
    }
    print(
        f"{what}: {len(took):,} answered, median {at[0.5]:.1f} ms, p99 {at[0.99]:.1f} ms, "
        f"p99.9 {at[0.999]:.1f} ms"
    )


def main() -> None:
    print(f"load averages {os.getloadavg()}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.db"
        store = open_store(str(path))
        secret = make_token(store, "benchmark", Role.OWNER)
        make_large(store)
        store.close()
        service = Service(path)
        take = HEAD.format(secret).encode()
        ask = ASK.format(secret).encode()
        asyncio.run(load(service.port, take, 50.0, 2.0))
        say(
            f"ask alone, {RATE:g} a second",
            asyncio.run(load(service.port, ask, RATE, 5.0)),
        )
        for rate in (RATE, 2 * RATE, 4 * RATE):
            took = asyncio.run(load(service.port, take, rate, SECONDS if rate == RATE else 5.0))
            say(f"ask and take in one, {PEOPLE:,} stakeholders, {rate:g} a second", took)
        service.stop()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.db"
        store = open_store(str(path))
        begun = time.perf_counter()
        make_large(store, HISTORY)
        store.close()
        size = path.stat().st_size / 1e9
        print(
            f"{HISTORY:,} decisions written in {time.perf_counter() - begun:.0f} s, {size:.2f} GB"
        )
        service = Service(path)
        print(f"start from a snapshot: {service.seconds:.1f} s until it answers")
        service.stop()


if __name__ == "__main__":
    main()
