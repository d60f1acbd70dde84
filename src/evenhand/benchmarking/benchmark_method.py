"""What takes part in the benchmark. A method of one's own is one class: a subclass of `Method`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from evenhand._util.registry import Registry
from evenhand.benchmarking.benchmark_world import BenchmarkPair
from evenhand.fairness.scheme import FairnessScheme

if TYPE_CHECKING:
    from jaxtyping import Float

BENCHMARK_METHODS = Registry("method of the benchmark")

SEARCHED = 4  # settings that are tried of each method, at most
AT_ONCE = 100  # episodes of an evaluation side by side, so that all evaluations are compiled once
Setting = Mapping[str, Any]
TrialProgress = Callable[[int, float], None]  # steps done, mean score


class Seen(NamedTuple):
    """What a method may see before a decision."""

    observation: Float[np.ndarray, " feature"]
    received: Float[np.ndarray, " stakeholder"]  # by each, so far in this episode
    time: int  # decisions made so far in this episode


class WorldFacts(NamedTuple):
    """What a method is told before it begins."""

    world: str
    num_actions: int
    num_stakeholders: int
    horizon: int
    observation_size: int
    scheme: FairnessScheme
    steps: int  # decisions that it may learn from


@dataclass(frozen=True)
class Trial:
    """One method with one setting on one pair, with all its seeds: the same budget for everybody.

    Args:
        pair: The world and the scheme.
        setting: The setting of the method.
        seeds: One run each.
        steps: Decisions that each run may learn from.
        every: After how many of them each evaluation comes; a divisor of `steps`.
        episodes: That an evaluation is the mean of, in full hundreds.
        final_episodes: That the last one is the mean of.
    """

    pair: BenchmarkPair
    setting: Setting
    seeds: tuple[int, ...]
    steps: int
    every: int
    episodes: int = 100
    final_episodes: int = 1000

    @property
    def checkpoints(self) -> int:
        return self.steps // self.every

    def episodes_at(self, checkpoint: int) -> int:
        """How many episodes the evaluation of a number (from 0) is the mean of."""
        return self.final_episodes if checkpoint + 1 == self.checkpoints else self.episodes


def rounds_of(episodes: int) -> int:
    """How many times `AT_ONCE` episodes are played, so that there are at least so many."""
    return -(-episodes // AT_ONCE)


class TrialOutcome(NamedTuple):
    """What a trial came to: every evaluation of every seed, and the mean status at the end."""

    scores: Float[np.ndarray, "checkpoint seed"]
    statuses: Float[np.ndarray, "seed status"]  # of the last evaluation


class NotForThis(Exception):
    """A method that cannot be run on a pair; it says why."""


class Contestant(ABC):
    """Anything that can be run on a pair. Most are a `Method`."""

    learns: ClassVar[bool] = True

    @classmethod
    def settings_for(cls, pair: BenchmarkPair) -> list[dict[str, Any]]:
        """The settings that are tried on a pair, at most four; the best on two seeds is taken."""
        return [{}]

    @classmethod
    @abstractmethod
    def compete(cls, trial: Trial, progress: TrialProgress) -> TrialOutcome:
        """All seeds of a trial; `NotForThis` where it cannot be run on the pair."""


class Method(Contestant):
    """A method that sees one decision at a time. Every run has a new object, `Method(**setting)`.

    The benchmark runs the episodes. Before each decision it asks `act`; while learning, it says in
    `learn` what came of it. Evaluations ask `act` alone, with `explore=False`, in the middle of
    learning, for episodes of their own: what is learned from must be kept in `learn`.
    """

    settings: ClassVar[tuple[Setting, ...]] = ({},)

    @classmethod
    def settings_for(cls, pair: BenchmarkPair) -> list[dict[str, Any]]:
        return [dict(setting) for setting in cls.settings[:SEARCHED]]

    def begin(self, facts: WorldFacts, seed: int) -> None:
        """Before the first decision: what there is to learn, and the seed of all randomness.

        Args:
            facts: The size of the world, its scheme, and how many steps may be learned from.
            seed: Of this run.
        """

    @abstractmethod
    def act(self, seen: Seen, explore: bool) -> int:
        """The number of an action, from 0.

        Args:
            seen: What there is to see.
            explore: Whether it is learned from; otherwise it is an evaluation.
        """

    def learn(
        self,
        seen: Seen,
        action: int,
        rewards: Float[np.ndarray, " stakeholder"],
        after: Seen,
        over: bool,
    ) -> None:
        """What came of a decision.

        Args:
            seen: What was seen before it.
            action: What was done.
            rewards: What each stakeholder received.
            after: What is seen now.
            over: Whether the episode ended with it.
        """

    @classmethod
    def compete(cls, trial: Trial, progress: TrialProgress) -> TrialOutcome:
        from evenhand.benchmarking.stepwise_runs import run_stepwise

        return run_stepwise(cls, trial, progress)
