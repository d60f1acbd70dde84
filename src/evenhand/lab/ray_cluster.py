"""Tasks on a Ray cluster: one of this machine's own, or the one at an address.

Ray is spoken to by another process: it writes to the terminal, and ends the process that lost its
cluster, which must not be this one.

    python -m evenhand.lab.ray_cluster

is that process. It reads JSON objects from standard input, a line each: the address first, then
tasks, or to stop. It writes to standard output how far the tasks are and how they end. When its
input ends, it stops.
"""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import re
import socket
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evenhand._util.files import write_whole
from evenhand._util.registry import require_packages
from evenhand.errors import BadParameter, CannotConnect, CannotWrite
from evenhand.lab.executors import MAX_TRIES, BlockFailed, ChildProcess, Task, TaskProgress, cores

CONNECTING = {"local": 120.0, "auto": 15.0}  # seconds; one's own has to be started first
ANSWERING = 15.0  # seconds that a running cluster has to answer
PATIENCE = 60.0  # seconds that a cluster may do nothing before it is called full
GRACE = 40.0  # seconds to save what there is, when it is asked to stop
ADDRESS = re.compile(r"local|auto|(ray://)?(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}")

POLL = 0.5  # seconds
SAVING = 30.0  # seconds that tasks have to save what they have
QUEUED = 2  # tasks for each CPU that Ray is given at a time, so that none waits for the next

_NOBODY = (
    "no Ray cluster answers at {}: check the address, and that `ray start` runs there, or give "
    "local to start one here."
)


class OnRay:
    """A Ray cluster: `local` (started here, on all cores), `auto` (running here) or an address."""

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
        speaker.child.say(tasks=[_order(task) for task in tasks])
        stopped = 0.0
        while True:
            if stop.is_set() and not stopped:
                stopped = time.monotonic()
                speaker.child.say(stop=True)
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
                    f"{_end(speaker.child.last_words())}. "
                    "What was finished or saved is kept: run the command again."
                )
            else:  # all are done, or as far as they came
                if stopped:
                    self.close()  # it has stopped for good
                return

    def close(self, at_once: bool = False) -> None:
        """Leave the cluster; one of this machine's own ends."""
        if self._speaker is not None:
            self._speaker.child.close(at_once)
            self._speaker = None

    def open(self) -> None:
        """Join the cluster, or say within a moment why not."""
        if self._speaker is not None:
            return
        if self.address not in CONNECTING:
            _require_listener(self.address)
        speaker = _Speaker()
        try:
            speaker.child.say(address=self.address, patience=self.patience)
            said = speaker.hear(CONNECTING.get(self.address, ANSWERING)) or {}
        except BaseException:
            speaker.child.close(at_once=True)
            raise
        if "connected" in said:
            self._speaker = speaker
            return
        speaker.child.close(at_once=True)
        raise CannotConnect(self._why_not(said, speaker.child.last_words()))

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
    """The process that speaks with Ray, which answers whenever it has something to say."""

    def __init__(self) -> None:
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
        # In a session of its own: it is asked to stop, and not by the keyboard.
        self.child = ChildProcess("evenhand.lab.ray_cluster", quiet, start_new_session=True)
        self.replies: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with self.child.answers as lines:
            for line in lines:
                if line.startswith("{"):  # and not what others print there
                    self.replies.put(json.loads(line))
        self.child.process.wait()
        self.replies.put({"gone": True})

    def hear(self, seconds: float) -> dict[str, Any] | None:
        try:
            return self.replies.get(timeout=seconds)
        except queue.Empty:
            return None


def _end(words: list[str]) -> str:
    return f" ({words[-1].strip()[:200]})" if words else ""


def _order(task: Task) -> dict[str, Any]:
    """A task as the driver is given it."""
    from evenhand.lab.runs import versions

    known = {name: version for name, version in versions().items() if name != "python"}
    return {
        **task.to_json(),
        "name": task.name,
        "path": str(task.path.absolute()),
        "memory": task.spec.bytes_needed(),
        "versions": known,
    }


def say(**what: Any) -> None:
    """One line of JSON for the process that listens."""
    print(json.dumps(what), flush=True)


class Failed(Exception):
    """What cannot be fixed here, as a sentence."""


def join(ray: Any, address: str) -> None:
    """Start a cluster of this machine's own, or join the one at the address."""
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == "local":
        ray.init(address="local", num_cpus=len(cores()), include_dashboard=False, **quiet)
    else:
        ray.init(address=address, **quiet)


def why_not(address: str, error: BaseException) -> str:
    """Why a cluster was not joined, in a sentence."""
    said = " ".join(str(error).split())
    if "ersion mismatch" in said:
        return (
            f"the Ray cluster ({address}) runs another version of Ray or Python than this machine: "
            "install the same on both."
        )
    if address == "auto":
        return "no Ray cluster runs on this machine: start one (`ray start --head`), or give local."
    return (
        f"the Ray cluster at {address} cannot be joined ({said[:200]}): from a machine that is not "
        "part of it, the address is ray://HOST:10001."
    )


def remote_parts(ray: Any) -> tuple[Any, Any]:
    """What runs there: a worker that does a task, and an actor that collects progress.

    They are sent as they are, so that a machine without evenhand can say that it has none.
    """

    def do_one(order: dict[str, Any], content: bytes | None, listener: Any) -> dict[str, Any]:
        def report(now: Any) -> None:
            listener.report.remote(order["k"], now)

        report(None)  # it has begun
        try:
            from evenhand.lab.worker import do_away
        except ImportError:
            return {"refused": "has no evenhand, or an old one"}
        return do_away(order, content, report)

    class ProgressActor:
        def __init__(self) -> None:
            self.latest: dict[int, Any] = {}

        def report(self, k: int, now: Any) -> None:
            self.latest[k] = now

        def all(self) -> dict[int, Any]:
            latest, self.latest = self.latest, {}
            return latest

    # A lost task is given away again by us: it may go on from what was saved in the meantime.
    return ray.remote(max_retries=0)(do_one), ray.remote(num_cpus=0)(ProgressActor)


class Sweep:
    """Tasks given to Ray, taken back when they are done, and given again when they are lost."""

    def __init__(self, ray: Any, tasks: Sequence[dict[str, Any]], patience: float) -> None:
        self.ray, self.tasks, self.patience = ray, tasks, patience
        self.waiting = deque(range(len(tasks)))
        self.running: dict[Any, int] = {}
        self.begun: set[int] = set()
        self.losses: Counter[int] = Counter()
        self.worker, self.listeners = remote_parts(ray)
        self.listener = self.listeners.remote()
        self.sign = self.listened = time.monotonic()

    def run(self, stopped: Callable[[], bool]) -> None:
        self._require_memory()
        with markers(self.tasks):
            try:
                while (self.waiting or self.running) and not stopped():
                    self._give()
                    done, _ = self.ray.wait(list(self.running), num_returns=1, timeout=POLL)
                    for answer in done:
                        self._take(answer, self.running.pop(answer))
                    self._listen()
                    self._require_signs()
            finally:
                self._recall()

    def _give(self) -> None:
        most = QUEUED * max(1, int(self.ray.cluster_resources().get("CPU", 0)))
        while self.waiting and len(self.running) < most:
            k = self.waiting.popleft()
            task, path = self.tasks[k], Path(self.tasks[k]["path"])
            content = path.read_bytes() if path.exists() else None
            one = self.worker.options(num_cpus=1, memory=task["memory"])
            order = {**task, "k": k}
            self.running[one.remote(order, content, self.listener)] = k

    def _take(self, answer: Any, k: int) -> None:
        """The end of a task, whatever it is."""
        errors, task = self.ray.exceptions, self.tasks[k]
        self.begun.discard(k)
        self.sign = time.monotonic()
        try:
            result = self.ray.get(answer)
        except errors.RayTaskError as error:
            said = str(error).strip().splitlines()[-1]
            raise Failed(
                f"{task['name']} could not be trained on the Ray cluster: {said}"
            ) from None
        except errors.RayError as error:
            self._again(k, error)
            return
        if "refused" in result:
            raise Failed(
                f"a machine of the Ray cluster {result['refused']}: install the same evenhand and "
                "jax on all of them."
            )
        if "failed" in result:
            raise Failed(result["failed"])
        self._keep(result, task)
        if not result["finished"]:
            self._again(k, None)  # interrupted there, by nobody here
            return
        steps = task["spec"]["steps"]
        say(now=[k, steps, steps, result["score"]])

    def _again(self, k: int, error: BaseException | None) -> None:
        """Give a lost task away once more, unless it was lost too often."""
        self.losses[k] += 1
        say(lost=k)
        if self.losses[k] == MAX_TRIES:
            memory = isinstance(error, self.ray.exceptions.OutOfMemoryError)
            why = "its machine ran out of memory" if memory else "its worker was lost"
            raise Failed(
                f"{self.tasks[k]['name']} was given up after {MAX_TRIES} tries: each time {why}. "
                "What was finished or saved is kept."
            )
        self.waiting.appendleft(k)

    def _listen(self) -> None:
        """Pass on how far the tasks are, not more often than anyone looks."""
        if time.monotonic() - self.listened < POLL:
            return
        self.listened = time.monotonic()
        try:
            latest = self.ray.get(self.listener.all.remote(), timeout=10 * POLL)
        except self.ray.exceptions.GetTimeoutError:
            return
        except (
            self.ray.exceptions.RayError
        ):  # its machine was lost: the next tasks report to another
            self.listener = self.listeners.remote()
            self.begun |= set(self.running.values())  # of these nothing more will be reported
            return
        out = set(self.running.values())
        for k, now in latest.items():
            if k in out:
                self.begun.add(k)
                self.sign = time.monotonic()
                if now is not None:
                    say(now=[k, *now])

    def _require_memory(self) -> None:
        with_cpu = [n for n in self.ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]
        if not with_cpu:
            return  # there may be some soon; see below
        largest = max(node["Resources"].get("memory", 0) for node in with_cpu)
        for task in self.tasks:
            if task["memory"] > largest:
                raise Failed(
                    f"{task['name']} needs about {task['memory'] / 1e9:.1f} GB of memory, and no "
                    f"machine of the Ray cluster has more than {largest / 1e9:.1f} GB for tasks: "
                    "add a larger one."
                )

    def _require_signs(self) -> None:
        if self.begun or time.monotonic() - self.sign < self.patience:
            return
        whole = self.ray.cluster_resources().get("CPU", 0)
        free = self.ray.available_resources().get("CPU", 0)
        why = f"has no free CPU (of {whole:.0f})" if free < 1 else "begins no task"
        raise Failed(
            f"the Ray cluster {why}, and that for {self.patience:.0f} seconds: wait until others "
            "are done, or add machines. What was finished or saved is kept."
        )

    def _recall(self) -> None:
        """Have the tasks that still run save what they have."""
        answers = list(self.running)
        if not answers:
            return
        for answer in answers:
            self.ray.cancel(answer)
        done, _ = self.ray.wait(answers, num_returns=len(answers), timeout=SAVING)
        for answer in done:
            # One that saved nothing, or cannot be saved here, is begun again another time.
            with contextlib.suppress(self.ray.exceptions.RayError, CannotWrite):
                self._keep(self.ray.get(answer), self.tasks[self.running[answer]])

    def _keep(self, result: dict[str, Any], task: dict[str, Any]) -> None:
        """Write what came back from where the folder is not shared."""
        if result.get("content") is not None:
            write_whole(task["path"], result["content"])


@contextlib.contextmanager
def markers(tasks: Sequence[dict[str, Any]]) -> Iterator[None]:
    """A file in each folder: a machine that sees it shares the folder."""
    with contextlib.ExitStack() as stack:
        made: dict[Path, str] = {}
        for task in tasks:
            folder = Path(task["path"]).parent
            if folder not in made:
                try:
                    file = stack.enter_context(
                        tempfile.NamedTemporaryFile(dir=folder, prefix=".shared.")
                    )
                except OSError as error:
                    raise Failed(f"{folder} cannot be written to: {error.strerror}.") from None
                made[folder] = file.name
            task["marker"] = made[folder]
        yield


class CommandReader:
    """What standard input says; it may say to stop at any time."""

    def __init__(self) -> None:
        self.lines: deque[dict[str, Any]] = deque()
        self.came = threading.Condition()
        self.stopped = self.ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            with self.came:
                order = json.loads(line)
                if "stop" in order:
                    self.stopped = True
                else:
                    self.lines.append(order)
                self.came.notify()
        with self.came:
            self.stopped = self.ended = True
            self.came.notify()

    def next(self) -> dict[str, Any] | None:
        with self.came:
            self.came.wait_for(lambda: self.lines or self.ended)
            return self.lines.popleft() if self.lines else None


def main() -> None:
    """Join a cluster and do tasks there until standard input ends."""
    orders = CommandReader()
    first = orders.next()
    if first is None:
        return
    import ray

    try:
        join(ray, first["address"])
    except Exception as error:
        say(cannot=why_not(first["address"], error))
        return
    say(connected=True)
    while (order := orders.next()) is not None:
        try:
            Sweep(ray, order["tasks"], first["patience"]).run(lambda: orders.stopped)
        except (Failed, CannotWrite) as failure:
            say(failed=str(failure))
        else:
            say(all=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
