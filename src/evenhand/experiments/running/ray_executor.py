"""Tasks on a Ray cluster: one of this machine's own, or the one at an address."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any

from evenhand._util.extras import require_packages
from evenhand.errors import BadParameter, CannotConnect
from evenhand.experiments.running.run_spec import RunSpec
from evenhand.experiments.running.tasks import BlockFailed, Task, TaskProgress

CONNECTING = {"local": 120.0, "auto": 15.0}  # seconds; one's own has to be started first
ANSWERING = 15.0  # seconds that a running cluster has to answer
PATIENCE = 60.0  # seconds that a cluster may do nothing before it is called full
GRACE = 40.0  # seconds to save what there is, when it is asked to stop
ADDRESS = re.compile(r"local|auto|(ray://)?(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}")

# What a process takes beside what it learned, and how often it holds that: measured, rounded up.
PROCESS_BYTES, COPIES = 600_000_000, 4

_NOBODY = (
    "no Ray cluster answers at {}: check the address, and that `ray start` runs there, or give "
    "local to start one here."
)


class OnRay:
    """A Ray cluster: `local` (started here, on all cores), `auto` (running here) or an address.

    Ray is spoken to by another process (`cluster`): it writes to the terminal and ends the process
    that lost its cluster, which must not be this one.
    """

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        if not ADDRESS.fullmatch(address):
            raise BadParameter(
                f"{address!r} is not the address of a Ray cluster: give local, auto, HOST:PORT or "
                "ray://HOST:PORT."
            )
        require_packages("ray")
        self.address, self.patience = address, patience
        self._speaker: _Speaker | None = None

    def run(self, tasks: Sequence[Task], on_progress: TaskProgress, stop: threading.Event) -> None:
        self.open()
        speaker = self._speaker
        assert speaker is not None
        speaker.say(tasks=[_order(task) for task in tasks])
        stopped = 0.0
        while True:
            if stop.is_set() and not stopped:
                stopped = time.monotonic()
                speaker.say(stop=True)
            said = speaker.hear(0.1)
            if said is None:
                if stopped and time.monotonic() - stopped > GRACE:
                    self.close(at_once=True)
                    return
            elif "now" in said:
                on_progress(*said["now"])
            elif "lost" in said:
                pass  # it was given to another worker
            elif "failed" in said:
                raise BlockFailed(said["failed"])
            elif "gone" in said:
                self._speaker = None
                if stopped:
                    return
                raise CannotConnect(
                    f"the connection to the Ray cluster ({self.address}) was lost"
                    f"{_end(speaker.last_words())}. "
                    "What was finished or saved is kept: run the command again."
                )
            else:  # all are done, or as far as they came
                if stopped:
                    self.close()  # it has stopped for good
                return

    def close(self, at_once: bool = False) -> None:
        """Leave the cluster; one of this machine's own ends."""
        if self._speaker is not None:
            self._speaker.close(at_once)
            self._speaker = None

    def open(self) -> None:
        """Join the cluster, or say within a moment why not."""
        if self._speaker is not None:
            return
        if self.address not in CONNECTING:
            _require_listener(self.address)
        speaker = _Speaker()
        try:
            speaker.say(address=self.address, patience=self.patience)
            said = speaker.hear(CONNECTING.get(self.address, ANSWERING)) or {}
        except BaseException:
            speaker.close(at_once=True)
            raise
        if "connected" in said:
            self._speaker = speaker
            return
        speaker.close(at_once=True)
        raise CannotConnect(self._why_not(said, speaker.last_words()))

    def _why_not(self, said: dict[str, Any], words: list[str]) -> str:
        if any("InvalidAuthToken" in line or "AuthenticationError" in line for line in words):
            return (
                f"the Ray cluster at {self.address} does not let us in: set RAY_AUTH_MODE=token "
                "and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH as they are set there."
            )
        if "gone" in said:
            return f"Ray ({self.address}) could not be started{_end(words)}."
        return str(said.get("cannot", _NOBODY.format(self.address)))


def _require_listener(address: str) -> None:
    """Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
    except (OSError, OverflowError):
        raise CannotConnect(_NOBODY.format(address)) from None


class _Speaker:
    """The process that speaks with Ray: JSON objects, a line each way."""

    def __init__(self) -> None:
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
        self.words = tempfile.TemporaryFile()  # noqa: SIM115  # closed when nobody asks any more
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evenhand.experiments.running.ray_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.words,
            text=True,
            env={**os.environ, **quiet},
            start_new_session=True,  # it is asked to stop, and not by the keyboard
        )
        self.replies: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if line.startswith("{"):  # and not what others print there
                    self.replies.put(json.loads(line))
        self.process.wait()
        self.replies.put({"gone": True})

    def say(self, **what: Any) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(what), file=self.process.stdin, flush=True)

    def hear(self, seconds: float) -> dict[str, Any] | None:
        try:
            return self.replies.get(timeout=seconds)
        except queue.Empty:
            return None

    def last_words(self) -> list[str]:
        """What it and Ray wrote to standard error."""
        self.words.seek(0)
        return self.words.read().decode(errors="replace").strip().splitlines()

    def close(self, at_once: bool) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        if at_once:
            self.process.kill()
        self.process.wait()


def _end(words: list[str]) -> str:
    return f" ({words[-1].strip()[:200]})" if words else ""


def _order(task: Task) -> dict[str, Any]:
    """A task as the driver is given it."""
    from evenhand.experiments.running.runs import versions

    known = {name: version for name, version in versions().items() if name != "python"}
    return {
        **task.to_json(),
        "name": task.name,
        "path": str(task.path.absolute()),
        "memory": task.bytes_needed(_memory),
        "versions": known,
    }


@functools.cache
def _memory(spec: RunSpec) -> int:
    """Bytes that a process takes to do such a task."""
    import jax

    from evenhand.learn.seeds import seed_keys

    shapes = jax.eval_shape(jax.vmap(spec.build().start), seed_keys(spec.seeds))
    learned = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
    return PROCESS_BYTES + COPIES * int(learned)
