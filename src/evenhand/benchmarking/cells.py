"""Cells of the benchmark: one method with one setting on one pair, as a task done anywhere.

A cell is done whole or not at all. Nothing in it depends on where or when it is done, so that a
benchmark that was killed goes on to the same numbers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import __version__
from evenhand._util.files import read_file, write_whole
from evenhand._util.saved_record import SavedRecord, parse_json, reading_saved
from evenhand.errors import BadFile

FORMAT = 1  # of cells and results; raised where what they mean changes
MAX_BYTES = 64 << 20
CELL_BYTES = 1_500_000_000  # that a process takes to do a cell, roughly


@dataclass(frozen=True)
class CellSpec:
    """What is run in a cell, in words and numbers that JSON has."""

    pair: Mapping[str, Any]
    name: str  # of the pair
    method: str
    setting: Mapping[str, Any]
    seeds: tuple[int, ...]
    steps: int
    every: int
    episodes: int
    final_episodes: int
    version: str = __version__

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "pair": dict(self.pair), "seeds": list(self.seeds)}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> CellSpec:
        return cls(**{**table, "seeds": tuple(table["seeds"])})

    def same_as(self, other: CellSpec) -> bool:
        """Whether they are the same, as JSON writes them."""
        return json.dumps(self.to_json(), sort_keys=True) == json.dumps(
            other.to_json(), sort_keys=True
        )


@dataclass(frozen=True, eq=False)
class CellRun:
    """What a cell came to; `skipped` says why there is nothing."""

    spec: CellSpec
    scores: np.ndarray  # [checkpoint, seed]
    statuses: np.ndarray  # [seed, status]
    seconds: float
    skipped: str | None = None

    finished = True  # a cell is whole

    @property
    def final(self) -> np.ndarray:
        return self.scores[-1]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "spec": self.spec.to_json(),
            "scores": self.scores.tolist(),
            "statuses": [[None if np.isnan(x) else x for x in row] for row in self.statuses],
            "seconds": round(self.seconds, 3),
            "skipped": self.skipped,
        }


def read_cell(path: Path) -> CellRun:
    """A cell from its file; what is not one is refused."""
    values = parse_json(read_file(path, MAX_BYTES, "a cell of a benchmark"), path, "cell")
    record = SavedRecord(values, path)
    with reading_saved(path, "cell"):
        if record.whole("format") != FORMAT:
            raise BadFile(f"{path} is of another form than this version writes: remove it.")
        spec = CellSpec.from_json(record.table("spec").values)
        statuses = np.array(record.items("statuses"), dtype=float)  # None is no number
        skipped = record.value("skipped")
        scores = np.array(record.items("scores"), dtype=float)
        if skipped is None and scores.shape != (spec.steps // spec.every, len(spec.seeds)):
            raise BadFile(f"{path} has {scores.shape} scores, which are not those of its seeds.")
        return CellRun(spec, scores, statuses, record.number("seconds"), skipped)


@dataclass(frozen=True)
class CellTask:
    """A cell and its file, in the form in which executors take tasks."""

    spec: CellSpec
    path: Path

    @property
    def name(self) -> str:
        return f"{self.spec.method} on {self.spec.name}"

    def saved(self) -> CellRun | None:
        """What the file holds; one that holds another cell is refused."""
        if not self.path.exists():
            return None
        run = read_cell(self.path)
        if not run.spec.same_as(self.spec):
            what = "other settings"
            if run.spec.version != self.spec.version:
                what = f"evenhand {run.spec.version}, and this is {self.spec.version}"
            raise BadFile(
                f"{self.path} holds a cell with {what}: choose another folder, or remove the file."
            )
        return run

    def do(self, progress: Callable[[int, int, float], None]) -> CellRun:
        """The same on one core."""
        from evenhand.experiments.running.cpu_affinity import keep_to_one_core

        keep_to_one_core()
        return self.work(progress)

    def work(self, progress: Callable[[int, int, float], None]) -> CellRun:
        """Run it wherever this process is, and write the file."""
        run = run_cell(self.spec, progress)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(run.to_json()).encode())
        return run

    def bytes_needed(self, of: Any) -> int:
        return CELL_BYTES

    def to_json(self) -> dict[str, Any]:
        """The task as it is sent to another process."""
        kind = f"{type(self).__module__}:{type(self).__name__}"
        return {"kind": kind, "spec": self.spec.to_json(), "path": str(self.path)}

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> CellTask:
        return cls(CellSpec.from_json(table["spec"]), Path(table["path"]))


def run_cell(spec: CellSpec, progress: Callable[[int, int, float], None]) -> CellRun:
    """Everything that a cell asks for, in this process."""
    from evenhand.benchmarking.benchmark_method import NotForThis, Trial
    from evenhand.benchmarking.benchmark_world import pair_of
    from evenhand.benchmarking.built_in_methods import BENCHMARK_METHODS  # theirs are registered

    started = time.perf_counter()
    contestant: Any = BENCHMARK_METHODS.get(spec.method)
    trial = Trial(
        pair_of(spec.pair),
        spec.setting,
        spec.seeds,
        spec.steps,
        spec.every,
        spec.episodes,
        spec.final_episodes,
    )
    try:
        outcome = contestant.compete(trial, lambda done, score: progress(done, spec.steps, score))
    except NotForThis as reason:
        nothing = np.zeros((1, len(spec.seeds)))
        return CellRun(spec, nothing, np.zeros((0, 0)), 0.0, str(reason))
    took = time.perf_counter() - started
    scores = np.asarray(outcome.scores, dtype=float)
    return CellRun(spec, scores, np.asarray(outcome.statuses, dtype=float), took)
