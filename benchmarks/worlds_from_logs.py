"""Policies learned from the earlier part of a log, judged on the later part beside simple rules.

    python -m benchmarks worlds_from_logs

The logs: one that was made with a pattern worth learning (examples/weekly_deliveries.py), each seed
with a log of its own, and the real ones beside the project, where they are.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from evenhand._util.numbers import bootstrap_interval, interval_title
from evenhand.decide.policies import LearnedChoices, PolicyRule
from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.decide.world_from_log import world_of_log
from evenhand.learn.policies import Greedy
from evenhand.learn.recipe import default_learner
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.log.options import AuditOptions
from evenhand.problem.problem import Problem

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
SEEDS, STEPS = 5, 10_000
RULES = ("least_served", "round_robin", "even_out", "lottery")


@dataclass(frozen=True)
class SplitLog:
    """A log with the date at which it is split, and how it is judged."""

    name: str
    log: Any
    options: AuditOptions
    until: Any
    since: Any
    block: Any = None

    def scores(self, seeds: tuple[int, ...], steps: int) -> list[dict[str, float]]:
        """What the policy of each seed scores on the later part, and what rules do."""
        world = world_of_log(self.log, replace(self.options, until=self.until), self.block).world
        agent = default_learner(Problem(world, world.default_scheme()), steps=steps)
        learners = agent.train_steps(start_learners(agent, seed_keys(seeds)), steps)
        return [self._judged(agent.policy(_one(learners, k))) for k in range(len(seeds))]

    def _judged(self, policy: Greedy) -> dict[str, float]:
        asked = ReplayOptions([PolicyRule(LearnedChoices(policy), "learned"), *RULES])
        answer = replay_with(self.log, replace(self.options, since=self.since), asked)
        found = dict(zip(("learned", *RULES), (one.score for one in answer.outcomes), strict=True))
        found["as logged"] = answer.logged.score
        if answer.best is not None:
            found["the best there was"] = answer.best.score
        return found


def _one(learners: Any, place: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[place], learners)


def made_log(seed: int, folder: Path, welfare: str) -> SplitLog:
    """Two years of deliveries with a weekly pattern, split after the first."""
    spec = importlib.util.spec_from_file_location(
        "weekly_deliveries", ROOT / "examples" / "weekly_deliveries.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = folder / f"deliveries{seed}.csv"
    module.write(path, seed=seed)
    options = AuditOptions(
        stakeholder="clinic", time="day", amount="doses", every="week", welfare=welfare
    )
    return SplitLog(f"deliveries, {welfare}", path, options, "2023-12-31", "2024-01-01")


def real_logs() -> Iterator[SplitLog]:
    """Vaccine shipments to states, and a language-model server."""
    states = DATA / "us_state_vaccinations.csv"
    if states.exists():
        options = AuditOptions(
            stakeholder="location",
            time="date",
            amount="total_distributed",
            cumulative=True,
            only=("Alaska", "Delaware", "Montana", "North Dakota", "Rhode Island", "Vermont"),
        )
        yield SplitLog("vaccines, six small states", states, options, "2021-03-14", "2021-03-15")
    served = DATA / "llm_serving" / "first_come.csv"
    if served.exists():
        log = pd.read_csv(served)
        log = log[log["aborted"] == 0].assign(
            client=log["client"].astype(str), cost=log["prompt_tokens"] + 2 * log["output_tokens"]
        )
        asked = log[["client", "asked_at", "cost"]].rename(columns={"asked_at": "first_token_at"})
        options = AuditOptions(
            stakeholder="client",
            time="first_token_at",
            amount="cost",
            requests=asked,
            asked="cost",
            judge_requests="shortfall",
        )
        yield SplitLog("a language-model server", log, options, 300, 300.0001, block=29)


def report(name: str, scores: list[dict[str, float]]) -> None:
    """A line for each rule, and how sure the difference to least served is."""
    print(f"\n{name}", flush=True)
    for rule in scores[0]:
        values = np.array([one[rule] for one in scores])
        print(f"  {rule:20} {values.mean():12.4f}   {np.round(values, 3).tolist()}")
    gains = np.array([one["learned"] - one["least_served"] for one in scores])
    low, high = bootstrap_interval(gains, np.random.default_rng(0))
    interval = f"{interval_title(len(gains))} {low:.4f} to {high:.4f}"
    print(f"  learned less least_served: {gains.mean():.4f} ({interval})")


def made_logs(welfare: str) -> None:
    """Each seed with a log of its own."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [made_log(seed, Path(folder), welfare) for seed in range(SEEDS)]
        found = [log.scores((seed,), STEPS)[0] for seed, log in enumerate(logs)]
    report(logs[0].name, found)


def main() -> None:
    started = time.perf_counter()
    made_logs("parity")
    for log in real_logs():
        report(log.name, log.scores(tuple(range(SEEDS)), STEPS))
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
