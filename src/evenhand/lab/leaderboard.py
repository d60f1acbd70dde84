"""The leaderboard: what results come to, the pairs on which the default FairQCM loses first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand._util.numbers import FEWEST_RUNS, interquartile_mean
from evenhand.lab.benchmark_results import BenchmarkResults, BenchmarkRun, PairFacts
from evenhand.lab.statistics import (
    Estimate,
    Runs,
    estimate,
    improvement_chance,
    median_steps,
    performance_profile,
    pooled_iqm,
    steps_to,
    stratified_interval,
)

if TYPE_CHECKING:
    from jaxtyping import Float

OURS = "fairqcm"
LEVEL = 0.95  # of the way: when it is reached for good, the steps are counted
PROFILE = np.linspace(0.0, 1.0, 101)


class PairRow(NamedTuple):
    """What a method came to on a pair."""

    method: str
    seeds: int
    score: Estimate
    share: Estimate | None
    regret: float | None
    steps_to_level: float | None  # the median; None where half of the seeds do not get there
    reached: int  # how many seeds do
    welfare_of_means: float | None
    seconds: float


class LostPair(NamedTuple):
    """A pair on which a peer that learns is ahead of ours, or level with it."""

    pair: str
    peer: str
    ours: float
    theirs: float
    apart: bool | None  # whether the intervals are apart; None with too few runs to tell


class MethodStanding(NamedTuple):
    """A method on all pairs with a known optimum together."""

    method: str
    learns: bool
    pairs: int
    share: Estimate
    ours_better: Estimate | None  # the chance that a run of ours beats one of it


@dataclass(frozen=True)
class Leaderboard:
    """Everything that is shown of results."""

    results: BenchmarkResults

    @property
    def methods(self) -> list[str]:
        ran = {run.method for run in self.results.runs}
        return [name for name in self.results.methods if name in ran]

    def learns(self, method: str) -> bool:
        return bool(self.results.methods[method].get("learns", True))

    @property
    def known(self) -> list[str]:
        """Pairs with a known optimum."""
        return [name for name, facts in self.results.pairs.items() if facts.optimum is not None]

    @cached_property
    def rows(self) -> dict[str, list[PairRow]]:
        """For each pair what every method came to, the best first."""
        table = {}
        for pair, facts in self.results.pairs.items():
            found = [
                _row(method, runs, facts, self.results.steps if self.learns(method) else None)
                for method in self.methods
                if (runs := self.results.of(pair, method))
            ]
            table[pair] = sorted(found, key=lambda row: -row.score.value)
        return table

    def fewest_seeds(self, pairs: Iterable[str]) -> int:
        """The runs of whatever method has fewest on any of some pairs."""
        return min((row.seeds for pair in pairs for row in self.rows[pair]), default=0)

    @cached_property
    def losses(self) -> list[LostPair]:
        """Where ours is not ahead of every peer that learns, the worst first."""
        found = []
        for pair, rows in self.rows.items():
            ours = next((row for row in rows if row.method == OURS), None)
            peers = [row for row in rows if row.method != OURS and self.learns(row.method)]
            if ours is None or not peers:
                continue
            best = max(peers, key=lambda row: row.score.value)
            if best.score.value >= ours.score.value:
                mine, theirs = (row.share or row.score for row in (ours, best))
                enough = min(ours.seeds, best.seeds) >= FEWEST_RUNS
                apart = theirs.low > mine.high if enough else None
                found.append(LostPair(pair, best.method, mine.value, theirs.value, apart))
        return sorted(found, key=lambda loss: loss.ours - loss.theirs)

    @property
    def contested(self) -> int:
        """Pairs on which ours and at least one peer that learns ran."""
        return sum(
            any(row.method == OURS for row in rows)
            and any(row.method != OURS and self.learns(row.method) for row in rows)
            for rows in self.rows.values()
        )

    def shares(self, method: str, pairs: list[str]) -> Runs:
        """The share of the way of every run, by pair."""
        return [
            np.array([_share(self.results.pairs[p], run) for run in self.results.of(p, method)])
            for p in pairs
        ]

    def _ran_on(self, method: str) -> list[str]:
        return [pair for pair in self.known if self.results.of(pair, method)]

    @cached_property
    def standings(self) -> list[MethodStanding]:
        """All methods on all pairs with a known optimum, the best first."""
        found = []
        mine = set(self._ran_on(OURS)) if OURS in self.methods else set()
        for method in self.methods:
            pairs = self._ran_on(method)
            if not pairs:
                continue
            share = stratified_interval((self.shares(method, pairs),), pooled_iqm)
            common = [pair for pair in pairs if pair in mine]
            better = None
            if method != OURS and common:
                groups = self.shares(OURS, common), self.shares(method, common)
                better = stratified_interval(groups, improvement_chance)
            found.append(MethodStanding(method, self.learns(method), len(pairs), share, better))
        return sorted(found, key=lambda one: (-one.pairs, -one.share.value))

    def profile(self, method: str) -> Float[np.ndarray, " level"]:
        """The share of runs that come so far or farther, at the levels of `PROFILE`."""
        return performance_profile(self.shares(method, self._ran_on(method)), PROFILE)

    def to_json(self) -> dict[str, Any]:
        return {
            "steps": self.results.steps,
            "search": self.results.search,
            "contested": self.contested,
            "losses": [loss._asdict() for loss in self.losses],
            "standings": [_plain(one) for one in self.standings],
            "pairs": {
                name: {**vars(self.results.pairs[name]), "methods": [_plain(row) for row in rows]}
                for name, rows in self.rows.items()
            },
            "skipped": [dict(one) for one in self.results.skipped],
        }


def _plain(row: Any) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, Estimate) else value
        for name, value in row._asdict().items()
    }


def _share(facts: PairFacts, run: BenchmarkRun) -> float:
    share = facts.share(run.score)
    return 1.0 if share is None else share


def _row(method: str, runs: list[BenchmarkRun], facts: PairFacts, steps: int | None) -> PairRow:
    """What runs came to; `steps` is None for what does not learn, and so takes none."""
    scores = np.array([run.score for run in runs])
    score = estimate(scores)
    share = regret = None
    reached: list[int | None] = []
    if facts.optimum is not None:
        share = estimate(np.array([_share(facts, run) for run in runs]))
        regret = facts.optimum - score.value
        reached = [_steps_to(facts, run, steps) for run in runs] if steps else []
    means = [run.welfare_of_means for run in runs if run.welfare_of_means is not None]
    return PairRow(
        method,
        len(runs),
        score,
        share,
        regret,
        median_steps(reached),
        len(reached) - reached.count(None),
        float(interquartile_mean(np.array(means))) if means else None,
        max(run.seconds for run in runs),
    )


def _steps_to(facts: PairFacts, run: BenchmarkRun, steps: int) -> int | None:
    """The steps from which on every evaluation is at the level."""
    there = np.array([[(facts.share(score) or 0.0) >= LEVEL] for score in run.curve])
    number = len(run.curve)
    return steps_to(there, (np.arange(number) + 1) * steps // number)[0]


def loss_sentences(board: Leaderboard) -> list[str]:
    """Where ours is not ahead of every peer that learns, in words; or that it is."""
    if OURS not in board.methods or not board.contested:
        return []
    if not board.losses:
        return [f"{OURS} is ahead of every peer that learns on all {board.contested} pairs."]
    lost = len(board.losses)
    first = f"{OURS} is not ahead of every peer that learns on {lost} of {board.contested} pairs:"
    return [first, *(f"  {_loss_words(board, loss)}" for loss in board.losses)]


def _loss_words(board: Leaderboard, loss: LostPair) -> str:
    known = board.results.pairs[loss.pair].optimum is not None
    ours, theirs = (f"{x:z.1%}" if known else f"{x:,.4g}" for x in (loss.ours, loss.theirs))
    if loss.ours == loss.theirs:
        return f"{loss.pair}: level with {loss.peer}, both {ours}."
    sure = "the intervals are apart" if loss.apart else "the intervals overlap"
    if loss.apart is None:
        sure = f"fewer than {FEWEST_RUNS} runs each, too few to tell"
    return f"{loss.pair}: {loss.peer} {theirs}, {OURS} {ours} ({sure})."
