"""`evenhand serve` under load: ask-and-take at a steady rate, and start with a long history.

Requests come at their own times, whether or not earlier ones were answered: what is measured is
from when a request was due until its answer. Everything is on loopback. Beside it stand what the
machine itself makes everybody wait, the seconds of the processor that a request takes, and a caller
who is alone: so that the service and the machine can be told apart.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._machine_waits import (
    DiskProbe,
    StallWatch,
    at_the_front,
    disk_waits,
    late_wakes,
    processor_seconds,
    spread,
    stolen_seconds,
)
from evenhand.serve.api.middleware import Role, make_token
from evenhand.serve.pools.imports import first_entries
from evenhand.serve.pools.pool import Decision, LivePool, PoolDefinition
from evenhand.serve.pools.state import PoolSnapshot
from evenhand.serve.store.open_store import open_store
from evenhand.serve.store.store import Append, DecisionStore

PEOPLE = 100_000
RATE, SECONDS = 200.0, 20.0
HISTORY = int(os.environ.get("EVENHAND_HISTORY", "10_000_000"))
KEPT = os.environ.get("EVENHAND_HISTORY_STORE")  # a store that was made before
CONNECTIONS = 32
MEMORY = Path("/dev/shm")
TAKE = (
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
            taken = Decision(((f"person {k % PEOPLE}", 1.0),), k)
            entries.append(pool.record(taken, "benchmark", k))
        store.append([Append(entries)])
        done += len(entries)
    PoolSnapshot.of(pool).save(store)


class Service:
    """The service in a process of its own; its log says how long each answer took."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "evenhand", "serve", "--store", str(path), "--port", "0"]
        self.folder = path.parent
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it is stopped)
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--json", "--rate-limit", "1e6"],
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self.process.stdout is not None
        lines = iter(self.process.stdout.readline, b"}\n")
        said = json.loads(b"".join(lines) + b"}")
        self.seconds = time.perf_counter() - begun
        self.port = int(said["address"].rpartition(":")[2])

    def used(self) -> float:
        return processor_seconds(self.process.pid)

    def answered(self, last: int) -> list[float]:
        """The seconds that the latest answers took inside."""
        self._log.seek(0)
        lines = self._log.read().splitlines()[-last:]
        return [json.loads(line)["milliseconds"] / 1000 for line in lines]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self._log.close()


class Caller:
    """One connection that asks and waits for the answer."""

    @staticmethod
    async def at(port: int) -> Caller:
        caller = Caller()
        caller.reader, caller.writer = await asyncio.open_connection("127.0.0.1", port)
        return caller

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes) -> None:
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await self.reader.readexactly(length)
        assert head.startswith((b"HTTP/1.1 201", b"HTTP/1.1 200")), head


@dataclass
class Asked:
    """How long requests took; and those of them during which no core of the machine stood still."""

    took: list[float] = field(default_factory=list)
    undisturbed: list[float] = field(default_factory=list)


async def steady(port: int, request: bytes, rate: float, seconds: float) -> Asked:
    """The times that requests took, which come at a steady rate."""
    free: asyncio.Queue[Caller] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await Caller.at(port))
    spans: list[tuple[float, float]] = []
    begun = time.perf_counter()

    async def one(due: float) -> None:
        caller = await free.get()
        await caller.ask(request)
        free.put_nowait(caller)
        spans.append((due, time.perf_counter()))

    tasks = []
    with StallWatch() as machine:
        for k in range(int(rate * seconds)):
            due = begun + k / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(one(due)))
        await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().writer.close()
    found = Asked()
    for due, answered in spans:
        found.took.append(answered - due)
        if not machine.disturbs(due, answered):
            found.undisturbed.append(answered - due)
    return found


async def alone(port: int, request: bytes, count: int) -> list[float]:
    """The times that requests took of one caller, who waits a moment after each answer."""
    caller, took = await Caller.at(port), []
    for _ in range(count):
        begun = time.perf_counter()
        await caller.ask(request)
        took.append(time.perf_counter() - begun)
        await asyncio.sleep(0.005)
    caller.writer.close()
    return took


def under_load(service: Service, what: str, request: bytes, rate: float, seconds: float) -> None:
    used, stolen = service.used(), stolen_seconds()
    with DiskProbe(service.folder) as disk:
        asked = asyncio.run(steady(service.port, request, rate, seconds))
    each = 1000 * (service.used() - used) / len(asked.took)
    print(spread(f"{what}, {rate:g} a second", asked.took), f"({each:.2f} ms of one core each)")
    print(spread("  while no core stood still", asked.undisturbed))
    print(spread("  inside the service", service.answered(len(asked.took))))
    print(spread("  another file on the same disk meanwhile", disk.took))
    print(f"  taken by other machines meanwhile: {stolen_seconds() - stolen:.2f} s", flush=True)


def load(folder: Path) -> None:
    """Ask, and ask and take, alone and at a steady rate, with a store in a folder."""
    store = open_store(str(folder / "decisions.db"))
    secret = make_token(store, "benchmark", Role.OWNER)
    make_large(store)
    store.close()
    service = Service(folder / "decisions.db")
    take, ask = TAKE.format(secret).encode(), ASK.format(secret).encode()
    try:
        asyncio.run(alone(service.port, take, 100))
        print(spread("ask and take, one caller", asyncio.run(alone(service.port, take, 1000))))
        under_load(service, "ask", ask, RATE, 5.0)
        for rate, seconds in ((RATE, SECONDS), (2 * RATE, 5.0), (4 * RATE, 5.0)):
            under_load(service, "ask and take in one", take, rate, seconds)
    finally:
        service.stop()


def start(folder: Path) -> None:
    """Start with a long history."""
    path = folder / "long.db" if KEPT is None else Path(KEPT)
    if not path.exists():
        begun = time.perf_counter()
        store = open_store(str(path))
        make_large(store, HISTORY)
        store.close()
        size = path.stat().st_size / 1e9
        print(
            f"{HISTORY:,} decisions written in {time.perf_counter() - begun:.0f} s, {size:.2f} GB"
        )
    for _ in range(3):
        service = Service(path)
        used = service.used()
        print(
            f"start from a snapshot: {service.seconds:.1f} s until it answers, {used:.1f} s of the "
            "processor",
            flush=True,
        )
        service.stop()


def main() -> None:
    sys.setswitchinterval(0.0005)
    front = at_the_front()
    if front and not os.environ.get("EVENHAND_AT_THE_FRONT"):  # those who ask come first too
        environment = {**os.environ, "EVENHAND_AT_THE_FRONT": "yes"}
        command = [*front, sys.executable, "-m", "benchmarks", "serving"]
        print(f"load averages {os.getloadavg()}, run by {' '.join(front)}", flush=True)
        subprocess.run(command, check=True, env=environment)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(spread("woken late by the machine", late_wakes()))
        print(spread("a file on disk", disk_waits(folder)), flush=True)
        load(folder)
        if MEMORY.is_dir():
            print(f"the same with the store in memory ({MEMORY}), where no disk is waited for:")
            with tempfile.TemporaryDirectory(dir=MEMORY) as held:
                load(Path(held))
        print(spread("woken late by the machine", late_wakes()))
        print(spread("a file on disk", disk_waits(folder)), flush=True)
        start(folder)


if __name__ == "__main__":
    main()
