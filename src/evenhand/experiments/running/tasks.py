"""Tasks: some seeds of one method each, a resumable run that can be done anywhere."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.errors import EvenhandError
from evenhand.experiments.running.run_spec import RunSpec

if TYPE_CHECKING:
    from evenhand.experiments.running.runs import Agent, Run

MAX_TRIES = 3  # of a task whose process or machine is lost

# Which task, steps done, of how many, mean score.
TaskProgress = Callable[[int, int, int, float], None]


class BlockFailed(EvenhandError):
    """Some of the seeds could not be trained to the end."""


@dataclass(frozen=True)
class Task:
    """A block of seeds: what to train, and the file that holds as much of it as is done."""

    spec: RunSpec
    path: Path

    @property
    def name(self) -> str:
        seeds = self.spec.seeds
        last = f" to {seeds[-1]}" if len(seeds) > 1 else ""
        return f"{self.spec.method}, seed{'s' if last else ''} {seeds[0]}{last}"

    def saved(self) -> Run | None:
        """What the file holds; one that holds anything else is refused."""
        from evenhand.experiments.running.runs import saved_run

        return saved_run(self.spec, self.path)

    def do(self, progress: Callable[[int, int, float], None]) -> Run:
        """Train from wherever the file says it is, on one core."""
        from evenhand.experiments.running.cpu_affinity import keep_to_one_core

        keep_to_one_core()
        from evenhand.experiments.running.runs import train

        return train(_agent(self.spec.with_seeds((0,))), self.spec, self.path, progress)

    def to_json(self) -> dict[str, Any]:
        """The task as it is sent to another process."""
        return {"spec": self.spec.to_json(), "path": str(self.path)}

    def bytes_needed(self, of: Callable[[RunSpec], int]) -> int:
        """How much memory it takes, by what a run of that many seeds does."""
        return of(self.spec.with_seeds(tuple(range(len(self.spec.seeds)))))

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> Task:
        """The task that was sent so, on one core: reading it may load jax."""
        from evenhand.experiments.running.cpu_affinity import keep_to_one_core

        keep_to_one_core()
        from evenhand.envs.own_environment import load_named

        load_named(table["spec"]["environment"])
        return cls(RunSpec.from_json(table["spec"]), Path(table["path"]))


def task_from_json(table: dict[str, Any]) -> Task:
    """The task that was sent so: of the class that it names as module:Class, or a `Task`."""
    module, _, name = str(table.get("kind", "")).partition(":")
    kind = getattr(importlib.import_module(module), name) if module else Task
    return kind.from_json(table)


@functools.lru_cache(maxsize=2)
def _agent(spec: RunSpec) -> Agent:
    """Built once for all blocks that a process does of a method: the next ones are compiled."""
    return spec.build()


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
