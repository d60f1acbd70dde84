"""Blocks: the seeds of a run, cut into tasks by a rule that knows no machine, and merged again.

A seed alone and among others agree to rounding only, so the cut must not depend on where the work
is done: the same blocks on two cores and on a cluster give the same digits.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.running.cpu_affinity import cores as cores
from evenhand.experiments.running.local_processes import LocalProcesses
from evenhand.experiments.running.run_spec import RunSpec
from evenhand.experiments.running.tasks import BlockFailed, Executor, Task, run_tasks

if TYPE_CHECKING:
    from evenhand.experiments.running.runs import Progress, Run

# Seeds side by side share what it costs to compile a method; apart they can be spread. Networks:
# compiling is worth it from about five seeds on, and two cores are common. Tables: it is all they
# cost, and hundreds run side by side in little more time than one.
NETWORKS_A_BLOCK, LEAST_BLOCKS = 5, 2
TABLES_A_BLOCK = 100

Point = Callable[[int, float], None]  # a step of a curve, and the mean score there


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
        return merge(spec, [saved(task) for task in tasks])


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


def saved(task: Task) -> Run:
    """What a task came to."""
    run = task.saved()
    if run is None:
        raise BlockFailed(f"{task.path} is gone, and with it {task.name}: run the command again.")
    return run


def merge(spec: RunSpec, parts: Iterable[Run]) -> Run:
    """The runs of the blocks as one, as far as all of them have come. No seed is in it twice."""
    from evenhand.experiments.running.runs import Run

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
