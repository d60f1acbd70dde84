"""Methods side by side: the same environment steps for each, and the exact optimum as yardstick."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import __version__
from evenhand.envs import Doughnuts, Environment, Random, TurnTaking
from evenhand.envs.names import ENVIRONMENTS
from evenhand.errors import BadParameter, CannotWrite
from evenhand.experiments.runs import Run, train
from evenhand.experiments.tabular import MEMORY_OF, PROPOSALS, tabular_learner
from evenhand.files import write_whole
from evenhand.interval import bootstrap_interval, interquartile_mean
from evenhand.learn.proposals import Proposal
from evenhand.memory import MEMORIES, Memory
from evenhand.plan import evaluate, plan, regret
from evenhand.problem import Problem
from evenhand.scheme import anytime
from evenhand.scheme_file import to_table
from evenhand.temporal import Total
from evenhand.welfare import WelfareFunction

HARD_CODED = ("oracle", "random")
EVALUATIONS = 100  # how many times a run is evaluated, at even distances

Progress = Callable[[str, int, int, float], None]  # method, steps done, of how many, mean score


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What one method reached: a score a seed, with how it got there."""

    method: str
    scores: np.ndarray  # [seed]
    curve: np.ndarray  # [checkpoint, seed]
    kept: np.ndarray  # [checkpoint, seed]
    steps: np.ndarray  # [checkpoint]
    seconds: float
    compile_seconds: float

    def summary(self, optimum: float, random: float) -> dict[str, Any]:
        iqm = float(interquartile_mean(self.scores))
        lost, share = regret(iqm, optimum, random)
        rng = np.random.default_rng(0)
        many = len(self.scores) > 1
        interval = bootstrap_interval(self.scores, rng, interquartile_mean) if many else (iqm, iqm)
        return {
            "scores": self.scores.tolist(),
            "iqm": iqm,
            "interval": list(interval),
            "regret": lost,
            "share_of_the_way": share,
            "not_wasted": float(self.kept[-1].mean()),
            "steps_to": {
                f"{level:.0%}": self.steps_to(level * optimum) for level in (0.9, 0.95, 0.99)
            },
            "seconds": round(self.seconds, 3),
            "compile_seconds": round(self.compile_seconds, 3),
        }

    def steps_to(self, score: float) -> list[int | None]:
        """For each seed, the steps from which on every evaluation reaches the score."""
        reached = self.curve >= score
        stays = np.logical_and.accumulate(reached[::-1], axis=0)[::-1]
        first = stays.argmax(axis=0)
        return [int(self.steps[k]) if stays[-1, seed] else None for seed, k in enumerate(first)]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared on one environment."""

    settings: dict[str, Any]
    optimum: float
    random: float
    methods: dict[str, MethodResult]

    def to_json(self) -> dict[str, Any]:
        return {
            "settings": self.settings,
            "optimum": self.optimum,
            "random": self.random,
            "evaluation": "exact undiscounted score of the greedy policy, ties broken at random",
            "methods": {
                name: result.summary(self.optimum, self.random)
                for name, result in self.methods.items()
            },
        }

    def curves(self) -> str:
        """Every evaluation of every seed as CSV, a row each."""
        rows = (
            (name, seed, int(steps), result.curve[k, seed], result.kept[k, seed])
            for name, result in self.methods.items()
            for k, steps in enumerate(result.steps)
            for seed in range(result.curve.shape[1])
        )
        return _csv(("method", "seed", "steps", "score", "not_wasted"), rows)

    def table(self) -> str:
        """The summary of each method as CSV, a row each."""
        columns = ("iqm", "interval", "regret", "share_of_the_way", "not_wasted", "seconds")
        rows = []
        for name, summary in self.to_json()["methods"].items():
            cells = [summary[column] for column in columns]
            rows.append((name, cells[0], *cells[1], *cells[2:]))
        heading = ("method", "iqm", "interval_low", "interval_high", *columns[2:])
        return _csv(heading, rows)


def compare(
    environment: Environment,
    methods: Sequence[str],
    *,
    recipe: str = "paper",
    seeds: int = 10,
    seed: int = 0,
    steps: int = 100_000,
    out: Path | None = None,
    memory: Memory | None = None,
    proposal: Proposal | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run every method with every seed, or finish what an earlier call left in `out`.

    `memory` and `proposal` are FairQCM's, in place of those of the recipe.
    """
    if not isinstance(environment, Doughnuts):
        raise BadParameter(
            f"tabular methods are compared on doughnuts, and {type(environment).__name__} is no "
            "such world."
        )
    known = (*MEMORY_OF, *HARD_CODED)
    for method in methods:
        if method not in known:
            raise BadParameter(f"there is no method {method!r}: there are {', '.join(known)}.")
    if steps < EVALUATIONS:
        raise BadParameter(f"steps is {steps}: at least {EVALUATIONS} are needed.")
    every = steps // EVALUATIONS
    settings = {
        "version": __version__,
        "environment": to_table(environment, ENVIRONMENTS),
        "recipe": recipe,
        "seeds": list(range(seed, seed + seeds)),
        "steps": every * EVALUATIONS,
        "every": every,
        "memory": None if memory is None else to_table(memory, MEMORIES),
        "proposal": None if proposal is None else to_table(proposal, PROPOSALS),
    }
    folder = _folder(out)
    found = plan(Problem(environment, environment.default_scheme()))
    results = {}
    for method in methods:
        if method in HARD_CODED:
            results[method] = _hard_coded(environment, method, settings)
            continue
        # A baseline is its memory, and imagines nothing: only FairQCM can be varied.
        varied = {"memory": memory, "proposal": proposal} if method == "fairqcm" else {}
        config = {**settings, "method": method}
        if not varied:
            config |= {"memory": None, "proposal": None}
        learner = tabular_learner(environment, method, recipe, **varied)  # type: ignore[arg-type]
        run = train(
            learner,
            config,
            None if folder is None else folder / f"{method}.{recipe}.run",
            None if progress is None else lambda *at, name=method: progress(name, *at),
        )
        results[method] = _result(method, run)
    comparison = Comparison(settings, found.value, found.random_value(), results)
    if folder is not None:
        write_whole(folder / "results.json", json.dumps(comparison.to_json(), indent=2).encode())
        write_whole(folder / "curves.csv", comparison.curves().encode())
        write_whole(folder / "table.csv", comparison.table().encode())
    return comparison


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


def _result(method: str, run: Run) -> MethodResult:
    return MethodResult(
        method, run.scores[-1], run.scores, run.kept, run.steps, run.seconds, run.compile_seconds
    )


def _hard_coded(environment: Environment, method: str, settings: dict[str, Any]) -> MethodResult:
    """A policy that does not learn has the same exact score for every seed and at every time."""
    started = time.perf_counter()
    policy = TurnTaking() if method == "oracle" else Random(environment.num_actions)
    problem = Problem(environment, environment.default_scheme())
    score = evaluate(problem, policy).score
    kept = evaluate(_counting(environment), policy).score
    shape = (EVALUATIONS, len(settings["seeds"]))
    steps = (np.arange(EVALUATIONS) + 1) * settings["every"]
    took = time.perf_counter() - started
    scores = np.full(shape, score)
    return MethodResult(method, scores[-1], scores, np.full(shape, kept), steps, took, 0.0)


def _counting(environment: Environment) -> Problem:
    """The problem whose score is how many doughnuts were not wasted: 1 a step, overridden by 0."""
    return Problem(environment, anytime(WelfareFunction(_one), Total()))


def _one(statuses: Any) -> Any:
    return statuses[0] * 0.0 + 1.0
