"""Which imagined memories pay: the default recipe with each proposal, at equal steps and updates.

Imagining is meant to spare real steps. So each proposal learns twice: one update after each step,
and a quarter of the steps with four updates after each, so that both have as many updates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.studies import QUICK, Made
from evenhand._util.numbers import interval_title
from evenhand.envs import Crates, Doughnuts, Environment
from evenhand.lab.reference_scores import yardstick
from evenhand.lab.runs import Row, kept_row
from evenhand.lab.statistics import estimate
from evenhand.learn.deep.networks import EquivariantMLP
from evenhand.learn.imagined_memories import (
    Above,
    NoProposal,
    Proposal,
    Replayed,
    SomeAbove,
    SomeAround,
    Visited,
)
from evenhand.learn.recipe import default_learner
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.memory.memory import Full
from evenhand.problem.problem import Problem

BAR = "Which imagined memories pay"
SEEDS = 10
UPDATES = 2_000
EPISODES = 200  # that a score is the mean of
PROPOSALS_TRIED: Mapping[str, Proposal] = MappingProxyType(
    {
        "none": NoProposal(),
        "Above(2)": Above(2),
        "SomeAbove(8)": SomeAbove(8),
        "SomeAround(8)": SomeAround(8),
        "Visited(8)": Visited(8),
        "Replayed(8)": Replayed(8),
    }
)
WORLDS_TRIED: Mapping[str, Environment] = MappingProxyType(
    {"doughnuts": Doughnuts(), "crates": Crates()}
)


class Regime(NamedTuple):
    """How many real steps there are, and how many updates follow each."""

    name: str
    updates_per_step: int


REGIMES = (Regime("one update per step", 1), Regime("four updates per step", 4))


def make(
    folder: Path,
    seeds: int | None,
    quick: bool,
    on_progress: Callable[[int, int], None],
    executor: Any = None,
) -> Made:
    """The table, with its rows kept in the folder."""
    number = seeds or SEEDS
    rows = proposal_table(folder, number, UPDATES // (QUICK if quick else 1), on_progress)
    table = columns(number), [in_words(row) for row in rows]
    return Made({"rows": rows}, {f"{BAR}, {number} seeds": table}, f"The numbers are in {folder}.")


def proposal_table(
    folder: Path,
    seeds: int = SEEDS,
    updates: int = UPDATES,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Row]:
    """A row for each world, regime and proposal; finished ones are read from the folder.

    Args:
        folder: Where rows are kept.
        seeds: How many learners there are of each.
        updates: How many updates each makes.
        on_progress: Called with how many rows are done, of how many.
    """
    asked = [
        (world, regime, proposal)
        for regime in REGIMES
        for world in WORLDS_TRIED
        for proposal in PROPOSALS_TRIED
    ]
    rows = []
    for done, (world, regime, proposal) in enumerate(asked):
        on_progress(done, len(asked))
        settings = {
            "world": world,
            "proposal": proposal,
            "seeds": seeds,
            "steps": updates // regime.updates_per_step,
            "updates_per_step": regime.updates_per_step,
        }
        place = folder / f"{world}-{regime.updates_per_step}-{proposal}.json"
        rows.append(kept_row(place, settings, partial(_learned, settings), in_words))
    return rows


def _learned(settings: Mapping[str, Any]) -> Row:
    """The share of the way from random to the optimum that each seed went."""
    environment = WORLDS_TRIED[settings["world"]]
    problem = Problem(environment, environment.default_scheme(), Full())
    agent = default_learner(
        problem,
        steps=settings["steps"],
        proposal=PROPOSALS_TRIED[settings["proposal"]],
        updates_per_step=settings["updates_per_step"],
        batch=64,
    )
    if isinstance(agent.network, EquivariantMLP):  # a smaller one, for time's sake
        agent = _smaller(agent)
    learners = start_learners(agent, seed_keys(range(settings["seeds"])))
    learners = agent.train_steps(learners, settings["steps"])
    scores = np.asarray(agent.evaluate(learners, EPISODES).score, dtype=float)
    against = yardstick(environment)
    assert against.optimum is not None
    shares = (scores - against.random) / (against.optimum - against.random)
    return {"shares": shares.tolist(), "stored": int(learners.replay.stored[0])}


def _smaller(agent: Any) -> Any:
    return replace(agent, network=replace(agent.network, hidden=(32, 32)))


def in_words(row: Row) -> tuple[str, ...]:
    """A row as it is printed."""
    settings, shares = row["settings"], np.asarray(row["shares"])
    mean, low, high = estimate(shares, np.mean)
    return (
        settings["world"],
        f"{settings['steps']:,} × {settings['updates_per_step']}",
        settings["proposal"],
        f"{mean:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{shares.min():.1%}",
    )


def columns(seeds: int) -> tuple[str, ...]:
    """The headings of the rows."""
    interval = interval_title(seeds)
    return ("world", "steps × updates", "imagines", "of the way", interval, "least seed")
