"""Doughnuts for 5, 10, 20 and 50 customers: learned for each number, and learned once with 5.

Everybody is as likely to be present, so that taking turns is optimal; it is what scores are shares
of. The horizon is 20 decisions per customer. For each number the default recipe learns, all with as
many decisions; with 5 it is `best`, whose memory has no clock and so sees nothing new with more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.studies import QUICK, Made
from evenhand.envs import Doughnuts, TurnTaking
from evenhand.lab.recipes import deep_learner
from evenhand.lab.reference_scores import sampled
from evenhand.lab.runs import Row, kept_row
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.policies import problem_for, score_greedy, weights_for
from evenhand.learn.recipe import default_learner
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.problem.problem import Problem

BAR = "Doughnuts for many, as shares of taking turns"
NUMBERS = (5, 10, 20, 50)
SEEDS = 5
DECISIONS_EACH = 20  # T is so many times the number of customers
STEPS = 10_000
NEAR = 0.99
DECISIONS_SCORED = 200_000  # of an evaluation


class LearnedShop(NamedTuple):
    """An agent and what its seeds learned."""

    agent: DeepAgent
    learners: Any


def shop_for(number: int) -> Doughnuts:
    """A shop for so many customers."""
    return Doughnuts(number, DECISIONS_EACH * number)


def make(
    folder: Path,
    seeds: int | None,
    quick: bool,
    on_progress: Callable[[int, int], None],
    executor: Any = None,
) -> Made:
    """The table, with its rows kept in the folder."""
    number = seeds or SEEDS
    rows = many_table(folder, number, STEPS // (QUICK if quick else 1), on_progress=on_progress)
    table = COLUMNS, [in_words(row) for row in rows]
    return Made({"rows": rows}, {f"{BAR}, {number} seeds": table}, f"The numbers are in {folder}.")


def many_table(
    folder: Path,
    seeds: int = SEEDS,
    steps: int = STEPS,
    numbers: tuple[int, ...] = NUMBERS,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Row]:
    """A row for each number of customers; finished ones are read from the folder.

    Args:
        folder: Where rows are kept.
        seeds: How many learners there are.
        steps: How many decisions each takes.
        numbers: How many customers; those of the first learn for all of them.
        on_progress: Called with how many rows are done, of how many.
    """
    first = numbers[0]

    @cache
    def learned_once() -> LearnedShop:
        return trained(deep_learner(shop_for(first), "fairqcm", "best"), seeds, steps)

    def row_of(number: int) -> Row:
        turns = turn_taking(number)
        return {
            "turn_taking": turns,
            "learned": (scores(learn(number, seeds, steps), number) / turns).tolist(),
            "learned_with_first": (scores(learned_once(), number) / turns).tolist(),
        }

    rows = []
    for done, number in enumerate(numbers):
        on_progress(done, len(numbers))
        settings = {"number": number, "first": first, "seeds": seeds, "steps": steps}
        rows.append(
            kept_row(folder / f"{number}.json", settings, partial(row_of, number), in_words)
        )
    return rows


def learn(number: int, seeds: int, steps: int) -> LearnedShop:
    """The default recipe, for so many customers."""
    shop = shop_for(number)
    return trained(default_learner(Problem(shop, shop.default_scheme()), steps=steps), seeds, steps)


def trained(agent: Any, seeds: int, steps: int) -> LearnedShop:
    """What so many seeds of an agent learn."""
    learners = start_learners(agent, seed_keys(range(seeds)))
    return LearnedShop(agent, agent.train_steps(learners, steps))


def scores(learned: LearnedShop, number: int) -> np.ndarray:
    """What each seed scores with so many customers."""
    agent, learners = learned
    problem = problem_for(agent.problem, number, DECISIONS_EACH * number)
    weights = weights_for(
        agent.network, agent.encoder, agent.acting(learners), agent.problem, problem
    )
    keys = seed_keys(range(len(learners.key)))
    keys = jax.vmap(lambda key: jax.random.fold_in(key, 2**20))(keys)
    found = score_greedy(problem, agent.encoder, agent.network, weights, keys, _episodes(number))
    return np.asarray(found.score, dtype=float)


def turn_taking(number: int) -> float:
    """What taking turns scores."""
    shop = shop_for(number)
    problem = Problem(shop, shop.default_scheme())
    return float(sampled(problem, TurnTaking(), episodes=_episodes(number)).score)


def _episodes(number: int) -> int:
    return max(50, DECISIONS_SCORED // (DECISIONS_EACH * number))


def in_words(row: Row) -> tuple[str, ...]:
    """A row as it is printed."""
    cells = [f"{row['settings']['number']}", f"{row['turn_taking']:,.1f}"]
    for name in ("learned", "learned_with_first"):
        shares = np.asarray(row[name])
        cells.append(f"{shares.mean():.2%} (least {shares.min():.2%})")
        cells.append(f"{int((shares >= NEAR).sum())} of {len(shares)}")
    return tuple(cells)


COLUMNS = (
    "customers",
    "turn taking",
    "learned for them",
    "at 99%",
    f"learned with {NUMBERS[0]}",
    "at 99%",
)
