"""Blocks: the seeds of a run, cut into tasks by a rule that knows no machine, and merged again.

A seed alone and among others agree to rounding only, so the cut must not depend on who does it: the
same blocks on two cores and on a cluster give the same digits.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.running.cpu_affinity import cores as cores
from evenhand.experiments.running.local_processes import LocalProcesses
from evenhand.experiments.running.tasks import BlockFailed, Executor, Task, run_tasks

if TYPE_CHECKING:
    from evenhand.experiments.running.runs import Progress, Run

# Seeds side by side share what it costs to compile a method; apart they can be spread. Networks:
# compiling is worth it from about five seeds on, and two cores are common. Tables: it is all they
# cost, and hundreds run side by side in little more time than one.
NETWORKS_A_BLOCK, LEAST_BLOCKS = 5, 2
TABLES_A_BLOCK = 100

Point = Callable[[int, float], None]  # a step of a curve, and the mean score there


def build(config: dict[str, Any]) -> Any:
    """The agent that a configuration describes."""
    from evenhand.envs import ENVIRONMENTS
    from evenhand.experiments.recipes.deep_recipes import deep_learner
    from evenhand.experiments.recipes.script_mistakes import with_script_mistakes
    from evenhand.experiments.recipes.tabular_recipes import tabular_learner
    from evenhand.fairness.scheme_file import from_table
    from evenhand.learn.proposals import PROPOSALS
    from evenhand.memory.memory_file import memory_from_table

    environment = from_table(config["environment"], ENVIRONMENTS, "environment")
    varied: dict[str, Any] = {}
    if config.get("memory") is not None:
        varied["memory"] = memory_from_table(config["memory"])
    if config.get("proposal") is not None:
        varied["proposal"] = from_table(config["proposal"], PROPOSALS, "proposal")
    what = environment, config["method"], config["recipe"]
    if not config.get("deep"):
        return tabular_learner(*what, **varied)
    agent = deep_learner(*what, **varied)
    settings = dict(config.get("settings") or {})
    if settings.pop("script_mistakes", False):
        settings["problem"] = with_script_mistakes(agent.problem)
    return replace(agent, **settings) if settings else agent


def split_into_tasks(config: dict[str, Any], path: str | os.PathLike[str]) -> list[Task]:
    """The tasks of a run: path.block0, path.block1, …; the file itself where it is whole."""
    path = Path(path)
    number = len(config["seeds"])
    if config.get("deep"):
        blocks = max(min(LEAST_BLOCKS, number), math.ceil(number / NETWORKS_A_BLOCK))
    else:
        blocks = math.ceil(number / TABLES_A_BLOCK)
    if os.path.exists(path) or (blocks == 1 and not config.get("deep")):
        return [Task(config, path)]
    parts = np.array_split(config["seeds"], blocks)
    return [
        Task({**config, "seeds": part.tolist()}, Path(f"{path}.block{k}"))
        for k, part in enumerate(parts)
    ]


def block_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files in which blocks were saved on the way."""
    path = Path(path)
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.block*"))


def train_in_blocks(
    config: dict[str, Any],
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[], Any] | None = None,
    executor: Executor | None = None,
    point: Point | None = None,
) -> Run:
    """Train with the seeds spread over the cores; `meanwhile` is done while they are busy.

    The blocks are saved beside `path` and go on from there. If it is interrupted: what there is.
    `point` is told every point of the curve.
    """
    with contextlib.ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "run"
        tasks = split_into_tasks(config, path)
        together = MeanProgress(tasks, progress or (lambda *_: None))
        points = CurvePoints(tasks, point or (lambda *_: None))

        def heard(*now: Any) -> None:
            together(*now)
            points(*now)

        try:
            run_tasks(tasks, executor or LocalProcesses(), heard, meanwhile)
        except KeyboardInterrupt:
            if not all(task.path.exists() for task in tasks):
                raise
        return merge(config, [saved(task) for task in tasks])


class MeanProgress:
    """How far some tasks are together: the mean of their steps and, by seeds, of their scores."""

    def __init__(self, tasks: Sequence[Task], progress: Progress) -> None:
        self.weights = [len(task.config["seeds"]) for task in tasks]
        self.progress = progress
        self.latest: dict[int, tuple[int, int, float]] = {}

    def __call__(self, k: int, *now: Any) -> None:
        self.latest[k] = now
        known = dict(self.latest)  # others may be telling of theirs
        done = sum(one[0] * self.weights[j] for j, one in known.items()) / sum(self.weights)
        weights = [self.weights[j] for j in known]
        score = np.average([one[2] for one in known.values()], weights=weights)
        self.progress(int(done), now[1], float(score))


class CurvePoints:
    """The points of a curve, each told once and in order, as soon as all tasks have come to it.

    What the tasks had saved before is told first.
    """

    def __init__(self, tasks: Sequence[Task], tell: Point) -> None:
        self.weights = [len(task.config["seeds"]) for task in tasks]
        self.tell, self.told = tell, 0
        self.scores: dict[int, dict[int, float]] = {}  # of each step, as far as they are known
        self.lock = threading.Lock()  # tasks tell of theirs at the same time
        for k, task in enumerate(tasks):
            run = task.saved()
            if run is not None:
                for step, scores in zip(run.steps, run.scores, strict=True):
                    self(k, int(step), task.config["steps"], float(scores.mean()))

    def __call__(self, k: int, step: int, of: int, score: float) -> None:
        with self.lock:
            known = self.scores.setdefault(step, {})
            known[k] = score
            if len(known) == len(self.weights) and step > self.told:
                self.told = step
                self.tell(
                    step, float(np.average([known[j] for j in sorted(known)], weights=self.weights))
                )


def saved(task: Task) -> Run:
    """What a task came to."""
    run = task.saved()
    if run is None:
        raise BlockFailed(f"{task.path} is gone, and with it {task.name}: run the command again.")
    return run


def merge(config: dict[str, Any], parts: Iterable[Run]) -> Run:
    """The runs of the blocks as one, as far as all of them have come. No seed is in it twice."""
    from evenhand.experiments.running.runs import Run

    parts = list(parts)
    seeds = [seed for part in parts for seed in part.config["seeds"]]
    if seeds != list(config["seeds"]):
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
    return Run(config, learners, measures, seconds, compiling, parts[0].versions)
