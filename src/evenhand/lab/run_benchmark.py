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
    ) -> Task:
        sizes = self.steps, self.every, self.episodes, self.final_episodes
        trial = Trial(pair, method, setting, seeds, *sizes)
        # The file is found by what is run in it, so that other settings have other files.
        digest = hashlib.sha256(trial.in_words().encode()).hexdigest()
        readable = re.sub(r"[^A-Za-z0-9_]+", "-", f"{pair.name}-{method}")[:60]
        return Task(trial, self.folder / "runs" / f"{readable}-{digest[:12]}.run")


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
        (folder / "runs").mkdir(exist_ok=True)  # before a cluster brings back the first
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
    references: dict[str, ReferenceScores] = {}

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


def _trial(task: Task) -> Trial:
    assert isinstance(task.spec, Trial)
    return task.spec


def _kind(method: str) -> type[BenchmarkMethod]:
    return BENCHMARK_METHODS.get(method)


def _searched(
    pairs: Sequence[BenchmarkPair], methods: Sequence[str], budget: _Budget, search: int
) -> dict[tuple[str, str], list[Task]]:
    """The trials of the search, by world and method: on the first scheme of each world."""
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


def _best(tasks: Sequence[Task]) -> dict[str, Any]:
    """The setting with the best mean score at the end; of equals, the first."""
    scores = [float(task.result().scores[-1].mean()) for task in tasks]
    return dict(_trial(tasks[int(np.argmax(scores))]).setting)


class _Together:
    """How far all trials are together."""

    def __init__(self, progress: Progress, number: int) -> None:
        self.progress, self.number, self.done = progress, number, set[str]()

    def run(
        self, tasks: Sequence[Task], executor: Executor, meanwhile: Callable[[], Any] | None
    ) -> None:
        def on_progress(k: int, done: int, of: int, score: float) -> None:
            if done >= of:
                self.done.add(str(tasks[k].path))
            self.progress(tasks[k].name, len(self.done), self.number)

        run_tasks(tasks, executor, on_progress, meanwhile)


def saved_reference(pair: BenchmarkPair, path: Path) -> ReferenceScores:
    """What a pair is measured against, from a file where it was found before."""

    def scores(row: Row) -> ReferenceScores:
        return ReferenceScores(row["optimum"], row["random"], note=row["note"])

    def found() -> Row:
        values = reference_of_pair(pair)
        return {"optimum": values.optimum, "random": values.random, "note": values.note}

    about = json.loads(json.dumps({"version": __version__, "pair": pair.to_json()}))
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


def _collected(
    pairs: Sequence[BenchmarkPair],
    methods: Sequence[str],
    budget: _Budget,
    tasks: Sequence[Task],
    references: dict[str, ReferenceScores],
    search: int,
) -> BenchmarkResults:
    runs, skipped = [], []
    for task in tasks:
        run, trial = task.result(), _trial(task)
        if "skipped" in run.about:
            why = run.about["skipped"]
            skipped.append({"pair": trial.pair.name, "method": trial.method, "why": why})
        else:
            runs += _runs_of(trial, run)
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
