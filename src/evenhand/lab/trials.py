"""Trials of the benchmark: one method with one setting on one pair of world and scheme.

A method of one's own is one class, a subclass of `Method`, which decides one decision at a time.
The package's agents are compiled with the environment, or driven from the host. Whatever a method
was taught (another reward, another memory), its episodes are scored by the scheme of the pair.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand import __version__
from evenhand._util.registry import Registry
from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.trace import Step, Trace
from evenhand.lab.benchmark_worlds import BenchmarkPair, pair_of
from evenhand.lab.runs import Progress, Run, save_run, versions
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.encoders import Encoder
from evenhand.learn.deep.networks import Network
from evenhand.learn.host import HostLoop, HostWorld
from evenhand.learn.policies import Greedy
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.problem.problem import AugmentedState, Problem
from evenhand.process import Transition

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

BENCHMARK_METHODS = Registry("method of the benchmark")

SEARCHED = 4  # settings that are tried of each method, at most
AT_ONCE = 100  # episodes of an evaluation side by side, so that all evaluations are compiled once
ON_HOST = 5  # so many times fewer episodes of a network on the host, where each step is a call
TRIAL_BYTES = 1_500_000_000  # that a process takes to do a trial, roughly
# Evaluations have randomness of their own: added to the seed of a method that sees one decision,
# and folded into the key of an agent.
STEPWISE_EVALUATION, AGENT_EVALUATION = 1_000_003, 2_000_003

Setting = Mapping[str, Any]
TrialProgress = Callable[[int, float], None]  # steps done, mean score


class TrialOutcome(NamedTuple):
    """What a trial came to: every evaluation of every seed, and the mean status at the end."""

    scores: Float[np.ndarray, "checkpoint seed"]
    statuses: Float[np.ndarray, "seed status"]  # of the last evaluation


class NotForThis(Exception):
    """A method that cannot be run on a pair; it says why."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One method with one setting on one pair, with all its seeds: the same budget for everybody.

    It is done whole or not at all. Nothing in it depends on where or when it is done, so that a
    benchmark that was killed goes on to the same numbers.

    Args:
        pair: The world and the scheme.
        method: The name of the method.
        setting: The setting of the method.
        seeds: One run each.
        steps: Decisions that each run may learn from.
        every: After how many of them each evaluation comes; a divisor of `steps`.
        episodes: That an evaluation is the mean of, in full hundreds.
        final_episodes: That the last one is the mean of.
        version: The version of evenhand that it was begun with.
    """

    pair: BenchmarkPair
    method: str
    setting: Setting
    seeds: tuple[int, ...]
    steps: int
    every: int
    episodes: int = 100
    final_episodes: int = 1000
    version: str = __version__

    @property
    def title(self) -> str:
        return f"{self.method} on {self.pair.name}"

    @property
    def checkpoints(self) -> int:
        return self.steps // self.every

    def episodes_at(self, checkpoint: int) -> int:
        """How many episodes the evaluation of a number (from 0) is the mean of."""
        return self.final_episodes if checkpoint + 1 == self.checkpoints else self.episodes

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "pair": self.pair.to_json(), "seeds": list(self.seeds)}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Trial:
        return cls(**{**table, "pair": pair_of(table["pair"]), "seeds": tuple(table["seeds"])})

    def in_words(self) -> str:
        """One text for what JSON writes alike, such as tuples and lists."""
        return json.dumps(self.to_json(), sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trial) and self.in_words() == other.in_words()

    def bytes_needed(self) -> int:
        """How much memory a process takes to do it."""
        return TRIAL_BYTES

    def run(self, path: Path, progress: Progress) -> Run:
        """Everything that the trial asks for, in this process; written to the file."""
        from evenhand.lab.benchmark_methods import BENCHMARK_METHODS  # theirs are registered

        method: type[BenchmarkMethod] = BENCHMARK_METHODS.get(self.method)
        started = time.perf_counter()
        try:
            found = method.run_trial(self, lambda done, score: progress(done, self.steps, score))
        except NotForThis as reason:
            scores = np.zeros((self.checkpoints, len(self.seeds)))
            took = 0.0
            about: dict[str, Any] = {"skipped": str(reason)}
        else:
            scores = np.ascontiguousarray(found.scores, dtype=float)
            took = round(time.perf_counter() - started, 3)
            means = [welfare_of_means(self.pair, status) for status in found.statuses]
            about = {"welfare_of_means": means}
        run = Run(self, {}, {"score": scores}, took, versions=versions(), about=about)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_run(run, path)
        return run


def welfare_of_means(pair: BenchmarkPair, status: Float[np.ndarray, " status"]) -> float | None:
    """SER: the welfare of the mean status at the end, where the scheme is of the end alone."""
    welfare = pair.scheme.welfare
    if not pair.long_term or welfare is None or not np.isfinite(status).all():
        return None
    if status.min(initial=np.inf) < welfare.least_status:
        return None
    value = float(welfare(np.asarray(status, dtype=float)))
    return value if np.isfinite(value) else None


class BenchmarkMethod(ABC):
    """Anything that can be run on a pair. Most are a `Method`."""

    learns: ClassVar[bool] = True

    @classmethod
    def settings_for(cls, pair: BenchmarkPair) -> list[dict[str, Any]]:
        """The settings that are tried on a pair, at most four; the best on two seeds is taken."""
        return [{}]

    @classmethod
    @abstractmethod
    def run_trial(cls, trial: Trial, progress: TrialProgress) -> TrialOutcome:
        """All seeds of a trial; `NotForThis` where it cannot be run on the pair."""


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


class Method(BenchmarkMethod):
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
    def run_trial(cls, trial: Trial, progress: TrialProgress) -> TrialOutcome:
        return _seed_by_seed(trial, progress, partial(_learned_by_decisions, cls, trial))


OneSeed = Callable[[int], tuple[list[float], "Float[np.ndarray, ' status']"]]


def _seed_by_seed(trial: Trial, progress: TrialProgress, one: OneSeed) -> TrialOutcome:
    """All seeds, one after the other: the curve of each, and the status where it ends."""
    curves, ends = [], []
    for number, seed in enumerate(trial.seeds):
        curve, status = one(seed)
        curves.append(curve)
        ends.append(status)
        progress(trial.steps * (number + 1) // len(trial.seeds), float(curve[-1]))
    return TrialOutcome(np.array(curves).T, np.array(ends))


# Episodes side by side, decided from outside.


class RolloutStep(NamedTuple):
    """What a decision in each episode brought."""

    rewards: Float[np.ndarray, "episode stakeholder"]
    over: Bool[np.ndarray, " episode"]


class VectorRollout(ABC):
    """So many episodes of a pair, each of which goes on until it is over."""

    size: tuple[int, int]  # episodes, stakeholders
    observations: Float[np.ndarray, "episode feature"]
    scores: Float[np.ndarray, " episode"]  # of episodes that are over
    statuses: Float[np.ndarray, "episode status"]

    def begin(self) -> None:
        """New episodes."""
        self.received, self.time = np.zeros(self.size), 0
        self._begin()

    def step(self, actions: Int[np.ndarray, " episode"]) -> RolloutStep:
        """A decision in each; in those that are over already it does nothing."""
        brought = self._step(actions)
        self.received = self.received + brought.rewards
        self.time += 1
        return brought

    def seen(self, episode: int) -> Seen:
        """What there is to see in one of them."""
        return Seen(self.observations[episode], self.received[episode], self.time)

    def play(self, choose: Callable[[Any], Int[np.ndarray, " episode"]]) -> tuple[Any, Any]:
        """Scores and statuses of new episodes to their end; `choose` is told which are over."""
        self.begin()
        over = np.zeros(self.size[0], dtype=bool)
        while not over.all():
            over = self.step(choose(over)).over
        return self.scores, self.statuses

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _step(self, actions: Int[np.ndarray, " episode"]) -> RolloutStep: ...


class CompiledRollout(VectorRollout):
    """Episodes of a JAX environment, all of one length."""

    def __init__(self, pair: BenchmarkPair, episodes: int, seed: int) -> None:
        self.problem = pair.judge(pair.world.environment())
        self.size = episodes, self.problem.environment.num_stakeholders
        self.key = jax.random.key(seed)

    def _begin(self) -> None:
        self.key, self.augmented, observations = _first(self.problem, self.key, self.size[0])
        self.observations = np.asarray(observations, dtype=np.float32)
        self.scores = np.zeros(self.size[0])

    def _step(self, actions: Int[np.ndarray, " episode"]) -> RolloutStep:
        self.key, self.augmented, told = _next(
            self.problem, self.key, self.augmented, np.asarray(actions, dtype=np.int32)
        )
        rewards, pay, observations, self.statuses = jax.device_get(told)
        self.observations = np.asarray(observations, dtype=np.float32)
        self.scores = self.scores + self.problem.discount**self.time * pay
        over = np.full(self.size[0], self.time + 1 >= self.problem.environment.horizon)
        return RolloutStep(np.asarray(rewards, dtype=float), over)


@partial(jax.jit, static_argnames=("problem", "episodes"))
def _first(problem: Problem, key: Any, episodes: int) -> Any:
    # Not a closure of the rollout: rollouts of one problem share what was compiled.
    def first(key: Any) -> Any:
        augmented = problem.initial(key)
        return augmented, _look(problem, augmented.state)

    key, fresh = jax.random.split(key)
    return key, *jax.vmap(first)(jax.random.split(fresh, episodes))


@partial(jax.jit, static_argnames="problem")
def _next(problem: Problem, key: Any, augmented: Any, actions: Any) -> Any:
    def following(key: Any, augmented: Any, action: Any) -> Any:
        after, step, pay = problem.step(key, augmented, action)
        status = problem.scheme.status.value(after.scheme_state.status)
        return after, (step.rewards, pay, _look(problem, after.state), status)

    key, fresh = jax.random.split(key)
    return key, *jax.vmap(following)(jax.random.split(fresh, actions.shape[0]), augmented, actions)


def _look(problem: Problem, state: Any) -> Any:
    parts = problem.environment.attributes(state)
    return jnp.concatenate([jnp.zeros(0), *(jnp.ravel(part.values) for part in parts)])


class HostRollout(VectorRollout):
    """Episodes of environments on the host, each with one of its own."""

    def __init__(self, pair: BenchmarkPair, episodes: int, seed: int) -> None:
        self.scheme = pair.scheme
        self.worlds: list[HostWorld] = [pair.world.environment() for _ in range(episodes)]  # type: ignore[misc]
        self.size = episodes, self.worlds[0].num_stakeholders
        self.rng = np.random.default_rng(seed)

    def _begin(self) -> None:
        self.states = [world.process.initial(self.rng) for world in self.worlds]
        self.rewards: list[list[Any]] = [[] for _ in self.worlds]
        self.over = np.zeros(self.size[0], dtype=bool)
        self.scores, self.statuses = np.zeros(self.size[0]), np.zeros(self.size)
        self._show()

    def _show(self) -> None:
        both = zip(self.worlds, self.states, strict=True)
        self.observations = np.stack([world.seen(state) for world, state in both])

    def _step(self, actions: Int[np.ndarray, " episode"]) -> RolloutStep:
        rewards = np.zeros(self.size)
        for k in np.flatnonzero(~self.over):
            world = self.worlds[k]
            answer: Transition = world.process.step(self.states[k], int(actions[k]), self.rng)
            self.states[k] = answer.next_state
            rewards[k] = answer.rewards
            self.rewards[k].append(np.asarray(answer.rewards, dtype=float))
            cut = len(self.rewards[k]) >= world.horizon
            if answer.terminated or answer.truncated or cut:
                self.over[k] = True
                trace = Trace(rewards=np.stack(self.rewards[k]))
                self.scores[k] = self.scheme.score(trace)
                self.statuses[k] = trace.rewards.sum(axis=0)
        self._show()
        return RolloutStep(rewards, self.over.copy())


def rollout_for(pair: BenchmarkPair, episodes: int, seed: int) -> VectorRollout:
    """Episodes of a pair, wherever its world runs."""
    kind = CompiledRollout if pair.world.shared else HostRollout
    return kind(pair, episodes, seed)


def rounds_of(episodes: int) -> int:
    """How many times `AT_ONCE` episodes are played, so that there are at least so many."""
    return -(-episodes // AT_ONCE)


# Methods that decide one decision at a time, and learn from it.


def _learned_by_decisions(
    kind: type[Method], trial: Trial, seed: int
) -> tuple[list[float], Float[np.ndarray, " status"]]:
    rollout = rollout_for(trial.pair, 1, seed)
    rollout.begin()
    environment = trial.pair.world.environment()
    facts = WorldFacts(
        trial.pair.world.label,
        environment.num_actions,
        environment.num_stakeholders,
        environment.horizon,
        rollout.observations.shape[1],
        trial.pair.scheme,
        trial.steps,
    )
    method = kind(**trial.setting)
    method.begin(facts, seed)
    exam = rollout_for(trial.pair, AT_ONCE, STEPWISE_EVALUATION + seed)
    curve: list[float] = []
    status = np.zeros(0)
    rollout.begin()
    for checkpoint in range(trial.checkpoints):
        for _ in range(trial.every):
            _learn_once(method, rollout, facts)
        score, status = _examined(method, exam, facts, trial.episodes_at(checkpoint))
        curve.append(score)
    return curve, status


def _learn_once(method: Method, rollout: VectorRollout, facts: WorldFacts) -> None:
    before = rollout.seen(0)
    action = action_of(method, before, True, facts)
    rewards, over = rollout.step(np.array([action]))
    method.learn(before, action, rewards[0], rollout.seen(0), bool(over[0]))
    if over[0]:
        rollout.begin()


def _examined(
    method: Method, exam: VectorRollout, facts: WorldFacts, episodes: int
) -> tuple[float, Float[np.ndarray, " status"]]:
    """The mean score of so many episodes, and the mean status at their ends."""

    def choose(over: Any) -> Int[np.ndarray, " episode"]:
        actions = np.zeros(AT_ONCE, dtype=np.int32)
        for k in np.flatnonzero(~over):
            actions[k] = action_of(method, exam.seen(int(k)), False, facts)
        return actions

    ends = [exam.play(choose) for _ in range(rounds_of(episodes))]
    statuses = np.concatenate([status for _, status in ends])
    return float(np.mean([scores for scores, _ in ends])), np.mean(statuses, axis=0)


def action_of(method: Method, seen: Seen, explore: bool, facts: WorldFacts) -> int:
    """What the method does; anything but the number of an action is refused."""
    action: Any = method.act(seen, explore)
    whole = isinstance(action, int | np.integer) and not isinstance(action, bool)
    if not whole and getattr(action, "shape", None) == ():
        whole = np.issubdtype(np.asarray(action).dtype, np.integer)
    if not whole or not 0 <= int(action) < facts.num_actions:
        given = "no action" if action is None else short_repr(action)
        raise BadParameter(
            f"{type(method).__name__}.act gave {given} on {facts.world} at time {seen.time}: it "
            f"must give a whole number from 0 to {facts.num_actions - 1}."
        )
    return int(action)


# Agents of the package, and policies that do not learn.


class JudgedEpisode(NamedTuple):
    """The score of an episode by the pair's scheme, and the status at its end."""

    score: Float[Array, ""]
    status: Float[Array, " status"]


Decide = Callable[[Any, Any, AugmentedState], tuple[Any, Any]]  # key, carry, state


def judged_episode(
    own: Problem, judge: Problem, decide: Decide, carry: Any, key: Any
) -> JudgedEpisode:
    """One episode, in which a policy sees its own problem and the judge scores what happens."""
    first, acting, stepping = jax.random.split(key, 3)
    environment: Any = own.environment
    seen = own.initial(first)
    scored = judge.initial(first)._replace(state=seen.state)
    horizon = environment.horizon
    keys = jax.random.split(acting, horizon), jax.random.split(stepping, horizon)

    def decision(carried: Any, at: Any) -> tuple[Any, Any]:
        seen, scored, carry = carried
        time, act_key, step_key = at
        carry, action = decide(act_key, carry, seen)
        state, step = environment.step(step_key, seen.state, action)
        if not environment.may_override:
            step = step._replace(override=None)
        over = environment.is_over(state)
        after, _ = own.after(seen, step, state, over)
        scored, pay = judge.after(scored, step, state, over)
        return (after, scored, carry), judge.discount**time * pay

    start = (seen, scored, carry)
    (_, scored, _), pay = jax.lax.scan(decision, start, (jnp.arange(horizon), *keys))
    return JudgedEpisode(jnp.sum(pay), judge.scheme.status.value(scored.scheme_state.status))


def _mean_episode(
    own: Problem, judge: Problem, decide: Decide, carry: Any, key: Any, episodes: int
) -> JudgedEpisode:
    play = partial(judged_episode, own, judge, decide, carry)
    played = jax.vmap(play)(jax.random.split(key, episodes))
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), played)


@partial(jax.jit, static_argnames=("own", "judge", "encoder", "network", "episodes"))
def _judged_agents(
    own: Problem,
    judge: Problem,
    encoder: Encoder,
    network: Network,
    weights: Any,
    keys: Any,
    episodes: int,
) -> JudgedEpisode:
    def one(weights: Any, key: Any) -> JudgedEpisode:
        policy = Greedy(own, encoder, network, weights)
        decide = lambda _, carry, seen: policy.decide(carry, seen)  # noqa: E731
        return _mean_episode(own, judge, decide, policy.start(), key, episodes)

    return jax.vmap(one)(weights, keys)


@partial(jax.jit, static_argnames=("own", "judge", "act", "episodes"))
def judged_policy(own: Problem, judge: Problem, act: Any, key: Any, episodes: int) -> JudgedEpisode:
    """The means over episodes of a policy act(key, state, memory) that does not learn."""
    decide = lambda key, carry, seen: (carry, act(key, seen.state, seen.memory))  # noqa: E731
    return _mean_episode(own, judge, decide, (), key, episodes)


def in_rounds(play: Callable[[int], JudgedEpisode], episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The means over rounds of equal size, which are compiled once."""
    rounds = [jax.device_get(play(number)) for number in range(rounds_of(episodes))]
    return tuple(np.mean([one[k] for one in rounds], axis=0) for k in range(2))


def run_agent(
    make: Callable[[Problem], DeepAgent], trial: Trial, progress: TrialProgress
) -> TrialOutcome:
    """All seeds of an agent that is made for a problem."""
    if not trial.pair.world.shared:
        return _seed_by_seed(trial, progress, partial(_learned_on_host, make, trial))
    problem = trial.pair.problem()
    agent = make(problem)
    judge = trial.pair.judge(problem.environment)
    keys = seed_keys(trial.seeds)
    learners = start_learners(agent, keys)
    curve, statuses = [], np.zeros(0)
    for checkpoint in range(trial.checkpoints):
        learners = agent.train_steps(learners, trial.every)

        def play(
            number: int, learners: Any = learners, checkpoint: int = checkpoint
        ) -> JudgedEpisode:
            at = AGENT_EVALUATION + 1000 * checkpoint + number
            fresh = jax.vmap(lambda key: jax.random.fold_in(key, at))(keys)
            how = agent.problem, judge, agent.encoder, agent.network
            return _judged_agents(*how, agent.acting(learners), fresh, AT_ONCE)

        scores, statuses = in_rounds(play, trial.episodes_at(checkpoint))
        curve.append(scores)
        progress((checkpoint + 1) * trial.every, float(scores.mean()))
    return TrialOutcome(np.array(curve, dtype=float), np.asarray(statuses, dtype=float))


def _learned_on_host(
    make: Callable[[Problem], DeepAgent], trial: Trial, seed: int
) -> tuple[list[float], Float[np.ndarray, " status"]]:
    agent = make(trial.pair.problem())
    loop = HostLoop(agent, np.random.default_rng(seed), seed)
    policy = _HostPolicy(agent)
    curve, status = [], np.zeros(0)
    for checkpoint in range(trial.checkpoints):
        loop.train_steps(trial.every)
        episodes = max(1, trial.episodes_at(checkpoint) // ON_HOST)
        rollout = rollout_for(trial.pair, 1, AGENT_EVALUATION + 1000 * seed + checkpoint)
        score, status = policy.score(rollout, loop.weights, episodes)
        curve.append(score)
    return curve, status


class _HostPolicy:
    """A greedy policy whose own problem goes on beside an environment on the host."""

    def __init__(self, agent: DeepAgent) -> None:
        self.agent, self.problem = agent, agent.problem

    @cached_property
    def first(self) -> AugmentedState:
        return self.problem.initial(jax.random.key(0))

    @cached_property
    def decide(self) -> Any:
        def decide(weights: Any, carry: Any, seen: AugmentedState) -> Any:
            features = self.agent.encode(seen)
            carry, values = self.agent.network.apply(weights, carry, features)
            return carry, jnp.argmax(values)

        return jax.jit(decide)

    @cached_property
    def follow(self) -> Any:
        def follow(seen: AugmentedState, action: Any, rewards: Any, state: Any, over: Any) -> Any:
            return self.problem.after(seen, Step(action, rewards, state, None), state, over)[0]

        return jax.jit(follow)

    def score(
        self, rollout: VectorRollout, weights: Any, episodes: int
    ) -> tuple[float, Float[np.ndarray, " status"]]:
        """The mean score of greedy episodes, one after the other in one environment."""
        scores, statuses = [], []
        for _ in range(episodes):
            rollout.begin()
            seen = self.first._replace(state=jnp.asarray(rollout.observations[0]))
            carry, over = self.agent.network.start(), False
            while not over:
                carry, action = self.decide(weights, carry, seen)
                rewards, ended = rollout.step(np.array([int(action)]))
                over = bool(ended[0])
                paid = rewards[0].astype(np.float32)
                seen = self.follow(seen, action, paid, rollout.observations[0], over)
            scores.append(rollout.scores[0])
            statuses.append(rollout.statuses[0])
        return float(np.mean(scores)), np.mean(statuses, axis=0)
