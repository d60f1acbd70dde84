"""Episodes of a pair side by side, decided from outside: for methods that see one decision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.benchmarking.benchmark_world import BenchmarkPair
from evenhand.fairness.trace import Trace
from evenhand.learn.host import HostWorld
from evenhand.problem.problem import Problem
from evenhand.process.process import Transition

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


class StageStep(NamedTuple):
    """What a decision in each episode brought."""

    rewards: Float[np.ndarray, "episode stakeholder"]
    over: Bool[np.ndarray, " episode"]


class Stage(ABC):
    """So many episodes of a pair, each of which goes on until it is over."""

    observations: Float[np.ndarray, "episode feature"]
    scores: Float[np.ndarray, " episode"]  # of episodes that are over
    statuses: Float[np.ndarray, "episode status"]

    @abstractmethod
    def begin(self) -> None:
        """New episodes."""

    @abstractmethod
    def step(self, actions: Int[np.ndarray, " episode"]) -> StageStep:
        """A decision in each; in those that are over already it does nothing."""


class CompiledStage(Stage):
    """Episodes of a JAX environment, all of one length."""

    def __init__(self, pair: BenchmarkPair, episodes: int, seed: int) -> None:
        self.problem = pair.judge(pair.world.environment())
        self.episodes = episodes
        self.key = jax.random.key(seed)

    def begin(self) -> None:
        self.key, self.augmented, observations = _first(self.problem, self.key, self.episodes)
        self.observations = np.asarray(observations, dtype=np.float32)
        self.scores = np.zeros(self.episodes)
        self.time = 0

    def step(self, actions: Int[np.ndarray, " episode"]) -> StageStep:
        self.key, self.augmented, told = _next(
            self.problem, self.key, self.augmented, np.asarray(actions, dtype=np.int32)
        )
        rewards, pay, observations, self.statuses = jax.device_get(told)
        self.observations = np.asarray(observations, dtype=np.float32)
        self.scores = self.scores + self.problem.discount**self.time * pay
        self.time += 1
        over = np.full(self.episodes, self.time >= self.problem.environment.horizon)
        return StageStep(np.asarray(rewards, dtype=float), over)


@partial(jax.jit, static_argnames=("problem", "episodes"))
def _first(problem: Problem, key: Any, episodes: int) -> Any:
    # Not a closure of the stage: stages of one problem share what was compiled.
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


class HostStage(Stage):
    """Episodes of environments on the host, each with one of its own."""

    def __init__(self, pair: BenchmarkPair, episodes: int, seed: int) -> None:
        self.scheme = pair.scheme
        self.worlds: list[HostWorld] = [pair.world.environment() for _ in range(episodes)]  # type: ignore[misc]
        self.rng = np.random.default_rng(seed)

    def begin(self) -> None:
        self.states = [world.process.initial(self.rng) for world in self.worlds]
        self.received: list[list[Any]] = [[] for _ in self.worlds]
        self.over = np.zeros(len(self.worlds), dtype=bool)
        self.scores = np.zeros(len(self.worlds))
        self.statuses = np.zeros((len(self.worlds), self.worlds[0].num_stakeholders))
        self._show()

    def _show(self) -> None:
        both = zip(self.worlds, self.states, strict=True)
        self.observations = np.stack([world.seen(state) for world, state in both])

    def step(self, actions: Int[np.ndarray, " episode"]) -> StageStep:
        rewards = np.zeros((len(self.worlds), self.worlds[0].num_stakeholders))
        for k in np.flatnonzero(~self.over):
            world = self.worlds[k]
            answer: Transition = world.process.step(self.states[k], int(actions[k]), self.rng)
            self.states[k] = answer.next_state
            rewards[k] = answer.rewards
            self.received[k].append(np.asarray(answer.rewards, dtype=float))
            cut = len(self.received[k]) >= world.horizon
            if answer.terminated or answer.truncated or cut:
                self.over[k] = True
                trace = Trace(rewards=np.stack(self.received[k]))
                self.scores[k] = self.scheme.score(trace)
                self.statuses[k] = trace.rewards.sum(axis=0)
        self._show()
        return StageStep(rewards, self.over.copy())


def stage_for(pair: BenchmarkPair, episodes: int, seed: int) -> Stage:
    """Episodes of a pair, wherever its world runs."""
    kind = CompiledStage if pair.world.shared else HostStage
    return kind(pair, episodes, seed)
