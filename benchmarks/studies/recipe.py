"""The default recipe on every world that ships and has an exact optimum: how near it comes.

Nothing is tuned to a world. Beside what was learned stands the same network before it learned
anything: some of it scores well untrained, because it treats stakeholders alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.studies import QUICK, QUICK_SEEDS, Made
from evenhand._util.files import write_whole
from evenhand.envs import Doughnuts, Environment, Lending, Vaccines, WaitingList
from evenhand.lab.compare_methods import untrained_scores
from evenhand.lab.executors import Executor, train_in_blocks
from evenhand.lab.reference_scores import ReferenceScores, yardstick
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.statistics import estimate
from evenhand.learn.recipe import default_steps

BAR = "learning"
EVALUATIONS = 10  # of each run
NEAR = 0.99


@dataclass(frozen=True)
class TrialWorld:
    """A world small enough to be planned; `less`: steps in place of the default number."""

    environment: Environment
    less: int | None = None

    @property
    def steps(self) -> int:
        """The default, or less where a run would take too long."""
        return default_steps(self.environment.horizon) if self.less is None else self.less


WORLDS: Mapping[str, TrialWorld] = MappingProxyType(
    {
        "doughnuts, 3 alike": TrialWorld(Doughnuts(3, 12, 0.8)),
        "doughnuts, 3 unlike": TrialWorld(Doughnuts(3, 12, (0.9, 0.5, 0.3))),
        "waiting list": TrialWorld(
            WaitingList(arrivals=(0.5, 0.3), urgencies=(1.0, 3.0), capacity=2, horizon=10)
        ),
        "vaccines": TrialWorld(
            Vaccines(
                populations=(6_000, 3_000, 1_000),
                transport_cost=(20, 40, 80),
                delay=(0.1, 0.2, 0.3),
                horizon=8,
            ),
        ),
        "doughnuts, 5 alike": TrialWorld(Doughnuts(), 30_000),
        "lending": TrialWorld(Lending()),
    }
)


@dataclass(frozen=True, eq=False)
class TrialResult:
    """What the seeds reached in a world."""

    world: str
    steps: int
    scores: np.ndarray  # of each seed
    untrained: np.ndarray  # of each seed, before it learned anything
    against: ReferenceScores

    def share(self, scores: np.ndarray) -> np.ndarray:
        """Of the way from acting at random to the optimum."""
        assert self.against.optimum is not None  # of all these worlds
        return (scores - self.against.random) / (self.against.optimum - self.against.random)

    def to_json(self) -> dict[str, Any]:
        share = self.share(self.scores)
        mean, *interval = estimate(share, np.mean)
        return {
            "world": self.world,
            "steps": self.steps,
            "seeds": len(self.scores),
            "optimum": self.against.optimum,
            "random": self.against.random,
            "scores": self.scores.tolist(),
            "share_of_the_way": mean,
            "interval": interval if len(share) > 1 else None,
            "least_share": float(share.min()),
            "near": int((self.scores >= self.against.level(NEAR)).sum()),
            "untrained_share": float(self.share(self.untrained).mean()),
            "untrained_near": int((self.untrained >= self.against.level(NEAR)).sum()),
        }


def make(
    folder: Path,
    seeds: int | None,
    quick: bool,
    on_progress: Callable[[int, int], None],
    executor: Executor | None = None,
) -> Made:
    """The table, with its runs kept in the folder."""
    number = seeds or (QUICK_SEEDS if quick else 10)
    found = [one.to_json() for one in default_table(folder, number, quick, on_progress, executor)]
    write_whole(folder / "results.json", json.dumps(found, indent=2).encode())
    rows = [
        (
            one["world"],
            f"{one['steps']:,}",
            f"{one['optimum']:,.2f}",
            f"{one['share_of_the_way']:.1%}",
            f"{one['least_share']:.1%}",
            f"{one['near']} of {one['seeds']}",
            f"{one['untrained_share']:.1%}",
        )
        for one in found
    ]
    columns = ("", "steps", "optimum", "of the way", "least", "seeds at 99%", "untrained")
    tables = {f"The default recipe, {number} seeds": (columns, rows)}
    return Made(found, tables, f"The numbers are in {folder / 'results.json'}.")


def default_table(
    folder: Path,
    seeds: int = 10,
    quick: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    executor: Executor | None = None,
) -> list[TrialResult]:
    """Learn every world with every seed, or finish what an earlier call left in the folder.

    Args:
        folder: Where runs are saved.
        seeds: How many runs there are of each world.
        quick: Whether to learn for a tenth of the steps.
        on_progress: Called with how many worlds are done, of how many.
        executor: Where the work is done; processes of this machine by default.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for done, (name, world) in enumerate(WORLDS.items()):
        on_progress(done, len(WORLDS))
        steps = world.steps // (QUICK if quick else 1)
        spec = RunSpec(
            world.environment,
            "fairqcm",
            tuple(range(seeds)),
            steps=steps,
            every=steps // EVALUATIONS,
            recipe="default",
            deep=True,
        )
        path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.run"
        run = train_in_blocks(spec, path, executor=executor)
        against, before = yardstick(world.environment), untrained_scores(spec)
        found.append(TrialResult(name, steps, run.scores[-1], before["score"], against))
    return found
