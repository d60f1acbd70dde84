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

from evenhand._util.bootstrap import bootstrap_interval
from evenhand._util.files import write_whole
from evenhand.envs import Doughnuts, Environment, Lending, Vaccines, WaitingList
from evenhand.experiments.running.blocks import train_in_blocks
from evenhand.experiments.running.compare_methods import untrained_scores
from evenhand.experiments.running.reference_scores import Yardstick, yardstick
from evenhand.experiments.running.run_spec import RunSpec
from evenhand.experiments.running.tasks import Executor
from evenhand.learn.default_recipe import default_steps

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
    against: Yardstick

    def share(self, scores: np.ndarray) -> np.ndarray:
        """Of the way from acting at random to the optimum."""
        assert self.against.optimum is not None  # of all these worlds
        return (scores - self.against.random) / (self.against.optimum - self.against.random)

    def to_json(self) -> dict[str, Any]:
        share = self.share(self.scores)
        many = len(share) > 1
        interval = bootstrap_interval(share, np.random.default_rng(0), np.mean) if many else None
        return {
            "world": self.world,
            "steps": self.steps,
            "seeds": len(self.scores),
            "optimum": self.against.optimum,
            "random": self.against.random,
            "scores": self.scores.tolist(),
            "share_of_the_way": float(share.mean()),
            "interval": None if interval is None else list(interval),
            "least_share": float(share.min()),
            "near": int((self.scores >= self.against.level(NEAR)).sum()),
            "untrained_share": float(self.share(self.untrained).mean()),
            "untrained_near": int((self.untrained >= self.against.level(NEAR)).sum()),
        }


def default_table(
    folder: Path,
    seeds: int = 10,
    quick: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    executor: Executor | None = None,
) -> list[TrialResult]:
    """Learn every world with every seed, or finish what an earlier call left in the folder.

    Args:
        folder: Where runs and results are saved.
        seeds: How many runs there are of each world.
        quick: Whether to learn for a tenth of the steps.
        on_progress: Called with how many worlds are done, of how many.
        executor: Where the work is done; processes of this machine by default.
    """
    place = folder / "recipe"
    place.mkdir(parents=True, exist_ok=True)
    found = []
    for done, (name, world) in enumerate(WORLDS.items()):
        on_progress(done, len(WORLDS))
        steps = world.steps // (10 if quick else 1)
        spec = RunSpec(
            world.environment,
            "fairqcm",
            tuple(range(seeds)),
            steps=steps,
            every=steps // EVALUATIONS,
            recipe="default",
            deep=True,
        )
        path = place / f"{name.replace(', ', '-').replace(' ', '-')}.run"
        run = train_in_blocks(spec, path, executor=executor)
        against, before = yardstick(world.environment), untrained_scores(spec)
        found.append(TrialResult(name, steps, run.scores[-1], before["score"], against))
    answer = [one.to_json() for one in found]
    write_whole(place / "results.json", json.dumps(answer, indent=2).encode())
    return found
