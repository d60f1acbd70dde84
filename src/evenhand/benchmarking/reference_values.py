"""What a pair is measured against: its exact optimum where it is known, and acting at random."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import __version__
from evenhand._util.files import read_file, write_whole
from evenhand._util.saved_record import parse_json
from evenhand.benchmarking.benchmark_method import Trial
from evenhand.benchmarking.benchmark_world import BenchmarkPair
from evenhand.benchmarking.built_in_methods import RandomContestant
from evenhand.errors import CannotPlan
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

RANDOM_SEEDS = 10  # of as many episodes as a last evaluation has, where it is sampled


@dataclass(frozen=True)
class ReferenceValues:
    """The least and the most that counts on a pair; without an optimum `note` says why."""

    optimum: float | None
    random: float
    note: str | None = None


def reference_values(pair: BenchmarkPair) -> ReferenceValues:
    """By the planner, where it takes the world; otherwise acting at random alone, by episodes."""
    environment = pair.world.planned()
    if environment is None:
        return ReferenceValues(None, _random(pair), "no known optimum: its law is not listed")
    memory = environment.planning_memory() if _own(pair) else None
    problem = (
        Problem(environment, pair.scheme)
        if memory is None
        else Problem(environment, pair.scheme, memory)
    )
    try:
        found = plan(problem, use_memory=memory is not None)
    except CannotPlan as error:
        return ReferenceValues(None, _random(pair), f"no known optimum: {error}")
    return ReferenceValues(found.value, found.random_value())


def _own(pair: BenchmarkPair) -> bool:
    """Whether a planning memory of the environment, which is for its own scheme, is right here."""
    return pair.scheme == pair.world.own_scheme()


def _random(pair: BenchmarkPair) -> float:
    trial = Trial(pair, {}, tuple(range(RANDOM_SEEDS)), 1, 1)
    outcome = RandomContestant.compete(trial, lambda *_: None)
    return float(np.mean(outcome.scores))


def saved_reference(pair: BenchmarkPair, path: Path | None) -> ReferenceValues:
    """The same, from a file where it was found before."""
    about: dict[str, Any] = {"version": __version__, "pair": pair.to_json()}
    about = json.loads(json.dumps(about))
    if path is not None and path.exists():
        saved = parse_json(read_file(path, 1 << 20, "a reference"), path, "reference")
        if isinstance(saved, dict) and saved.get("about") == about:
            return ReferenceValues(**saved["found"])
    found = reference_values(pair)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({"about": about, "found": asdict(found)}).encode())
    return found
