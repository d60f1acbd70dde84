"""What each part of the default recipe is worth, and how learning compares with simple rules.

What imagined memories are worth to tables is asked at equal steps and at equal updates. A table is
updated once for every experience, so imagining buys updates: eight imagined memories make nine
updates of one step. So a learner that imagines nothing is also given as many steps as the other has
updates. (A network has as many updates of as large a batch either way.)
"""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.studies import QUICK, QUICK_SEEDS, Made
from evenhand._util.files import write_whole
from evenhand._util.numbers import interval_title
from evenhand._util.saved import reading_saved
from evenhand.decide.policies import rule_for
from evenhand.envs import (
    Act,
    Boosters,
    Crates,
    Doughnuts,
    Environment,
    GreedyForBank,
    Jobs,
    Lending,
    LongestWaitFirst,
    RoundRobin,
    Shifts,
    Triage,
    WaitingList,
)
from evenhand.envs.environment import OneStepAhead
from evenhand.envs.lending import Bank
from evenhand.errors import BadParameter
from evenhand.lab.recipes import deep_learner
from evenhand.lab.reference_scores import ReferenceScores, yardstick
from evenhand.lab.runs import KIND, Row, kept_row, read_kept, write_kept
from evenhand.lab.statistics import estimate, steps_to
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.networks import MLP
from evenhand.learn.imagined_memories import NoProposal
from evenhand.learn.recipe import WIDTHS, default_learner, default_steps, default_tables
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Memory, Nothing
from evenhand.planning.evaluation import evaluate
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Float

RULES_TRIED = ("least_served", "longest_wait", "half_life:2", "half_life:5", "lottery")
EPISODES = 20_000  # that the score of a rule is the mean of
NO_TABLE = 1.0  # bytes: by episodes, as tables of what some rules remember are large


class SimpleRule(NamedTuple):
    """A policy that does not learn, with what it has to see."""

    act: Act
    memory: Memory


class RuleScore(NamedTuple):
    """What a rule scores, with a 95% interval."""

    name: str
    score: float
    interval: tuple[float, float]


def simple_rules(problem: Problem) -> dict[str, SimpleRule]:
    """Every rule that can be put into the environment, and the hard-coded policies that fit it."""
    environment: Any = problem.environment
    found: dict[str, SimpleRule] = {}
    if environment.serves_by_number:
        for name in RULES_TRIED:
            policy = rule_for(environment, name)
            assert policy is not None
            found[name] = SimpleRule(policy, policy.memory())
        found["round_robin"] = SimpleRule(RoundRobin(environment.num_actions), Nothing())
    ahead = OneStepAhead(environment, problem.scheme)
    found["one_step_ahead"] = SimpleRule(ahead, ahead.memory())
    if isinstance(environment, Bank):
        found["greedy_for_bank"] = SimpleRule(GreedyForBank(environment), Nothing())
    if isinstance(environment, WaitingList):
        found["longest_wait_first"] = SimpleRule(LongestWaitFirst(environment), Nothing())
    return found


def rule_scores(problem: Problem, episodes: int = EPISODES) -> list[RuleScore]:
    """The score of every simple rule, best first.

    Args:
        problem: An environment and a scheme; the memory is that of each rule.
        episodes: How many episodes a score is the mean of.
    """
    scores = []
    for name, rule in simple_rules(problem).items():
        seen = Problem(problem.environment, problem.scheme, rule.memory)
        found = evaluate(seen, rule.act, episodes=episodes, memory_limit=NO_TABLE)
        scores.append(RuleScore(name, found.score, found.interval))
    return sorted(scores, key=lambda one: -one.score)


@dataclass(frozen=True)
class Studied:
    """A problem of the study.

    Args:
        environment: Where it is learned; its own scheme says what is fair.
        steps: How many decisions each learner takes.
        looks_ahead: Whether the best simple rule is below the optimum by construction.
    """

    environment: Environment
    steps: int
    looks_ahead: bool = False

    @property
    def default_steps(self) -> int:
        """How many decisions `evenhand train` takes where nothing is said."""
        return default_steps(self.environment.horizon)

    @property
    def problem(self) -> Problem:
        return Problem(self.environment, self.environment.default_scheme())


STUDIED: Mapping[str, Studied] = {
    "shifts": Studied(Shifts(), 6_000, looks_ahead=True),
    "crates": Studied(Crates(), 6_000, looks_ahead=True),
    "boosters": Studied(Boosters(), 6_000, looks_ahead=True),
    "triage": Studied(Triage(), 6_000, looks_ahead=True),
    "jobs": Studied(Jobs(), 6_000, looks_ahead=True),
    "doughnuts": Studied(Doughnuts(), 4_000),
    "waiting list": Studied(WaitingList((0.5, 0.4), 1.0, 3, 12), 6_000),
    "lending": Studied(Lending(), 8_000),
}


Variant = Callable[[Problem, int], DeepAgent]


def default(problem: Problem, steps: int) -> DQN:
    """The default recipe as it is."""
    return default_learner(problem, steps=steps)


def nothing_imagined(problem: Problem, steps: int) -> DQN:
    """Every experience is a real one."""
    return default_learner(problem, steps=steps, proposal=NoProposal())


def no_shaping(problem: Problem, steps: int) -> DQN:
    """A step is rewarded by all the welfare there is, and scaled by how large that is."""
    return default_learner(problem, steps=steps, shaping=False)


def no_equal_treatment(problem: Problem, steps: int) -> DQN:
    """Fully connected layers of the same widths, which treat everybody in a way of their own."""
    return default_learner(problem, steps=steps, network=MLP(WIDTHS))


def best(problem: Problem, steps: int) -> DeepAgent:
    """The recipe `best`: made by trying on doughnuts and lending, and elsewhere the default."""
    return deep_learner(_environment(problem), "fairqcm", "best", steps=steps)


def best_nothing_imagined(problem: Problem, steps: int) -> DeepAgent:
    """`best` with real experiences alone."""
    nothing = NoProposal()
    return deep_learner(_environment(problem), "fairqcm", "best", proposal=nothing, steps=steps)


def _environment(problem: Problem) -> Environment:
    assert isinstance(problem.environment, Environment)  # of all problems of the study
    return problem.environment


VARIANTS: Mapping[str, Variant] = {
    "default": default,
    "nothing imagined": nothing_imagined,
    "no shaping": no_shaping,
    "no equal treatment": no_equal_treatment,
    "best": best,
    "best, nothing imagined": best_nothing_imagined,
}


def first_alike(variant: str, problem: Problem, steps: int) -> str:
    """The first variant that is the same learner for this problem: mostly this one itself."""
    asked = VARIANTS[variant](problem, steps)
    return next(name for name, make in VARIANTS.items() if make(problem, steps) == asked)


EVALUATIONS = 15
MOST_EPISODES = 1000  # that an evaluation is the mean of
DECISIONS = 15_000  # of an evaluation: fewer episodes where they are long
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
        return estimate(self.final, np.mean)[1:]

    def steps_to(self, level: float) -> list[int | None]:
        """For each seed, the steps from which on every evaluation is at a level."""
        return steps_to(self.scores >= level, self.steps)


@dataclass(frozen=True, eq=False)
class ProblemStudy:
    """What came of one problem: what there is to be had, the rules, and the learners."""

    name: str
    studied: Studied
    against: ReferenceScores
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
    agent = VARIANTS[variant](STUDIED[name].problem, steps)
    return _curve(agent, seeds, steps, episodes=episodes_of(name))[0]


def _curve(agent: Any, seeds: int, steps: int, **evaluation: int) -> tuple[Trained, Any]:
    """The scores of an agent before learning and on the way, and its learners at the end."""
    started = time.perf_counter()
    every = steps // EVALUATIONS
    learners = start_learners(agent, seed_keys(range(seeds)))
    scores = [agent.evaluate(learners, **evaluation).score]
    for _ in range(EVALUATIONS):
        learners = agent.train_steps(learners, every)
        scores.append(agent.evaluate(learners, **evaluation).score)
    curve = np.array([np.asarray(one, dtype=np.float64) for one in scores])
    at = np.arange(EVALUATIONS + 1) * every
    return Trained(at, curve, time.perf_counter() - started), learners


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


STEPS = 6_000
MOST_STEPS = 300_000  # of the learner that has as many updates

TABLES: Mapping[str, Environment] = {
    "shifts": Shifts(),
    "crates": Crates(),
    "triage": Triage(),
    "jobs": Jobs(),
    "doughnuts, 3 customers": Doughnuts(3, 12),
}
IMAGINING = "every other memory imagined (default)"
PLAIN = "nothing imagined, as many steps"
UPDATES = "nothing imagined, as many updates"
NO_SHAPING = "default without shaping"
WAYS = (IMAGINING, PLAIN, UPDATES, NO_SHAPING)


def study_tables(folder: Path, name: str, seeds: int, quick: bool = False) -> dict[str, Trained]:
    """The variants of one problem; what is in the folder is read from there."""
    path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.tables.json"
    settings = {"seeds": seeds, "steps": STEPS // (QUICK if quick else 1)}
    return kept_learners(path, settings, WAYS, lambda: _train_all(name, seeds, settings["steps"]))


def _train_all(name: str, seeds: int, steps: int) -> dict[str, Trained]:
    environment = TABLES[name]
    problem = Problem(environment, environment.default_scheme())
    imagining = default_tables(problem)
    plain = default_tables(problem, proposal=NoProposal())
    first, updates = _train(imagining, seeds, steps)
    many = min(MOST_STEPS, round(updates / EVALUATIONS) * EVALUATIONS)
    return {
        IMAGINING: first,
        PLAIN: _train(plain, seeds, steps)[0],
        UPDATES: _train(plain, seeds, many)[0],
        NO_SHAPING: _train(replace(imagining, shaping=False), seeds, steps)[0],
    }


def _train(agent: Tabular, seeds: int, steps: int) -> tuple[Trained, float]:
    """The exact scores on the way, and how many updates each learner made."""
    found, learners = _curve(agent, seeds, steps)
    return found, float(np.asarray(learners.updates, dtype=np.float64).sum()) / seeds


BAR = None  # it says itself what is being done
LEVELS = (0.95, 0.99)
Line = tuple[str, ...]

IN_TABLES = ("problem", "tables that learn with", "steps", "of the optimum", "to 95%", "to 99%")
PARTS = ("problem", "variant", "final score", "of the optimum", "steps to 95%", "steps to 99%")


def heading_against_rules(seeds: int) -> Line:
    """What stands above `rows_against_rules`."""
    return (
        *("problem", "optimum", "random", "best simple rule", "of the optimum", "steps"),
        f"default FairQCM, mean and {interval_title(seeds)}",
        *("of the optimum", "within 1%", "above the rule"),
    )


def rows_against_rules(studies: Sequence[ProblemStudy]) -> list[Line]:
    """One row per problem: the optimum, the best simple rule and the default, with intervals."""
    rows: list[Line] = []
    for study in studies:
        learned, rule = study.whole or _default(study), study.rules[0]
        mean, (low, high) = float(learned.final.mean()), learned.interval()
        rows.append(
            (
                study.name,
                f"{study.optimum:.3f}",
                f"{study.against.random:.3f}",
                f"{rule.name} {rule.score:.3f} ({rule.interval[0]:.3f} to {rule.interval[1]:.3f})",
                _share(study, rule.score),
                f"{int(learned.steps[-1]):,}",
                f"{mean:.3f} ({low:.3f} to {high:.3f})",
                _share(study, mean),
                "yes" if mean >= study.against.level(0.99) else "no",
                _above(low, high, rule.interval),
            )
        )
    return rows


def rows_of_parts(studies: Sequence[ProblemStudy]) -> list[Line]:
    """One row per problem and variant: where it ends, and how soon it is nearly there for good."""
    rows: list[Line] = []
    for study in studies:
        untrained = float(_default(study).untrained.mean())
        rows.append((study.name, "untrained network", f"{untrained:.3f}", _share(study, untrained)))
        rows[-1] += ("", "")
        for name, found in study.variants.items():
            if isinstance(found, str):
                rows.append((study.name, name, f"the same as “{found}”", "", "", ""))
                continue
            mean, (low, high) = float(found.final.mean()), found.interval()
            reached = (_steps(found, study.against.level(share)) for share in LEVELS)
            scores = f"{mean:.3f} ({low:.3f} to {high:.3f})"
            rows.append((study.name, name, scores, _share(study, mean), *reached))
    return rows


def rows_of_tables(
    found: Mapping[str, Mapping[str, Trained]], against: Mapping[str, ReferenceScores]
) -> list[Line]:
    """One row per problem and way to learn a table, with the exact scores of where it ends."""
    rows: list[Line] = []
    for name, variants in found.items():
        optimum = against[name].optimum
        assert optimum is not None
        for variant, one in variants.items():
            mean, (low, high) = float(one.final.mean()), one.interval()
            shares = f"{mean / optimum:.1%} ({low / optimum:.1%} to {high / optimum:.1%})"
            reached = (_steps(one, against[name].level(share)) for share in LEVELS)
            rows.append((name, variant, f"{int(one.steps[-1]):,}", shares, *reached))
    return rows


def to_markdown(heading: Line, rows: Sequence[Line]) -> str:
    """A table as it stands in the documentation."""
    lines = [heading, tuple("---" for _ in heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def to_csv(heading: Line, rows: Sequence[Line]) -> str:
    """A table for programs to read."""
    text = io.StringIO()
    csv.writer(text).writerows([heading, *rows])
    return text.getvalue()


def to_json(studies: Sequence[ProblemStudy]) -> dict[str, Any]:
    """All numbers that the tables are made of."""
    return {study.name: _study_json(study) for study in studies}


def _study_json(study: ProblemStudy) -> dict[str, Any]:
    return {
        "optimum": study.optimum,
        "random": study.against.random,
        "rules": {one.name: [one.score, *one.interval] for one in study.rules},
        "variants": {
            name: {"steps": found.steps.tolist(), "scores": found.scores.tolist()}
            if isinstance(found, Trained)
            else found
            for name, found in [*study.variants.items(), ("default, its own length", study.whole)]
        },
    }


def _default(study: ProblemStudy) -> Trained:
    found = study.variants["default"]
    assert isinstance(found, Trained)  # it is the first, and so the same as no other
    return found


def _share(study: ProblemStudy, score: float) -> str:
    """Of the optimum; of the way from random to it where scores are negative."""
    if study.optimum > 0:
        return f"{score / study.optimum:.1%}"
    way = (score - study.against.random) / (study.optimum - study.against.random)
    return f"{way:.1%} of the way"


def _above(low: float, high: float, rule: tuple[float, float]) -> str:
    if low > rule[1]:
        return "yes"
    return "no" if high < rule[0] else "intervals overlap"


def _steps(found: Trained, level: float) -> str:
    """The median over seeds, those that did not reach it counted last; how many did."""
    reached = found.steps_to(level)
    known = sorted(np.inf if steps is None else steps for steps in reached)
    middle = known[(len(known) - 1) // 2]
    number = sum(steps is not None for steps in reached)
    median = "—" if np.isinf(middle) else f"{int(middle):,}"
    return f"{median} ({number} of {len(reached)})"


def make(
    folder: Path,
    seeds: int | None,
    quick: bool,
    on_progress: Callable[[int, int], None],
    executor: Any = None,
) -> Made:
    """Train what is not in the folder yet, and write the tables there."""
    number = seeds or (QUICK_SEEDS if quick else 10)
    if number < 2:
        raise BadParameter("--seeds is 1: a table with intervals needs at least 2.")
    studies = Study(folder, number, quick).run(
        lambda name, variant: print(f"{name}: {variant}", file=sys.stderr)
    )
    in_tables = {name: study_tables(folder, name, number, quick) for name in TABLES}
    against = {name: yardstick(environment) for name, environment in TABLES.items()}
    parts = PARTS, rows_of_parts(studies)
    tables = {
        "Learning beside simple rules": (
            heading_against_rules(number),
            rows_against_rules(studies),
        ),
        "What each part is worth": parts,
        "What imagining is worth to tables": (IN_TABLES, rows_of_tables(in_tables, against)),
    }
    pages = (f"## {name}\n\n{to_markdown(*one)}" for name, one in tables.items())
    write_whole(folder / "tables.md", "\n".join(pages).encode())
    write_whole(folder / "parts.csv", to_csv(*parts).encode())
    numbers = to_json(studies)
    write_whole(folder / "results.json", json.dumps(numbers, indent=2).encode())
    kept = f"The tables are in {folder / 'tables.md'}, the numbers beside it."
    return Made(numbers, tables, kept, aligned=False)
