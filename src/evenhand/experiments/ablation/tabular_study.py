"""What imagined memories are worth to tables, at equal steps and at equal updates.

A table is updated once for every experience, so imagining buys updates: eight imagined memories
make nine updates of one step. So a learner that imagines nothing is also given as many steps as
the other has updates. (A network has as many updates of as large a batch either way.)
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenhand.envs import Crates, Doughnuts, Environment, Jobs, Shifts, Triage
from evenhand.experiments.ablation.study import EVALUATIONS, QUICK, Trained, kept_learners
from evenhand.learn.default_recipe import default_tables
from evenhand.learn.proposals import NoProposal
from evenhand.learn.seeds import seed_keys, start_learners
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.problem.problem import Problem

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
    started = time.perf_counter()
    learners = start_learners(agent, seed_keys(range(seeds)))
    scores = [agent.evaluate(learners).score]
    for _ in range(EVALUATIONS):
        learners = agent.train_steps(learners, steps // EVALUATIONS)
        scores.append(agent.evaluate(learners).score)
    at = np.arange(EVALUATIONS + 1) * (steps // EVALUATIONS)
    curve = np.array(scores, dtype=np.float64)
    updates = float(np.asarray(learners.updates, dtype=np.float64).sum()) / seeds
    return Trained(at, curve, time.perf_counter() - started), updates
