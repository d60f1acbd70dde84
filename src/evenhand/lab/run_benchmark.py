"""The benchmark: settings are searched, then every method runs on every pair and seed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import __version__
from evenhand._util.files import require_folder
from evenhand._util.saved import reading_saved
from evenhand.errors import BadParameter, CannotPlan
from evenhand.lab.benchmark_methods import RandomMethod
from evenhand.lab.benchmark_results import BenchmarkResults, BenchmarkRun, PairFacts
from evenhand.lab.benchmark_worlds import BenchmarkPair
from evenhand.lab.executors import Executor, InThisProcess, LocalProcesses, Task, run_tasks
from evenhand.lab.reference_scores import ReferenceScores, plan_best
from evenhand.lab.runs import Row, Run, kept_row
from evenhand.lab.trials import BENCHMARK_METHODS, SEARCHED, BenchmarkMethod, Trial

RANDOM_SEEDS = 10  # of as many episodes as a last evaluation has, where it is sampled
SEARCH_SEEDS = (1_000_000, 1_000_001)  # apart from those that count
EVALUATIONS = 20  # of a run, at even distances

Progress = Callable[[str, int, int], None]  # what was done last, trials done, of how many


def run_benchmark(
    pairs: Sequence[BenchmarkPair],
    methods: Sequence[str | type[BenchmarkMethod]],
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
        progress: Called with what was done last, how many trials are done, and of how many.
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
    kinds = [_kind(name) for name in names]  # what is wrong is found here, not in another process
    if executor is None:
        # A method that is defined in a script or notebook is not known to other processes.
        only_here = any(kind.__module__ == "__main__" for kind in kinds)
        executor = InThisProcess() if only_here else LocalProcesses()
    with contextlib.ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            folder = Path(out)
            require_folder(folder, "out")
            folder.mkdir(parents=True, exist_ok=True)
        (folder / "runs").mkdir(exist_ok=True)  # before a cluster brings back the first
        every = steps // evaluations
        budget = every * evaluations, every, episodes, final_episodes
        benchmark = _Benchmark(pairs, names, budget, search, folder, executor)
        return benchmark.run(tuple(range(seed, seed + seeds)), progress or (lambda *_: None))


@dataclass(frozen=True)
class _Benchmark:
    """What is run, and where."""

    pairs: Sequence[BenchmarkPair]
    methods: Sequence[str]
    budget: tuple[int, int, int, int]  # steps, every, episodes, final_episodes of a trial
    search: int
    folder: Path
    executor: Executor

    def run(self, seeds: tuple[int, ...], progress: Progress) -> BenchmarkResults:
        """The search, with the references meanwhile; then every method with what was found."""
        searched = self.searched()
        number = sum(map(len, searched.values())) + len(self.pairs) * len(self.methods)
        done: set[Path] = set()
        references: dict[str, ReferenceScores] = {}

        def do(tasks: Sequence[Task], meanwhile: Callable[[], Any] | None = None) -> None:
            def on_progress(k: int, at: int, of: int, score: float) -> None:
                if at >= of:
                    done.add(tasks[k].path)
                progress(tasks[k].name, len(done), number)

            run_tasks(tasks, self.executor, on_progress, meanwhile)

        def plan_them() -> None:
            for pair in self.pairs:
                references[pair.name] = saved_reference(pair, self.folder / "references")

        do([task for some in searched.values() for task in some], plan_them)
        chosen = {key: _best(tasks) for key, tasks in searched.items()}
        tasks = []
        for pair in self.pairs:
            for method in self.methods:
                setting = chosen.get((pair.world.label, method))
                first = setting or _kind(method).settings_for(pair)[0]
                tasks.append(self.task(pair, method, first, seeds))
        do(tasks)
        return self.collected(tasks, references)

    def task(
        self, pair: BenchmarkPair, method: str, setting: dict[str, Any], seeds: tuple[int, ...]
    ) -> Task:
        trial = Trial(pair, method, setting, seeds, *self.budget)
        # The file is found by what is run in it, so that other settings have other files.
        name = _file_name(f"{pair.name}-{method}", trial.in_words(), 12)
        return Task(trial, self.folder / "runs" / f"{name}.run")

    def searched(self) -> dict[tuple[str, str], list[Task]]:
        """The trials of the search, by world and method: on the first scheme of each world."""
        found = {}
        for label, pair in {pair.world.label: pair for pair in reversed(self.pairs)}.items():
            for method in self.methods:
                settings = _kind(method).settings_for(pair)[: self.search]
                if len(settings) > 1:
                    tasks = [self.task(pair, method, one, SEARCH_SEEDS) for one in settings]
                    found[label, method] = tasks
        return found

    def collected(
        self, tasks: Sequence[Task], references: dict[str, ReferenceScores]
    ) -> BenchmarkResults:
        runs, skipped = [], []
        for task in tasks:
            run, trial = task.result(), _trial(task)
            if "skipped" in run.about:
                why = run.about["skipped"]
                skipped.append({"pair": trial.pair.name, "method": trial.method, "why": why})
            else:
                with reading_saved(task.path, "run"):
                    runs += _runs_of(trial, run)
        facts = {
            pair.name: PairFacts(
                json.loads(json.dumps(pair.world.table())),
                pair.scheme_name,
                pair.scheme.describe(),
                *(getattr(references[pair.name], part) for part in ("optimum", "random", "note")),
            )
            for pair in self.pairs
        }
        how = (
            f"at most {self.search} settings of each method, {len(SEARCH_SEEDS)} seeds each, on "
            "the first scheme of each world"
        )
        lines = {
            name: {"line": (kind.__doc__ or "").split("\n")[0], "learns": kind.learns}
            for name, kind in ((name, _kind(name)) for name in self.methods)
        }
        search = how if self.search > 1 else "no search"
        return BenchmarkResults(self.budget[0], facts, lines, runs, skipped, search)


def _file_name(readable: str, whole: str, digits: int) -> str:
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_]+', '-', readable)[:60]}-{digest[:digits]}"


def _trial(task: Task) -> Trial:
    assert isinstance(task.spec, Trial)
    return task.spec


def _kind(method: str) -> type[BenchmarkMethod]:
    return BENCHMARK_METHODS.get(method)


def _best(tasks: Sequence[Task]) -> dict[str, Any]:
    """The setting with the best mean score at the end; of equals, the first."""
    scores = [float(task.result().final.mean()) for task in tasks]
    return dict(_trial(tasks[int(np.argmax(scores))]).setting)


def saved_reference(pair: BenchmarkPair, folder: Path) -> ReferenceScores:
    """What a pair is measured against, from a file where it was found before."""

    def scores(row: Row) -> ReferenceScores:
        return ReferenceScores(row["optimum"], row["random"], note=row["note"])

    def found() -> Row:
        values = reference_of_pair(pair)
        return {"optimum": values.optimum, "random": values.random, "note": values.note}

    about = json.loads(json.dumps({"version": __version__, "pair": pair.to_json()}))
    path = folder / f"{_file_name(pair.name, pair.name, 8)}.json"
    return scores(kept_row(path, about, found, scores))


def reference_of_pair(pair: BenchmarkPair) -> ReferenceScores:
    """By the planner, where it takes the world; otherwise acting at random alone, by episodes."""
    environment = pair.world.planned()
    if environment is None:
        why = "no known optimum: its law is not listed"
        return ReferenceScores(None, _random_score(pair), note=why)
    try:
        found = plan_best(environment, pair.scheme, own=pair.scheme == pair.world.own_scheme())
    except CannotPlan as error:
        return ReferenceScores(None, _random_score(pair), note=f"no known optimum: {error}")
    return ReferenceScores(found.value, found.random_value())


def _random_score(pair: BenchmarkPair) -> float:
    trial = Trial(pair, "random", {}, tuple(range(RANDOM_SEEDS)), 1, 1)
    return float(np.mean(RandomMethod.run_trial(trial, lambda *_: None).scores))


def _runs_of(trial: Trial, run: Run) -> list[BenchmarkRun]:
    """What a trial came to, one run for each seed."""
    return [
        BenchmarkRun(
            trial.pair.name,
            trial.method,
            seed,
            dict(run.spec.setting),
            tuple(run.scores[:, k].tolist()),
            run.about["welfare_of_means"][k],
            run.seconds,
        )
        for k, seed in enumerate(trial.seeds)
    ]


def _name_of(method: str | type[BenchmarkMethod]) -> str:
    if isinstance(method, str):
        return method
    known = next((name for name, cls in BENCHMARK_METHODS.classes.items() if cls is method), None)
    if known is None:
        known = getattr(method, "name", method.__name__)
        BENCHMARK_METHODS.register(known, method)
    return known


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
