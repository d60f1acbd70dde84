"""The benchmark: settings are searched, then every method runs on every pair and seed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._util.files import require_folder
from evenhand.benchmarking.benchmark_method import BENCHMARK_METHODS, SEARCHED, Contestant
from evenhand.benchmarking.benchmark_results import BenchmarkResults, BenchmarkRun, PairFacts
from evenhand.benchmarking.benchmark_world import BenchmarkPair
from evenhand.benchmarking.cells import CellRun, CellSpec, CellTask
from evenhand.benchmarking.reference_values import ReferenceValues, saved_reference
from evenhand.errors import BadParameter
from evenhand.experiments.running.local_processes import LocalProcesses
from evenhand.experiments.running.tasks import Executor, TaskProgress, run_tasks

SEARCH_SEEDS = (1_000_000, 1_000_001)  # apart from those that count
EVALUATIONS = 20  # of a run, at even distances

Progress = Callable[[str, int, int], None]  # what was done last, cells done, of how many


@dataclass(frozen=True)
class InThisProcess:
    """Tasks one after the other, here: for methods that other processes cannot import."""

    def open(self) -> None:
        pass

    def run(self, tasks: Sequence[Any], on_progress: TaskProgress, stop: threading.Event) -> None:
        for k, task in enumerate(tasks):
            if stop.is_set():
                return
            task.work(lambda *now, k=k: on_progress(k, *now))


@dataclass(frozen=True)
class _Budget:
    """What every run is given."""

    seeds: tuple[int, ...]
    steps: int
    every: int
    episodes: int
    final_episodes: int
    folder: Path

    def task(
        self, pair: BenchmarkPair, method: str, setting: dict[str, Any], seeds: tuple[int, ...]
    ) -> CellTask:
        spec = CellSpec(
            json.loads(json.dumps(pair.to_json())),
            pair.name,
            method,
            setting,
            seeds,
            self.steps,
            self.every,
            self.episodes,
            self.final_episodes,
        )
        # The file is found by what is run in it, so that other settings have other files.
        digest = hashlib.sha256(json.dumps(spec.to_json(), sort_keys=True).encode()).hexdigest()
        readable = re.sub(r"[^A-Za-z0-9_]+", "-", f"{pair.name}-{method}")[:60]
        return CellTask(spec, self.folder / "cells" / f"{readable}-{digest[:12]}.json")


def run_benchmark(
    pairs: Sequence[BenchmarkPair],
    methods: Sequence[str | type[Contestant]],
    *,
    seeds: int = 10,
    seed: int = 0,
    steps: int = 20_000,
    evaluations: int = EVALUATIONS,
    episodes: int = 100,
    final_episodes: int = 1000,
    search: int = SEARCHED,
    out: str | Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> BenchmarkResults:
    """Run every method on every pair, or finish what an earlier call left in `out`.

    Args:
        pairs: Worlds with their schemes: see `pairs_of`.
        methods: Names, or classes of one's own.
        seeds: How many runs of each method on each pair.
        seed: The first seed.
        steps: Decisions that each run may learn from: the same for every method.
        evaluations: How many times a run is evaluated, at even distances.
        episodes: That an evaluation is the mean of; in full hundreds, as so many are played side
            by side. In a world that is not written for JAX, networks play a fifth of them.
        final_episodes: That the last evaluation, which counts, is the mean of.
        search: How many settings of each method are tried, at most four: on the first scheme of
            each world, with two seeds of their own and all steps; the best mean score is taken.
            With 1 the first setting of each method is taken.
        out: A folder in which everything is kept as it is done, and from which it goes on.
        executor: Where the work is done; by default, processes on all cores of this machine.
        progress: Called with what was done last, how many cells are done, and of how many.
    """
    names = [_name_of(method) for method in methods]
    _require(pairs, names, steps, evaluations, search)
    for name, value in (
        ("seeds", seeds),
        ("evaluations", evaluations),
        ("episodes", episodes),
        ("final_episodes", final_episodes),
    ):
        if value < 1:
            raise BadParameter(f"{name} is {value}: it must be at least 1.")
    for name in names:  # what is wrong is found here, not in another process
        BENCHMARK_METHODS.get(name)
    if executor is None:
        executor = InThisProcess() if _only_here(names) else LocalProcesses()
    with contextlib.ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            folder = Path(out)
            require_folder(folder, "out")
            folder.mkdir(parents=True, exist_ok=True)
        (folder / "cells").mkdir(exist_ok=True)  # before a cluster brings back the first
        every = steps // evaluations
        budget = _Budget(
            tuple(range(seed, seed + seeds)),
            every * evaluations,
            every,
            episodes,
            final_episodes,
            folder,
        )
        return _run(pairs, names, budget, search, executor, progress or (lambda *_: None))


def _run(
    pairs: Sequence[BenchmarkPair],
    methods: Sequence[str],
    budget: _Budget,
    search: int,
    executor: Executor,
    progress: Progress,
) -> BenchmarkResults:
    searched = _searched(pairs, methods, budget, search)
    together = _Together(progress, sum(map(len, searched.values())) + len(pairs) * len(methods))
    references: dict[str, ReferenceValues] = {}

    def meanwhile() -> None:
        """Planned here, while others are busy."""
        for pair in pairs:
            where = budget.folder / "references" / f"{_file_name(pair.name)}.json"
            references[pair.name] = saved_reference(pair, where)

    together.run([task for some in searched.values() for task in some], executor, meanwhile)
    chosen = {key: _best(tasks) for key, tasks in searched.items()}
    tasks = [
        budget.task(
            pair,
            method,
            chosen.get((pair.world.label, method)) or _first(pair, method),
            budget.seeds,
        )
        for pair in pairs
        for method in methods
    ]
    together.run(tasks, executor, None)
    return _collected(pairs, methods, budget, tasks, references, search)


def _file_name(name: str) -> str:
    return (
        re.sub(r"[^A-Za-z0-9_]+", "-", name)[:60]
        + "-"
        + hashlib.sha256(name.encode()).hexdigest()[:8]
    )


def _first(pair: BenchmarkPair, method: str) -> dict[str, Any]:
    return _kind(method).settings_for(pair)[0]


def _kind(method: str) -> type[Contestant]:
    return BENCHMARK_METHODS.get(method)


def _searched(
    pairs: Sequence[BenchmarkPair], methods: Sequence[str], budget: _Budget, search: int
) -> dict[tuple[str, str], list[CellTask]]:
    """The cells of the search, by world and method: on the first scheme of each world."""
    first = {pair.world.label: pair for pair in reversed(pairs)}
    found = {}
    for label, pair in first.items():
        for method in methods:
            settings = _kind(method).settings_for(pair)[:search]
            if len(settings) > 1:
                found[label, method] = [
                    budget.task(pair, method, setting, SEARCH_SEEDS) for setting in settings
                ]
    return found


def _best(tasks: Sequence[CellTask]) -> dict[str, Any]:
    """The setting with the best mean score at the end; of equals, the first."""
    scores = [float(_done(task).final.mean()) for task in tasks]
    return dict(tasks[int(np.argmax(scores))].spec.setting)


def _done(task: CellTask) -> CellRun:
    run = task.saved()
    assert run is not None  # the executor came back without an error
    return run


class _Together:
    """How far all cells are together."""

    def __init__(self, progress: Progress, number: int) -> None:
        self.progress, self.number, self.done = progress, number, set[str]()

    def run(
        self, tasks: Sequence[CellTask], executor: Executor, meanwhile: Callable[[], Any] | None
    ) -> None:
        def on_progress(k: int, done: int, of: int, score: float) -> None:
            if done >= of:
                self.done.add(str(tasks[k].path))
            self.progress(tasks[k].name, len(self.done), self.number)

        run_tasks(tasks, executor, on_progress, meanwhile)  # type: ignore[arg-type]


def _collected(
    pairs: Sequence[BenchmarkPair],
    methods: Sequence[str],
    budget: _Budget,
    tasks: Sequence[CellTask],
    references: dict[str, ReferenceValues],
    search: int,
) -> BenchmarkResults:
    by_name = {pair.name: pair for pair in pairs}
    runs, skipped = [], []
    for task in tasks:
        cell = _done(task)
        if cell.skipped is not None:
            skipped.append(
                {"pair": cell.spec.name, "method": cell.spec.method, "why": cell.skipped}
            )
        else:
            runs += runs_of(cell, by_name[cell.spec.name])
    facts = {
        pair.name: PairFacts(
            json.loads(json.dumps(pair.world.table())),
            pair.scheme_name,
            pair.scheme.describe(),
            *(getattr(references[pair.name], part) for part in ("optimum", "random", "note")),
        )
        for pair in pairs
    }
    how = (
        f"at most {search} settings of each method, {len(SEARCH_SEEDS)} seeds each, on the first "
        "scheme of each world"
    )
    lines = {
        name: {
            "line": (_kind(name).__doc__ or "").split("\n")[0],
            "learns": _kind(name).learns,
        }
        for name in methods
    }
    return BenchmarkResults(
        budget.steps, facts, lines, runs, skipped, how if search > 1 else "no search"
    )


def runs_of(cell: CellRun, pair: BenchmarkPair) -> list[BenchmarkRun]:
    """The runs of a cell, one for each seed."""
    return [
        BenchmarkRun(
            cell.spec.name,
            cell.spec.method,
            seed,
            dict(cell.spec.setting),
            tuple(cell.scores[:, k].tolist()),
            welfare_of_means(pair, cell.statuses[k]),
            cell.seconds,
        )
        for k, seed in enumerate(cell.spec.seeds)
    ]


def welfare_of_means(pair: BenchmarkPair, status: np.ndarray) -> float | None:
    """SER: the welfare of the mean status at the end, where the scheme is of the end alone."""
    welfare = pair.scheme.welfare
    if not pair.long_term or welfare is None or not np.isfinite(status).all():
        return None
    if status.min(initial=np.inf) < welfare.least_status:
        return None
    value = float(welfare(np.asarray(status, dtype=float)))
    return value if np.isfinite(value) else None


def _name_of(method: str | type[Contestant]) -> str:
    if isinstance(method, str):
        return method
    known = next((name for name, cls in BENCHMARK_METHODS.classes.items() if cls is method), None)
    if known is None:
        known = getattr(method, "name", method.__name__)
        BENCHMARK_METHODS.register(known, method)
    return known


def _only_here(methods: Sequence[str]) -> bool:
    """Whether a method is defined in a script or notebook, which other processes do not have."""
    return any(_kind(name).__module__ == "__main__" for name in methods)


def _require(
    pairs: Sequence[BenchmarkPair],
    methods: Sequence[str],
    steps: int,
    evaluations: int,
    search: int,
) -> None:
    if not pairs or not methods:
        raise BadParameter("there is nothing to run: name at least one world, scheme and method.")
    if len({pair.name for pair in pairs}) < len(pairs) or len(set(methods)) < len(methods):
        raise BadParameter("a world, a scheme or a method is named twice: name each once.")
    if not 1 <= search <= SEARCHED:
        raise BadParameter(
            f"search is {search}: it must be a number of settings from 1 to {SEARCHED}."
        )
    if steps < evaluations * 5:
        raise BadParameter(
            f"steps is {steps}: at least {evaluations * 5} are needed for {evaluations} "
            "evaluations."
        )
