"""Results of the benchmark as a file, which others can add a method to: everything is in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from evenhand import __version__
from evenhand._util.files import read_file, write_whole
from evenhand._util.saved import SavedRecord, parse_json, reading_saved
from evenhand.errors import BadFile, BadParameter

KIND = "evenhand benchmark results"
FORMAT = 1
MAX_BYTES = 256 << 20


@dataclass(frozen=True)
class PairFacts:
    """A world and its scheme, and what it is measured against."""

    world: Any
    scheme: str
    judged: str  # the scheme in words
    optimum: float | None
    random: float
    note: str | None = None

    def share(self, score: float) -> float | None:
        """The share of the way from acting at random to the optimum."""
        if self.optimum is None or self.optimum == self.random:
            return None
        return (score - self.random) / (self.optimum - self.random)


@dataclass(frozen=True)
class BenchmarkRun:
    """One seed of one method on one pair."""

    pair: str
    method: str
    seed: int
    setting: Mapping[str, Any] = field(hash=False)
    curve: tuple[float, ...]  # the score of each evaluation, at even distances; the last counts
    welfare_of_means: float | None  # SER: of the mean returns at the end, for long-term schemes
    seconds: float  # of all seeds of its trial together, compiling included

    @property
    def score(self) -> float:
        return self.curve[-1]


@dataclass(frozen=True)
class BenchmarkResults:
    """All runs, with what they are measured against.

    Args:
        steps: Decisions that each run learned from.
        pairs: What each pair of world and scheme is, by name.
        methods: A line on each method, and whether it learns.
        runs: One for each seed.
        skipped: Which methods could not be run on which pairs, and why.
        search: How settings were chosen.
        version: The version of evenhand that they were made with.
    """

    steps: int
    pairs: Mapping[str, PairFacts]
    methods: Mapping[str, Mapping[str, Any]]
    runs: Sequence[BenchmarkRun]
    skipped: Sequence[Mapping[str, str]] = ()
    search: str = ""
    version: str = __version__

    def of(self, pair: str, method: str) -> list[BenchmarkRun]:
        """The runs of a method on a pair, by seed."""
        found = [run for run in self.runs if (run.pair, run.method) == (pair, method)]
        return sorted(found, key=lambda run: run.seed)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "format": FORMAT,
            "version": self.version,
            "steps": self.steps,
            "search": self.search,
            "pairs": {name: vars(facts) for name, facts in self.pairs.items()},
            "methods": {name: dict(line) for name, line in self.methods.items()},
            "runs": [{**vars(run), "curve": list(run.curve)} for run in self.runs],
            "skipped": [dict(one) for one in self.skipped],
        }

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write them to a file, whole."""
        write_whole(path, (json.dumps(self.to_json(), indent=1) + "\n").encode())


def read_results(path: str | os.PathLike[str]) -> BenchmarkResults:
    """Results from a file; what is not such a file, or of another version, is refused."""
    values = parse_json(read_file(path, MAX_BYTES, "results of a benchmark"), path, "results")
    record = SavedRecord(values, path)
    if not isinstance(values, dict) or values.get("kind") != KIND:
        raise BadFile(
            f"{path} does not hold results of a benchmark: `evenhand benchmark` writes them."
        )
    if record.value("version", None) != __version__ or record.value("format", None) != FORMAT:
        raise BadFile(
            f"{path} has results of evenhand {record.value('version', 'unknown')}, and this is "
            f"{__version__}: numbers of two versions are not put side by side. Run it again."
        )
    with reading_saved(path, "results"):
        pairs, methods = record.table("pairs"), record.table("methods")
        results = BenchmarkResults(
            record.whole("steps", least=1),
            {name: _facts(pairs.table(name)) for name in pairs.values},
            {name: _about(methods.table(name)) for name in methods.values},
            [_run(one) for one in record.tables("runs")],
            tuple(_skipped(one) for one in record.tables("skipped")),
            record.text("search"),
        )
    _require_whole(results, path)
    return results


def _facts(record: SavedRecord) -> PairFacts:
    record.require_only(part.name for part in fields(PairFacts))
    return PairFacts(
        record.value("world"),
        record.text("scheme"),
        record.text("judged"),
        None if record.value("optimum") is None else record.number("optimum"),
        record.number("random"),
        None if record.value("note", None) is None else record.text("note"),
    )


def _about(record: SavedRecord) -> Mapping[str, Any]:
    """What is said of a method, of which nothing is needed."""
    record.flag("learns", default=True)
    if "line" in record.values:
        record.text("line")
    return record.values


def _skipped(record: SavedRecord) -> Mapping[str, str]:
    return {name: record.text(name) for name in ("pair", "method", "why")}


def _run(record: SavedRecord) -> BenchmarkRun:
    means = record.value("welfare_of_means")
    return BenchmarkRun(
        record.text("pair"),
        record.text("method"),
        record.whole("seed"),
        record.table("setting").values,
        tuple(float(score) for score in record.items("curve")),
        None if means is None else record.number("welfare_of_means"),
        record.number("seconds"),
    )


def _require_whole(results: BenchmarkResults, path: str | os.PathLike[str]) -> None:
    """Refuse runs of pairs that are not described, without a score, or of one seed twice."""
    seen: set[tuple[str, str, int]] = set()
    for run in results.runs:
        for what, known in ((run.pair, results.pairs), (run.method, results.methods)):
            if what not in known:
                raise BadFile(f"{path} has a run of {what!r}, which it does not describe.")
        if not run.curve or not np.isfinite(run.curve).all():
            raise BadFile(
                f"{path} has a run of {run.method} on {run.pair} (seed {run.seed}) without scores "
                "that are numbers."
            )
        key = run.pair, run.method, run.seed
        if key in seen:
            raise BadFile(
                f"{path} has seed {run.seed} of {run.method} on {run.pair} twice: each seed "
                "counts once, so remove one of them."
            )
        seen.add(key)


def merge_results(parts: Iterable[tuple[str, BenchmarkResults]]) -> BenchmarkResults:
    """Results of several files as one; the same pair must be the same, the same seed only once.

    Args:
        parts: Where each is from, and what it holds.
    """
    parts = list(parts)
    if not parts:
        raise BadParameter("there are no results: name at least one file.")
    pairs: dict[str, PairFacts] = {}
    methods: dict[str, Mapping[str, Any]] = {}
    runs: dict[tuple[str, str, int], BenchmarkRun] = {}
    owner: dict[tuple[str, str, int], str] = {}
    first, steps = parts[0][0], parts[0][1].steps
    for path, results in parts:
        if results.steps != steps:
            raise BadFile(
                f"{path} has runs of {results.steps:,} steps and {first} of {steps:,}: only equal "
                "budgets are put side by side."
            )
        for name, facts in results.pairs.items():
            if not _alike(pairs.setdefault(name, facts), facts):
                raise BadFile(
                    f"{path} means something else by {name} than {first}: another world, scheme "
                    "or optimum."
                )
        methods |= results.methods
        for run in results.runs:
            key = run.pair, run.method, run.seed
            if key in runs:
                raise BadFile(
                    f"{path} and {owner[key]} both have seed {run.seed} of {run.method} on "
                    f"{run.pair}: each seed counts once, so leave one of the files out."
                )
            runs[key], owner[key] = run, path
    skipped = [one for _, results in parts for one in results.skipped]
    search = "; ".join(dict.fromkeys(results.search for _, results in parts if results.search))
    return BenchmarkResults(steps, pairs, methods, list(runs.values()), skipped, search)


def _alike(one: PairFacts, other: PairFacts) -> bool:
    same = (one.world, one.scheme, one.judged) == (other.world, other.scheme, other.judged)
    if not same or (one.optimum is None) != (other.optimum is None):
        return False
    if one.optimum is None or other.optimum is None:
        return True  # acting at random was sampled, and may differ by chance
    return bool(np.allclose([one.optimum, one.random], [other.optimum, other.random], atol=1e-6))
