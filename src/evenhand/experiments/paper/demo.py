"""The whole story in numbers: two logs judged, the optimum planned, and a fair policy learned."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from evenhand.auditing import audit
from evenhand.auditing.answer.answer import Answer
from evenhand.envs import TurnTaking
from evenhand.experiments.paper.figure_1 import audits
from evenhand.experiments.paper.figures import SMALL_SHOP
from evenhand.experiments.recipes.tabular_recipes import tabular_learner
from evenhand.experiments.running.compare_methods import MethodComparison, compare
from evenhand.experiments.running.runs import load_run, restore
from evenhand.planning import Plan
from evenhand.planning.evaluation import evaluate
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

CLINICS = ("Ashford", "Birchwood", "Cedar Hill", "Dunmore", "Eastgate", "Fairview")
WEEKS = 52
METHODS = ("fairqcm", "full", "min", "reset")
SEEDS, STEPS = 5, 40_000
CUSTOMERS = ("Ana", "Ben", "Chidi")


@dataclass(frozen=True)
class EpisodeStep:
    """One step of an episode: who was there, what each had, what was done, and why."""

    step: int
    present: list[bool]
    had: list[int]
    values: list[float]  # how far each choice is below the best, in the learner's eyes
    choice: int
    wasted: bool
    as_the_optimum: bool
    score: float  # after it


@dataclass(frozen=True, eq=False)
class Story:
    """All that the demo shows."""

    vaccines: dict[str, Answer]
    year: Answer
    best: Plan
    random: float
    turn_taking: float
    learning: MethodComparison
    episode: list[EpisodeStep]


def year_of_allocations(seed: int = 4) -> list[tuple[str, str, int]]:
    """A year of weekly deliveries to six clinics: the near ones early, the far ones late.

    In the last week everyone gets what is missing to the same total.
    """
    import datetime

    rng = np.random.default_rng(seed)
    # From 1 to −1 over the year: which clinics the deliveries favour, and how much.
    tide = np.cos(np.pi * np.arange(WEEKS - 1) / (WEEKS - 2))[:, None]
    nearness = np.linspace(1.0, -1.0, len(CLINICS))[None]
    expected = 100 * (1 + 0.75 * tide * nearness)
    amounts = rng.poisson(expected)
    totals = amounts.sum(axis=0)
    last = totals.max() - totals + 100
    first_monday = datetime.date(2025, 1, 6)
    return [
        (str(first_monday + datetime.timedelta(weeks=week)), clinic, int(doses))
        for week, row in enumerate([*amounts, last])
        for clinic, doses in zip(CLINICS, row, strict=True)
    ]


def audit_year() -> Answer:
    """The year, judged every month."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE year (day DATE, clinic VARCHAR, doses BIGINT)")
        rows = [list(row) for row in year_of_allocations()]
        connection.executemany("INSERT INTO year VALUES (?, ?, ?)", rows)
        return audit(
            connection.table("year"),
            stakeholder="clinic",
            time="day",
            amount="doses",
            every="month",
            until="2025-12-31",
        )


def build_demo(
    on_stage: Callable[[str], None] = lambda _: None,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> Story:
    """Everything, in the order of the page; `on_stage` is called with what is being done."""
    on_stage("Two ways to ship vaccines, audited")
    vaccines = audits()
    on_stage("A year of deliveries to six clinics, audited")
    year = audit_year()
    on_stage("The exact optimum of twelve doughnuts for three customers")
    problem = Problem(SMALL_SHOP, SMALL_SHOP.nash_scheme())
    best = plan(problem)
    turns = evaluate(problem, TurnTaking()).score
    on_stage("FairQCM learns it, next to its rivals")
    with tempfile.TemporaryDirectory() as folder:
        learning = compare(
            SMALL_SHOP,
            METHODS,
            recipe="best",
            seeds=SEEDS,
            steps=STEPS,
            out=Path(folder),
            progress=progress,
        )
        on_stage("What the learned policy does, step by step")
        learner = tabular_learner(SMALL_SHOP, "fairqcm", "best")
        learned = restore(learner, load_run(Path(folder) / "fairqcm.best.run")).learners
    episode = play(learner, jax.tree.map(lambda leaf: leaf[0], learned), best)
    return Story(vaccines, year, best, best.random_value(), turns, learning, episode)


def play(learner: Any, learned: Any, best: Plan, seed: int = 2) -> list[EpisodeStep]:
    """One episode of what was learned, with its reasons, next to what the optimum would do."""
    problem, reference = learner.problem, best.problem
    key, first = jax.random.split(jax.random.key(seed))
    augmented, beside = problem.initial(first), reference.initial(first)
    steps, score, had = [], 0.0, np.zeros(problem.environment.num_stakeholders, dtype=int)
    for step in range(problem.environment.horizon):
        values = learner.action_values(learned, augmented)
        choice = int(values.argmax())
        present = np.asarray(augmented.state.noise, dtype=bool)
        same = choice in best.explain(beside).as_good
        key, next_key = jax.random.split(key)
        augmented, happened, _ = problem.step(next_key, augmented, choice)
        beside, _, pay = reference.step(next_key, beside, choice)
        score += float(pay)
        before, had = had, had + np.asarray(happened.rewards).astype(int)
        steps.append(
            EpisodeStep(
                step=step + 1,
                present=present.tolist(),
                had=before.tolist(),
                values=(values - values.max()).astype(float).round(3).tolist(),
                choice=choice,
                wasted=bool(happened.override.applies),
                as_the_optimum=same,
                score=round(score, 3),
            )
        )
    return steps
