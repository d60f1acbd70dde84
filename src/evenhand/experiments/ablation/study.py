"""Learners trained with their scores on the way, one file for each, so that it can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.bootstrap import bootstrap_interval
from evenhand._util.saved_record import reading_saved
from evenhand.experiments.ablation.simple_rules import RuleScore, rule_scores
from evenhand.experiments.ablation.studied_problems import STUDIED, Studied
from evenhand.experiments.ablation.variants import VARIANTS, first_alike
from evenhand.experiments.running.compare_methods import MethodResult
from evenhand.experiments.running.reference_scores import Yardstick, yardstick
from evenhand.experiments.running.rows_on_disk import (
    KIND,
    Row,
    kept_row,
    read_kept,
    write_kept,
)
from evenhand.learn.seeds import seed_keys, start_learners

if TYPE_CHECKING:
    from jaxtyping import Float

EVALUATIONS = 15
MOST_EPISODES = 1000  # that an evaluation is the mean of
DECISIONS = 15_000  # of an evaluation: fewer episodes where they are long
QUICK = 10  # a quick study has as many times fewer steps
Listener = Callable[[str, str], None]  # a problem, and what is being done there


@dataclass(frozen=True, eq=False)
class Trained:
    """One variant on one problem: scores of all seeds before learning and on the way."""

    steps: Float[np.ndarray, " evaluation"]
    scores: Float[np.ndarray, "evaluation seed"]
    seconds: float

    @property
    def final(self) -> Float[np.ndarray, " seed"]:
        return self.scores[-1]

    @property
    def untrained(self) -> Float[np.ndarray, " seed"]:
        return self.scores[0]

    def interval(self) -> tuple[float, float]:
        """Of the mean of the final scores."""
        return bootstrap_interval(self.final, np.random.default_rng(0))

    def steps_to(self, level: float) -> list[int | None]:
        """For each seed, the steps from which on every evaluation is at a level."""
        result = MethodResult("", {"score": self.scores}, self.steps, self.seconds, 0.0)
        return result.steps_to(level)


@dataclass(frozen=True, eq=False)
class ProblemStudy:
    """What came of one problem: what there is to be had, the rules, and the learners."""

    name: str
    studied: Studied
    against: Yardstick
    rules: list[RuleScore]
    variants: dict[str, Trained | str]  # or the variant of which it is no other
    whole: Trained | None  # the default for as long as it learns where nothing is said

    @property
    def optimum(self) -> float:
        assert self.against.optimum is not None
        return self.against.optimum


@dataclass(frozen=True)
class Study:
    """All problems and variants, in a folder from which what is done is read.

    Args:
        folder: Where each finished part is written.
        seeds: How many learners of each variant.
        quick: A tenth of the steps: to see it work, not to judge.
        names: Which problems; by default all of them.
    """

    folder: Path
    seeds: int = 10
    quick: bool = False
    names: tuple[str, ...] = tuple(STUDIED)

    def run(self, listener: Listener = lambda *_: None) -> list[ProblemStudy]:
        """Everything, variant by variant, so that what is stopped has the most telling first."""
        for variant in VARIANTS:
            for name in self.names:
                listener(name, variant)
                self.trained(name, variant)
        for name in self.names:
            self.whole(name)
        return [self.of(name) for name in self.names]

    def of(self, name: str) -> ProblemStudy:
        """One problem; what is not in the folder yet is done now."""
        studied = STUDIED[name]
        return ProblemStudy(
            name,
            studied,
            yardstick(studied.environment),
            self.rules(name),
            {variant: self.trained(name, variant) for variant in VARIANTS},
            self.whole(name),
        )

    def rules(self, name: str) -> list[RuleScore]:
        """The scores of the simple rules, best first."""
        path = self.folder / f"{_file(name)}.rules.json"
        if not path.exists():
            scores = rule_scores(STUDIED[name].problem)
            write_kept(path, [[one.name, one.score, *one.interval] for one in scores])
        kept = read_kept(path)
        with reading_saved(path, KIND):
            return [
                RuleScore(str(rule), float(score), (float(low), float(high)))
                for rule, score, low, high in kept
            ]

    def trained(self, name: str, variant: str) -> Trained | str:
        """One variant on one problem; the name of another where it is the same learner."""
        path = self.folder / f"{_file(name)}.{_file(variant)}.json"
        studied = STUDIED[name]
        steps = self._whole_evaluations(studied.steps)
        alike = first_alike(variant, studied.problem, steps)
        return self._cell(path, name, variant, steps) if alike == variant else alike

    def whole(self, name: str) -> Trained | None:
        """The default recipe for its default number of steps, where looking ahead pays."""
        studied = STUDIED[name]
        if not studied.looks_ahead:
            return None
        path = self.folder / f"{_file(name)}.whole.json"
        return self._cell(path, name, "default", self._whole_evaluations(studied.default_steps))

    def _cell(self, path: Path, name: str, variant: str, steps: int) -> Trained:
        settings = {"seeds": self.seeds, "steps": steps, "episodes": episodes_of(name)}
        found = kept_learners(
            path, settings, (variant,), lambda: {variant: train(name, variant, self.seeds, steps)}
        )
        return found[variant]

    def _whole_evaluations(self, steps: int) -> int:
        """The number of steps, or a tenth of it, that evaluations divide evenly."""
        return steps // EVALUATIONS // (QUICK if self.quick else 1) * EVALUATIONS


def episodes_of(name: str) -> int:
    """How many episodes an evaluation is the mean of: hundreds of them."""
    episodes = DECISIONS // STUDIED[name].environment.horizon
    return min(MOST_EPISODES, max(1, episodes // 100) * 100)


def train(name: str, variant: str, seeds: int, steps: int) -> Trained:
    """Train the learners of a variant, evaluating them before and on the way."""
    started = time.perf_counter()
    agent, episodes = VARIANTS[variant](STUDIED[name].problem, steps), episodes_of(name)
    learners = start_learners(agent, seed_keys(range(seeds)))

    def scores() -> Iterator[Any]:
        nonlocal learners
        yield agent.evaluate(learners, episodes).score
        for _ in range(EVALUATIONS):
            learners = agent.train_steps(learners, steps // EVALUATIONS)
            yield agent.evaluate(learners, episodes).score

    curve = np.array([np.asarray(one, dtype=np.float64) for one in scores()])
    every = np.arange(EVALUATIONS + 1) * (steps // EVALUATIONS)
    return Trained(every, curve, time.perf_counter() - started)


def _file(name: str) -> str:
    return name.replace(" ", "-")


def kept_learners(
    path: Path,
    settings: dict[str, int],
    names: tuple[str, ...],
    make: Callable[[], dict[str, Trained]],
) -> dict[str, Trained]:
    """What a file says was trained with these settings; otherwise trained now and written.

    Args:
        path: Where it is kept.
        settings: What it was trained with.
        names: Who has to be among them.
        make: Trains them.
    """

    def trained(row: Row) -> dict[str, Trained]:
        found = {name: _learner(one) for name, one in row["found"].items()}
        return {name: found[name] for name in names}

    def row() -> Row:
        return {"found": {name: _plain(one) for name, one in make().items()}}

    return trained(kept_row(path, settings, row, trained))


def _plain(one: Trained) -> Row:
    return {
        "steps": one.steps.tolist(),
        "scores": one.scores.tolist(),
        "seconds": round(one.seconds, 1),
    }


def _learner(row: Row) -> Trained:
    steps, scores = np.array(row["steps"]), np.array(row["scores"], dtype=np.float64)
    if scores.ndim != 2 or steps.shape != scores.shape[:1]:
        raise ValueError("there must be a score of each seed for each number of steps")
    return Trained(steps, scores, float(row["seconds"]))
