"""Where runs are done: their seeds cut into tasks, and the processes of this machine that do them.

Which seeds make up a task is decided by a rule that knows no machine. A seed alone and among others
agree to rounding only, so the same blocks on two cores and on a cluster give the same digits.
"""

from __future__ import annotations

import contextlib
import glob
import importlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from evenhand._util.registry import child_environment
from evenhand.errors import EvenhandError
from evenhand.lab.run_spec import RunSpec

if TYPE_CHECKING:
    from evenhand.lab.runs import Progress, Run

MAX_TRIES = 3  # of a task whose process or machine is lost
GRACE = 30.0  # seconds that a process has to save what it has, when it is asked to stop
TURNS = 64  # how many processes may share a core before the next ones are left where they are

# Seeds side by side share what it costs to compile a method; apart they can be spread. Networks:
# compiling is worth it from about five seeds on, and two cores are common. Tables: it is all they
# cost, and hundreds run side by side in little more time than one.
NETWORKS_A_BLOCK, LEAST_BLOCKS = 5, 2
TABLES_A_BLOCK = 100

TaskProgress = Callable[[int, int, int, float], None]  # which task, steps, of how many, score
Point = Callable[[int, float], None]  # a step of a curve, and the mean score there

_claims: list[socket.socket] = []  # held as long as the process lives, however it ends


def cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def keep_to_one_core() -> None:
    """Stay on one core, the one that fewest others have claimed; to be done before JAX counts them.

    Two pools of threads on the same cores only wait for each other. And other numbers of threads
    add up in another order: on one core, all machines of a kind come to the same digits.
    """
    if _claims or not hasattr(os, "sched_setaffinity"):
        return
    # Where containers share a machine and do not see each other, not all begin with the same core.
    here = cores()
    first = zlib.crc32(socket.gethostname().encode()) % len(here)
    for turn in range(TURNS):
        for core in here[first:] + here[:first]:
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                # A name that belongs to one process at a time, and goes when the process goes.
                claim.bind(f"\0evenhand/core{core}/{turn}")
            except OSError:
                claim.close()
                continue
            _claims.append(claim)
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {core})
            return


class BlockFailed(EvenhandError):
    """Some of the seeds could not be trained to the end."""


class Spec(Protocol):
    """What a task does, in words that JSON has: a `RunSpec`, or a trial of the benchmark."""

    @property
    def title(self) -> str:
        """What it is called where it fails."""

    @property
    def seeds(self) -> tuple[int, ...]: ...
    @property
    def steps(self) -> int: ...
    @property
    def every(self) -> int: ...
    @property
    def version(self) -> str: ...

    def run(self, path: Path, progress: Progress) -> Run:
        """Do it, from wherever the file says it is, and write the file."""

    def bytes_needed(self) -> int:
        """How much memory a process takes to do it."""

    def to_json(self) -> dict[str, Any]: ...
    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Self: ...


@dataclass(frozen=True)
class Task:
    """What to do, and the file that holds as much of it as is done."""

    spec: Spec
    path: Path

    @property
    def name(self) -> str:
        return self.spec.title

    def saved(self) -> Run | None:
        """What the file holds; one that holds anything else is refused."""
        from evenhand.lab.runs import saved_run

        return saved_run(self.spec, self.path)

    def result(self) -> Run:
        """What it came to."""
        run = self.saved()
        if run is None:
            raise BlockFailed(
                f"{self.path} is gone, and with it {self.name}: run the command again."
            )
        return run

    def do(self, progress: Progress) -> Run:
        """Do what is left of it, on one core."""
        keep_to_one_core()
        return self.spec.run(self.path, progress)

    def to_json(self) -> dict[str, Any]:
        """The task as it is sent to another process."""
        kind = f"{type(self.spec).__module__}:{type(self.spec).__name__}"
        return {"kind": kind, "spec": self.spec.to_json(), "path": str(self.path)}

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> Task:
        """The task that was sent so, on one core: reading it may load jax."""
        keep_to_one_core()
        from evenhand.envs.own_environment import load_named

        load_named(table["spec"].get("environment"))
        module, _, name = table["kind"].partition(":")
        kind = getattr(importlib.import_module(module), name)
        return cls(kind.from_json(table["spec"]), Path(table["path"]))


class Executor(Protocol):
    """Where tasks are done: in processes of this machine, or on a cluster.

    Which seeds make up a task does not depend on it, so the results do not either.
    """

    def open(self) -> None:
        """Get ready, if that takes anything; what is wrong is found here."""

    def run(self, tasks: Sequence[Task], on_progress: TaskProgress, stop: threading.Event) -> None:
        """Do all tasks; once `stop` is set, save what there is and come back soon."""


def run_tasks(
    tasks: Sequence[Task],
    executor: Executor,
    on_progress: TaskProgress,
    meanwhile: Callable[[], Any] | None = None,
) -> None:
    """Have the tasks done that are not done yet, and do something else while others are busy."""
    left = []
    for k, task in enumerate(tasks):
        run = task.saved()
        if run is None or not run.finished:
            left.append(k)
        else:
            steps = run.spec.steps
            on_progress(k, steps, steps, float(run.scores[-1].mean()))
    if left:
        executor.open()
    stop, done = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            executor.run([tasks[k] for k in left], lambda k, *now: on_progress(left[k], *now), stop)
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    # Waited for by an event: a thread whose `join` is interrupted is taken for ended.
    if left:
        threading.Thread(target=work).start()
    else:
        done.set()
    try:
        if meanwhile is not None:
            meanwhile()
        while not done.wait(0.1):
            pass
    except BaseException:
        stop.set()
        _patiently(done)
        raise
    if failures:
        raise failures[0]


def _patiently(done: threading.Event) -> None:
    """Wait for what is being saved, whatever keys are pressed."""
    while not done.is_set():
        with contextlib.suppress(KeyboardInterrupt):
            done.wait(0.1)


def split_into_tasks(spec: RunSpec, path: str | os.PathLike[str]) -> list[Task]:
    """The tasks of a run: path.block0, path.block1, …; the file itself where it is whole."""
    path = Path(path)
    number = len(spec.seeds)
    if spec.deep:
        blocks = max(min(LEAST_BLOCKS, number), math.ceil(number / NETWORKS_A_BLOCK))
    else:
        blocks = math.ceil(number / TABLES_A_BLOCK)
    if os.path.exists(path) or (blocks == 1 and not spec.deep):
        return [Task(spec, path)]
    parts = np.array_split(spec.seeds, blocks)
    return [
        Task(spec.with_seeds(tuple(part.tolist())), Path(f"{path}.block{k}"))
        for k, part in enumerate(parts)
    ]


def block_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files in which blocks were saved on the way."""
    path = Path(path)
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.block*"))


def train_in_blocks(
    spec: RunSpec,
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[], Any] | None = None,
    executor: Executor | None = None,
    on_point: Point | None = None,
) -> Run:
    """Train with the seeds spread over the cores; `meanwhile` is done while they are busy.

    The blocks are saved beside `path` and go on from there. If it is interrupted: what there is.
    `on_point` gets every point of the curve.
    """
    with contextlib.ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "run"
        tasks = split_into_tasks(spec, path)
        together = MeanProgress(tasks, progress or (lambda *_: None))
        points = CurvePoints(tasks, on_point or (lambda *_: None))

        def on_progress(*now: Any) -> None:
            together(*now)
            points(*now)

        try:
            run_tasks(tasks, executor or LocalProcesses(), on_progress, meanwhile)
        except KeyboardInterrupt:
            if not all(task.path.exists() for task in tasks):
                raise
        return merge(spec, [task.result() for task in tasks])


class MeanProgress:
    """How far some tasks are together: the mean of their steps and, by seeds, of their scores."""

    def __init__(self, tasks: Sequence[Task], progress: Progress) -> None:
        self.weights = [len(task.spec.seeds) for task in tasks]
        self.progress = progress
        self.latest: dict[int, tuple[int, int, float]] = {}

    def __call__(self, k: int, *now: Any) -> None:
        self.latest[k] = now
        known = dict(self.latest)  # others may report at the same time
        done = sum(one[0] * self.weights[j] for j, one in known.items()) / sum(self.weights)
        weights = [self.weights[j] for j in known]
        score = np.average([one[2] for one in known.values()], weights=weights)
        self.progress(int(done), now[1], float(score))


class CurvePoints:
    """The points of a curve, each reported once and in order, when all tasks have come to it.

    What the tasks had saved before is reported first.
    """

    def __init__(self, tasks: Sequence[Task], on_point: Point) -> None:
        self.weights = [len(task.spec.seeds) for task in tasks]
        self.on_point, self.reported = on_point, 0
        self.scores: dict[int, dict[int, float]] = {}  # of each step, as far as they are known
        self.lock = threading.Lock()  # tasks report at the same time
        for k, task in enumerate(tasks):
            run = task.saved()
            if run is not None:
                for step, scores in zip(run.steps, run.scores, strict=True):
                    self(k, int(step), task.spec.steps, float(scores.mean()))

    def __call__(self, k: int, step: int, of: int, score: float) -> None:
        with self.lock:
            known = self.scores.setdefault(step, {})
            known[k] = score
            if len(known) == len(self.weights) and step > self.reported:
                self.reported = step
                self.on_point(
                    step, float(np.average([known[j] for j in sorted(known)], weights=self.weights))
                )


def merge(spec: RunSpec, parts: Iterable[Run]) -> Run:
    """The runs of the blocks as one, as far as all of them have come. No seed is in it twice."""
    from evenhand.lab.runs import Run

    parts = list(parts)
    seeds = [seed for part in parts for seed in part.spec.seeds]
    if seeds != list(spec.seeds):
        raise BlockFailed(f"the blocks hold the seeds {seeds}, and not each of them once.")
    rows = min(len(part.scores) for part in parts)
    measures = {
        name: np.concatenate([part.measures[name][:rows] for part in parts], axis=1)
        for name in parts[0].measures
    }
    learners = {
        name: np.concatenate([part.learners[name] for part in parts]) for name in parts[0].learners
    }
    seconds, compiling = (
        max(getattr(part, name) for part in parts) for name in ("seconds", "compile_seconds")
    )
    return Run(spec, learners, measures, seconds, compiling, parts[0].versions)


class WorkerBroke(RuntimeError):
    """A process that ended by a mistake of ours; its own last words, if any, tell which."""

    def __init__(self, sentence: str, words: str) -> None:
        super().__init__(sentence)
        if words:
            self.add_note(f"The process said:\n{words}")


class _Lost(Exception):
    """A process that ended in the middle of a task."""

    def __init__(self, code: int, said: Sequence[str]) -> None:
        super().__init__(code)
        self.code, self.said = code, said

    @property
    def killed(self) -> bool:
        return self.code < 0

    def sentence(self, task: Task) -> str:
        return (
            f"the process that trained {task.name} ended with code {self.code}"
            f"{': ' + self.said[-1] if self.said else ''}. What it had saved is kept: run the "
            "command again."
        )


@dataclass(frozen=True)
class LocalProcesses:
    """As many processes as there are cores, or fewer; each takes the next task when it is done."""

    workers: int | None = None

    def open(self) -> None:
        pass  # they start when there is something to do

    def run(self, tasks: Sequence[Task], on_progress: TaskProgress, stop: threading.Event) -> None:
        number = min(len(tasks), self.workers or len(cores()))
        queue = deque(enumerate(tasks))
        shifts = [_Shift(queue, on_progress, stop) for _ in range(number)]
        for shift in shifts:
            shift.start()
        interrupted = 0.0
        while any(shift.is_alive() for shift in shifts):
            if any(shift.failure for shift in shifts):
                stop.set()
            if stop.is_set():
                interrupted = interrupted or time.monotonic()
                for shift in shifts:
                    shift.interrupt(time.monotonic() - interrupted > GRACE)
            time.sleep(0.05)
        failures = [shift.failure for shift in shifts if shift.failure is not None]
        # Where one failed, the others were asked to stop: that is not what went wrong.
        failures.sort(key=lambda failure: isinstance(failure, KeyboardInterrupt))
        if failures:
            raise failures[0]


@dataclass(frozen=True)
class InThisProcess:
    """Tasks one after the other, here: for methods that other processes cannot import."""

    def open(self) -> None:
        pass

    def run(self, tasks: Sequence[Task], on_progress: TaskProgress, stop: threading.Event) -> None:
        for k, task in enumerate(tasks):
            if stop.is_set():
                return
            task.spec.run(task.path, lambda *now, k=k: on_progress(k, *now))


class _Shift(threading.Thread):
    """One process after another, if need be, that works through the queue."""

    def __init__(
        self,
        queue: deque[tuple[int, Task]],
        on_progress: TaskProgress,
        stop: threading.Event,
    ) -> None:
        super().__init__()
        self.queue, self.on_progress, self.stopped = queue, on_progress, stop
        self.failure: BaseException | None = None
        self.process: ChildProcess | None = None

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                try:
                    k, task = self.queue.popleft()
                except IndexError:
                    return
                self._see_through(k, task)
        except BaseException as failure:
            self.failure = failure
        finally:
            self._dismiss()

    def _see_through(self, k: int, task: Task) -> None:
        """Do the task; where its process is killed, another goes on from what was saved."""
        for tries in range(1, MAX_TRIES + 1):
            # With what users have registered here.
            self.process = self.process or ChildProcess("evenhand.lab.worker", child_environment())
            try:
                self._do(self.process, k, task)
            except _Lost as lost:
                self._dismiss()
                if self.stopped.is_set():
                    return
                if not lost.killed:
                    raise WorkerBroke(lost.sentence(task), "\n".join(lost.said)) from None
                if tries == MAX_TRIES:
                    raise BlockFailed(lost.sentence(task)) from None
            else:
                return

    def _do(self, process: ChildProcess, k: int, task: Task) -> None:
        process.say(**task.to_json())
        for line in process.answers:
            said = json.loads(line)
            if "now" in said:
                self.on_progress(k, *said["now"])
            elif "refused" in said:
                raise BlockFailed(said["refused"])
            elif said["finished"]:
                return
            else:
                raise KeyboardInterrupt
        raise _Lost(process.process.wait(), process.last_words())

    def interrupt(self, at_once: bool) -> None:
        process = self.process  # the shift's own thread may dismiss it at any time
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.process.send_signal(signal.SIGKILL if at_once else signal.SIGINT)

    def _dismiss(self) -> None:
        if self.process is not None:
            self.process.close()
            self.process.answers.close()
            self.process = None


class ChildProcess:
    """Another Python process, spoken to in JSON objects, a line each way.

    Args:
        module: What it runs.
        environment: Variables beside those of this process.
        more: What else `subprocess.Popen` takes.
    """

    def __init__(self, module: str, environment: Mapping[str, str], **more: Any) -> None:
        # A file and not a pipe: a pipe that nobody reads is full at some time.
        self.words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self.said = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.words,
            text=True,
            env={**os.environ, **environment},
            **more,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.orders, self.answers = self.process.stdin, self.process.stdout

    def say(self, **what: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(what), file=self.orders, flush=True)

    def last_words(self) -> list[str]:
        """What it wrote to standard error."""
        if not self.words.closed:
            self.words.seek(0)
            self.said = self.words.read()
        return self.said.decode(errors="replace").strip().splitlines()

    def close(self, at_once: bool = False) -> None:
        """End it: when it has done what it was told, or now."""
        with contextlib.suppress(BrokenPipeError):
            self.orders.close()
        if at_once:
            self.process.kill()
        self.process.wait()
        self.last_words()
        self.words.close()
