"""The methods that take part by name: FairQCM as it is by default, its peers, and fixed policies.

All that learn share a network and its numbers where they can: those that the default recipe
derives from the problem. What differs is what each of them is: its reward, its memory, its update.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import jax
import numpy as np

from evenhand.decide.policies import rule_for
from evenhand.envs import Act, Environment, Random
from evenhand.errors import BadParameter, CannotPlan
from evenhand.lab.benchmark_worlds import BenchmarkPair
from evenhand.lab.peers import (
    DiscountedReceipts,
    GiniDQN,
    GiniNetwork,
    TableRow,
    WelfareQLearning,
    WelfareTable,
    candidate_weights,
    halving_weights,
    linear_scheme,
)
from evenhand.lab.recipes import host_learner, with_numbers_of
from evenhand.lab.trials import (
    AT_ONCE,
    BENCHMARK_METHODS,
    SEARCHED,
    BenchmarkMethod,
    NotForThis,
    Setting,
    Trial,
    TrialOutcome,
    TrialProgress,
    in_rounds,
    judged_policy,
    rollout_for,
    run_agent,
)
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.dqn import DQN, RecurrentDQN
from evenhand.learn.deep.networks import Recurrent
from evenhand.learn.imagined_memories import Above, NoProposal
from evenhand.learn.recipe import default_learner
from evenhand.learn.schedules import ExplorationBySteps
from evenhand.memory.memory import LastWinner, Memory, Nothing
from evenhand.planning.restricted import ascend, restrict, starts
from evenhand.problem.problem import Problem

RATES = (1e-3, 3e-4, 2e-3, 4e-3)  # the learning rates that are tried of every network
RANDOM_STARTS = 2  # policies without memory to ascend from, besides the two that are not random


class AgentMethod(BenchmarkMethod):
    """A method that is an agent of the package."""

    @classmethod
    def settings_for(cls, pair: BenchmarkPair) -> list[dict[str, Any]]:
        return [{"learning_rate": rate} for rate in RATES[:SEARCHED]]

    @abstractmethod
    def agent(self, problem: Problem, steps: int, setting: Setting) -> DeepAgent:
        """The agent for a problem, which it may change to one of its own."""

    @classmethod
    def run_trial(cls, trial: Trial, progress: TrialProgress) -> TrialOutcome:
        make = lambda problem: cls().agent(problem, trial.steps, trial.setting)  # noqa: E731
        return run_agent(make, trial, progress)


@BENCHMARK_METHODS.register("fairqcm")
class FairQCMDefault(AgentMethod):
    """FairQCM with the default recipe, derived from the problem; on the host, plain numbers."""

    def agent(self, problem: Problem, steps: int, setting: Setting) -> DQN:
        if not problem.environment.compiled:
            return host_learner(problem, steps, Above(1), setting)
        return default_learner(problem, steps=steps, **setting)


def _plain(problem: Problem, steps: int, setting: Setting) -> DQN:
    """DQN of the default recipe that sees the problem's own memory and imagines nothing."""
    if not problem.environment.compiled:
        return host_learner(problem, steps, NoProposal(), setting)
    return default_learner(problem, steps=steps, keep_memory=True, proposal=NoProposal(), **setting)


@BENCHMARK_METHODS.register("dqn")
class SumDQN(AgentMethod):
    """Deep Q-learning on the sum of all rewards, without memory but for the time."""

    def agent(self, problem: Problem, steps: int, setting: Setting) -> DQN:
        weights = (1.0,) * problem.environment.num_stakeholders
        own = replace(problem, scheme=linear_scheme(weights), memory=Nothing())
        return _plain(own, steps, setting)


@BENCHMARK_METHODS.register("linear")
class LinearScalarisation(AgentMethod):
    """The same on a weighted sum, with the best of several weights."""

    @classmethod
    def settings_for(cls, pair: BenchmarkPair) -> list[dict[str, Any]]:
        size = pair.world.environment().num_stakeholders
        return [{"weights": list(weights)} for weights in candidate_weights(size, SEARCHED)]

    def agent(self, problem: Problem, steps: int, setting: Setting) -> DQN:
        size = problem.environment.num_stakeholders
        weights = tuple(size * weight for weight in setting["weights"])
        own = replace(problem, scheme=linear_scheme(weights), memory=Nothing())
        return _plain(own, steps, {})


@BENCHMARK_METHODS.register("ggf_dqn")
class GGFDQN(AgentMethod):
    """GGF-DQN (Siddique et al., 2020): vectors of values, judged by generalised Gini welfare."""

    def agent(self, problem: Problem, steps: int, setting: Setting) -> GiniDQN:
        size = problem.environment.num_stakeholders
        own = replace(problem, scheme=linear_scheme((1.0,) * size), memory=Nothing())
        plain, network = _plain(own, steps, setting), GiniNetwork(halving_weights(size))
        return with_numbers_of(plain, GiniDQN, network=network, shaping=False)


@BENCHMARK_METHODS.register("welfare_q")
class WelfareQ(AgentMethod):
    """Welfare Q-learning (Fan et al., 2023): a table of vectors, scalarised when acting."""

    @classmethod
    def settings_for(cls, pair: BenchmarkPair) -> list[dict[str, Any]]:
        return [
            {"learning_rate": rate, "optimism": optimism}
            for rate in (0.1, 0.3)
            for optimism in (0.0, 1.0)
        ]

    def agent(self, problem: Problem, steps: int, setting: Setting) -> WelfareQLearning:
        own = replace(problem, scheme=linear_scheme((1.0,) * problem.environment.num_stakeholders))
        discount = 1.0
        most = getattr(problem.environment, "reward_bounds", lambda: (0.0, 1.0))()[1]
        initial = setting["optimism"] * (most if np.isfinite(most) else 1.0)
        return WelfareQLearning(
            problem=replace(own, memory=DiscountedReceipts(discount)),
            encoder=TableRow(),
            network=WelfareTable(_welfare(problem), discount, initial),
            discount=discount,
            learning_rate=setting["learning_rate"],
            exploration=ExplorationBySteps(max(1, steps // 3)),
            horizon_terminates=True,
            acts_with_target=False,
        )


def _welfare(problem: Problem) -> Any:
    welfare = problem.scheme.welfare
    assert welfare is not None  # every scheme of the benchmark has one
    return welfare


@BENCHMARK_METHODS.register("rnn")
class RecurrentAgent(AgentMethod):
    """A recurrent network that learns what to remember (the paper's baseline)."""

    def agent(self, problem: Problem, steps: int, setting: Setting) -> RecurrentDQN:
        own = replace(problem, memory=LastWinner())
        plain = _plain(own, steps, setting)
        network = Recurrent((32, 32), 32)
        return with_numbers_of(plain, RecurrentDQN, network=network, capacity=5_000, batch=128)


class FixedMethod(BenchmarkMethod):
    """A policy that does not learn: its score is the same after every number of steps."""

    learns: ClassVar[bool] = False

    @abstractmethod
    def score(self, trial: Trial, seed: int) -> tuple[float, np.ndarray]:
        """Its score, and the mean status at the end (none where it is not known)."""

    @classmethod
    def run_trial(cls, trial: Trial, progress: TrialProgress) -> TrialOutcome:
        policy = cls()
        found = [policy.score(trial, seed) for seed in trial.seeds]
        scores = np.broadcast_to(
            np.array([score for score, _ in found]), (trial.checkpoints, len(found))
        )
        progress(trial.steps, float(scores.mean()))
        return TrialOutcome(scores, np.array([status for _, status in found]))


def _played(trial: Trial, act: Act, memory: Memory, seed: int) -> tuple[float, np.ndarray]:
    problem = replace(trial.pair.problem(), memory=memory)
    judge, key = trial.pair.judge(problem.environment), jax.random.key(seed)
    play = lambda k: judged_policy(problem, judge, act, jax.random.fold_in(key, k), AT_ONCE)  # noqa: E731
    score, status = in_rounds(play, trial.final_episodes)
    return float(score), np.asarray(status, dtype=float)


@BENCHMARK_METHODS.register("random")
class RandomMethod(FixedMethod):
    """Every action with the same chance."""

    def score(self, trial: Trial, seed: int) -> tuple[float, np.ndarray]:
        environment = trial.pair.world.environment()
        if trial.pair.world.shared:
            return _played(trial, Random(environment.num_actions), Nothing(), seed)
        rng, rollout = np.random.default_rng(seed), rollout_for(trial.pair, AT_ONCE, seed)
        choose = lambda _: rng.integers(0, environment.num_actions, AT_ONCE)  # noqa: E731
        scores, statuses = rollout.play(choose)
        return float(scores.mean()), statuses.mean(axis=0)


class RuleMethod(FixedMethod):
    """A simple rule of who is next, where an action serves one of those present."""

    rule: ClassVar[str]

    def score(self, trial: Trial, seed: int) -> tuple[float, np.ndarray]:
        environment: Any = trial.pair.world.environment()
        try:
            policy = rule_for(environment, self.rule) if trial.pair.world.shared else None
        except BadParameter as error:
            raise NotForThis(str(error)) from None
        if policy is None:
            raise NotForThis(f"{self.rule} is put into environments of the package alone.")
        return _played(trial, policy, policy.memory(), seed)


@BENCHMARK_METHODS.register("least_served")
class LeastServedRule(RuleMethod):
    """Of those present, whoever has received least."""

    rule = "least_served"


@BENCHMARK_METHODS.register("longest_wait")
class LongestWaitRule(RuleMethod):
    """Of those present, whoever has waited longest."""

    rule = "longest_wait"


@BENCHMARK_METHODS.register("lottery")
class LotteryRule(RuleMethod):
    """Of those present, anybody with equal chance."""

    rule = "lottery"


@BENCHMARK_METHODS.register("memoryless_plan")
class MemorylessPlan(FixedMethod):
    """The best policy found that sees the state and the time, and remembers nothing; exact."""

    def score(self, trial: Trial, seed: int) -> tuple[float, np.ndarray]:
        return _best_without_memory(trial.pair)  # whatever the seed


@functools.lru_cache(maxsize=1)
def _best_without_memory(pair: BenchmarkPair) -> tuple[float, np.ndarray]:
    environment = pair.world.planned()
    if environment is None:
        raise NotForThis("its world is not known to a planner.")
    problem = Problem(environment, pair.scheme, Nothing())
    try:
        restricted = restrict(problem)
    except CannotPlan as error:
        raise NotForThis(str(error)) from None
    rng = np.random.default_rng(0)
    found = (ascend(restricted, first)[0] for first in starts(restricted, rng, RANDOM_STARTS))
    return max(found), np.full(environment.num_stakeholders, np.nan)


def every_method(pair: BenchmarkPair) -> list[str]:
    """The methods that can be tried on a pair."""
    environment: Any = pair.world.environment()
    rules = isinstance(environment, Environment) and environment.takes_turns
    return [
        name
        for name, kind in BENCHMARK_METHODS.classes.items()
        if rules or not issubclass(kind, RuleMethod)
    ]
