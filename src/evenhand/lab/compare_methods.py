"""Methods side by side: the same environment steps for each, and the exact optimum as yardstick."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evenhand._util.files import write_whole
from evenhand.decide.policies import RulePolicy, rule_for
from evenhand.envs import Act, Environment, Random, TurnTaking
from evenhand.errors import BadParameter, CannotWrite
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import WelfareFunction
from evenhand.lab.executors import (
    Executor,
    LocalProcesses,
    MeanProgress,
    Task,
    TaskProgress,
    merge,
    run_tasks,
    split_into_tasks,
)
from evenhand.lab.recipes import deep_methods, tabular_methods
from evenhand.lab.reference_scores import ReferenceScores, sampled, yardstick
from evenhand.lab.run_spec import RunSpec, Setting
from evenhand.lab.runs import FINAL_EPISODES, Run, versions
from evenhand.lab.statistics import estimate, median_steps, steps_to
from evenhand.lab.training import check_memory_fits
from evenhand.learn.imagined_memories import Proposal
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.memory.memory import Full, Memory
from evenhand.planning import regret
from evenhand.planning.evaluation import evaluate
from evenhand.planning.table import MEMORY_LIMIT
from evenhand.problem.problem import Problem

HARD_CODED = ("oracle", "random")
UNTRAINED = "untrained"  # the networks of FairQCM before they learned anything: a control
RULE_TABLE = 1 << 27  # bytes; what a rule remembers may have too many values to list
RULE_EPISODES = 2_000  # of each seed, where the score of a rule is sampled
EVALUATIONS = 100  # how many times a run is evaluated, at even distances
LEVELS = (0.9, 0.95, 0.99)

Progress = Callable[[str, int, int, float], None]  # method, steps done, of how many, mean score


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Methods compared on one environment; `spec` is FairQCM's run, which the others share."""

    spec: RunSpec
    against: ReferenceScores
    methods: dict[str, Run]

    @property
    def optimum(self) -> float | None:
        return self.against.optimum

    @property
    def random(self) -> float:
        return self.against.random

    def to_json(self) -> dict[str, Any]:
        exact = "exact undiscounted score of the greedy policy, ties broken at random"
        settings = self.spec.to_json()
        del settings["method"]  # of each there is
        drawn = "mean undiscounted score of 100 greedy episodes, of 1,000 at the end"
        return {
            "settings": settings,
            "versions": versions(),
            "optimum": self.optimum,
            "random": self.random,
            "evaluation": drawn if self.spec.deep else exact,
            "methods": {name: summarise(one, self.against) for name, one in self.methods.items()},
        }

    def curves(self) -> str:
        """Every evaluation of every seed as CSV, a row each; what does not learn has no loss."""
        names = list(dict.fromkeys(m for result in self.methods.values() for m in result.measures))
        rows = (
            (name, seed, int(steps), *(_cell(result.measures.get(m), k, place) for m in names))
            for name, result in self.methods.items()
            for k, steps in enumerate(result.steps)
            for place, seed in enumerate(self.spec.seeds)
        )
        return _csv(("method", "seed", "steps", *names), rows)

    def table(self) -> str:
        """The summary of each method as CSV, a row each."""
        columns = (
            *("iqm", "interval", "mean", "regret", "share_of_the_way", "not_wasted", "achieved"),
            *("seconds", "compile_seconds"),
        )
        rows = []
        for name, summary in self.to_json()["methods"].items():
            cells = [summary.get(column) for column in columns]
            reached = [
                median_steps(summary.get("steps_to", {}).get(f"{share:.0%}", []))
                for share in LEVELS
            ]
            rows.append((name, cells[0], *cells[1], *cells[2:], *reached))
        levels = (f"median_steps_to_{share:.0%}" for share in LEVELS)
        heading = ("method", "iqm", "interval_low", "interval_high", *columns[2:], *levels)
        return _csv(heading, rows)


def summarise(run: Run, against: ReferenceScores) -> dict[str, Any]:
    """What a method reached and what it took, in words and numbers that JSON has."""
    iqm, *interval = estimate(run.final)
    answer: dict[str, Any] = {
        "scores": run.final.tolist(),
        "mean": float(run.final.mean()),
        "iqm": iqm,
        "interval": interval,
        "not_wasted": float(run.kept[-1].mean()),
    }
    if against.optimum is not None:
        answer["regret"], answer["share_of_the_way"] = regret(iqm, against.optimum, against.random)
        answer["steps_to"] = {
            f"{share:.0%}": steps_to(run.scores >= against.level(share), run.steps)
            for share in LEVELS
        }
    if "achieved" in run.measures:
        answer["achieved"] = float(run.measures["achieved"][-1].mean())
    times = {"seconds": run.seconds, "compile_seconds": run.compile_seconds}
    return answer | {name: round(value, 3) for name, value in times.items()}


def _cell(measure: Any, evaluation: int, place: int) -> float | None:
    return None if measure is None else measure[evaluation, place]


def compare(
    environment: Environment,
    methods: Sequence[str],
    *,
    recipe: str = "paper",
    seeds: int = 10,
    seed: int = 0,
    steps: int = 100_000,
    deep: bool = False,
    out: Path | None = None,
    memory: Memory | None = None,
    proposal: Proposal | None = None,
    scheme: FairnessScheme | None = None,
    settings: Mapping[str, Setting] | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> MethodComparison:
    """Run every method with every seed, or finish what an earlier call left in `out`.

    `memory` and `proposal` are FairQCM's, in place of those of the recipe; `scheme` is in place of
    the environment's own. `settings` are those of
    deep agents, in place of the recipe's. `executor` is where the work is done: processes on all
    cores of this machine by default.
    """
    _require_methods(environment, methods, deep, recipe)
    if steps < EVALUATIONS:
        raise BadParameter(f"steps is {steps}: at least {EVALUATIONS} are needed.")
    every = steps // EVALUATIONS
    shared = RunSpec(
        environment,
        "fairqcm",
        tuple(range(seed, seed + seeds)),
        steps=every * EVALUATIONS,
        every=every,
        recipe=recipe,
        deep=deep,
        memory=memory,
        proposal=proposal,
        scheme=scheme,
        settings=settings or {},
    )
    folder = _folder(out)
    rules = {method: rule_for(environment, method) for method in methods}
    unlearned = (*HARD_CODED, UNTRAINED)
    fixed = [method for method in methods if method in unlearned or rules[method] is not None]
    learned = [shared.for_method(method) for method in methods if method not in fixed]
    for spec in learned:
        # What is wrong is found here, not in another process.
        check_memory_fits(spec, spec.build(), side_by_side=1)
    results: dict[str, Run] = {}

    def meanwhile() -> None:
        """What takes little, while others are busy."""
        yardstick(environment, scheme)
        for method in methods:
            if method == UNTRAINED:
                results[method] = _untrained(shared)
            elif method in fixed:
                results[method] = _hard_coded(shared.for_method(method), rules[method])

    with contextlib.ExitStack() as stack:
        where = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tasks = {
            spec.method: split_into_tasks(spec, where / f"{spec.method}.{recipe}.run")
            for spec in learned
        }
        everything = [task for some in tasks.values() for task in some]
        run_tasks(everything, executor or LocalProcesses(), _by_method(tasks, progress), meanwhile)
        for spec in learned:
            # A result is its measures; what was learned stays in the files.
            parts = [replace(task.result(), learners={}) for task in tasks[spec.method]]
            results[spec.method] = merge(spec, parts)
    results = {method: results[method] for method in methods}
    comparison = MethodComparison(shared, yardstick(environment, scheme), results)
    if folder is not None:
        write_whole(folder / "results.json", json.dumps(comparison.to_json(), indent=2).encode())
        write_whole(folder / "curves.csv", comparison.curves().encode())
        write_whole(folder / "table.csv", comparison.table().encode())
    return comparison


def _by_method(tasks: Mapping[str, Sequence[Task]], progress: Progress | None) -> TaskProgress:
    """The progress of the tasks, reported for the method that each belongs to."""
    report = progress or (lambda *_: None)
    owners = []
    for method, some in tasks.items():
        together = MeanProgress(some, functools.partial(report, method))
        owners += [(together, k) for k in range(len(some))]

    def on_progress(k: int, *now: Any) -> None:
        together, place = owners[k]
        together(place, *now)

    return on_progress


def all_methods(environment: Environment, deep: bool, recipe: str = "paper") -> tuple[str, ...]:
    """What can be compared on an environment."""
    hard_coded = HARD_CODED if environment.takes_turns else ("random",)
    learned = deep_methods(environment, recipe) if deep else tabular_methods(environment, recipe)
    return (*learned, *hard_coded)


def _require_methods(
    environment: Environment, methods: Sequence[str], deep: bool, recipe: str
) -> None:
    if not deep and environment.table_size() is None:
        raise BadParameter(
            f"{type(environment).__name__} has too many states for tables: compare networks "
            "(deep=True)."
        )
    known = (*all_methods(environment, deep, recipe), *((UNTRAINED,) if deep else ()))
    for method in methods:
        if method not in known and rule_for(environment, method) is None:
            raise BadParameter(
                f"there is no method {method!r}: there are {', '.join(known)}, and rules such as "
                "least_served."
            )


def _csv(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(heading)
    writer.writerows(rows)
    return text.getvalue()


def _folder(out: Path | None) -> Path | None:
    if out is None:
        return None
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"the folder {out} cannot be made: {error.strerror}.") from None
    return out


def untrained_scores(spec: RunSpec) -> dict[str, np.ndarray]:
    """What the networks of each seed measure before they have learned anything."""
    agent = spec.build()
    learners = start_learners(agent, seed_keys(spec.seeds))
    measured = jax.device_get(agent.evaluate(learners, FINAL_EPISODES))
    return {name: np.asarray(values, float) for name, values in measured._asdict().items()}


def _untrained(spec: RunSpec) -> Run:
    started = time.perf_counter()
    return _flat(spec.for_method(UNTRAINED), untrained_scores(spec), started)


def _flat(spec: RunSpec, measures: Mapping[str, Any], started: float) -> Run:
    """The run of what does not learn: it is the same at every time."""
    shape = (EVALUATIONS, len(spec.seeds))
    curves = {name: np.broadcast_to(value, shape) for name, value in measures.items()}
    return Run(spec, {}, curves, time.perf_counter() - started)


def _hard_coded(spec: RunSpec, rule: RulePolicy | None) -> Run:
    """A policy that does not learn, the same for every seed if it is exact."""
    started = time.perf_counter()
    environment, method = spec.environment, spec.method
    policy: Act = rule or (TurnTaking() if method == "oracle" else Random(environment.num_actions))
    memory = Full() if rule is None else rule.memory()
    scheme = environment.default_scheme() if spec.scheme is None else spec.scheme
    problem = Problem(environment, scheme, memory)
    measures: dict[str, Any]
    if spec.deep:
        # Episodes of its own for each seed, so that their spread says how sure the score is.
        episodes = FINAL_EPISODES if rule is None else RULE_EPISODES
        several = [sampled(problem, policy, seed, episodes) for seed in spec.seeds]
        names = several[0]._fields
        measures = {k: np.array([float(getattr(one, k)) for one in several]) for k in names}
    else:
        room = MEMORY_LIMIT if rule is None else RULE_TABLE
        both = (problem, _counting(environment, memory))
        score, kept = (evaluate(one, policy, memory_limit=room).score for one in both)
        measures = {"score": score, "kept": kept}
    return _flat(spec, measures, started)


def _counting(environment: Environment, memory: Memory) -> Problem:
    """A problem whose score is the doughnuts that were not wasted: 1 per step, overridden by 0."""
    return Problem(environment, anytime(WelfareFunction(_one), Total()), memory)


def _one(statuses: Any) -> Any:
    return statuses[0] * 0.0 + 1.0
