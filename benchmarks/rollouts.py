"""Section 6: the speed of random rollouts, compared with a plain Python loop.

The compiled side is the library's own `rollouts`, with nothing special for the benchmark: every
step draws presence and action, updates the Full memory and computes the reward (the welfare or the
override). The plain side is the environment as one would write it for Gymnasium, with the same
memory and reward. Both run in a process of their own that is pinned to one core.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

RUNS = 4096  # in parallel: enough that the work of a step outweighs its overhead
REPEATS = 20
PLAIN_EPISODES = 100


def main() -> None:
    """One line per environment, measured in a subprocess on one core."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    settings = {**os.environ, "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, __file__, "--one-core"], env=settings, check=True)


def measure() -> None:
    """What the subprocess does."""
    if hasattr(os, "sched_setaffinity"):  # before jax starts its threads; Linux has it
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from evenhand.envs import Doughnuts, Lending
    from evenhand.fairness.welfare import LogNash, Parity
    from evenhand.memory.memory import Full, GroupFull

    doughnuts, lending = Doughnuts(), Lending()
    groups = GroupFull(lending.groups)  # "Full" for lending is the two group totals
    for name, env, memory, welfare, plain in (
        ("doughnuts", doughnuts, Full(), LogNash(), PlainDoughnuts(doughnuts)),
        ("lending", lending, groups, Parity(), PlainLending(lending)),
    ):
        compiled, compiling, score = compiled_speed(env, memory, welfare)
        looped, plain_score = plain_speed(plain, env.horizon)
        print(
            f"{name}: {compiled / 1e6:.2f} million steps per second on one core, compiled in "
            f"{compiling:.1f} s; plain Python loop {looped / 1e6:.3f} million "
            f"({compiled / looped:.0f} times slower); mean score {score:.1f} and "
            f"{plain_score:.1f}",
            flush=True,
        )


def compiled_speed(env: Any, memory: Any, welfare: Any) -> tuple[float, float, float]:
    """Steps per second (the best of several runs), seconds to compile, and the mean score."""
    import jax
    import jax.numpy as jnp

    from evenhand.envs import Random, rollouts

    act = Random(env.num_actions)

    @jax.jit
    def mean_score(key: Any) -> Any:
        runs = rollouts(env, act, memory, key, RUNS)
        override = runs.steps.override
        rewards = jnp.where(override.applies, override.value, welfare(runs.memories))
        return rewards.sum() / RUNS

    keys = jax.random.split(jax.random.key(0), REPEATS)
    first, score = _timed(lambda: mean_score(keys[0]).block_until_ready())
    best = min(_timed(lambda key=key: mean_score(key).block_until_ready())[0] for key in keys)
    return RUNS * env.horizon / best, first - best, float(score)


def plain_speed(env: gymnasium.Env, horizon: int) -> tuple[float, float]:
    """Steps per second of a Python loop with random actions, and the mean score."""

    def episodes() -> float:
        rng = np.random.default_rng(1)
        env.reset(seed=0)
        total = 0.0
        for _ in range(PLAIN_EPISODES):
            env.reset()
            ended = False
            while not ended:
                _, reward, ended, _, _ = env.step(int(rng.integers(env.action_space.n)))
                total += reward
        return total / PLAIN_EPISODES

    timings = [_timed(episodes) for _ in range(3)]
    best, score = min(timings)
    return PLAIN_EPISODES * horizon / best, score


class PlainDoughnuts(gymnasium.Env):
    """The doughnut shop by hand: presence, counts (Full memory), log Nash."""

    def __init__(self, env: Any) -> None:
        self.presence, self.horizon = np.array(env.presence), env.horizon
        self.action_space = gymnasium.spaces.Discrete(env.num_stakeholders)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.counts, self.time = np.zeros(len(self.presence)), 0
        return self._see(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        reward = 0.0
        if self.present[action]:
            self.counts[action] += 1
            reward = float(np.log(self.counts + 1).sum())
        self.time += 1
        return self._see(), reward, self.time == self.horizon, False, {}

    def _see(self) -> np.ndarray:
        self.present = self.np_random.random(len(self.presence)) < self.presence
        return self.present


class PlainLending(gymnasium.Env):
    """The bank by hand: applications, credit, profit, loans to each group (Full), parity."""

    def __init__(self, env: Any) -> None:
        self.horizon = env.horizon
        self.applying, self.start = np.array(env.applying), np.array(env.start_levels)
        self.group = np.array([0 if i in env.groups.members[0] else 1 for i in range(4)])
        self.action_space = gymnasium.spaces.Discrete(env.num_stakeholders)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.level, self.profit, self.time = self.start.copy(), 0, 0
        self.loans = np.zeros(2)
        return self._see(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        reward = -float(self.horizon)
        if self.applies[action]:
            credit = 0.2 + 0.1 * self.level[action]
            change = 1 if self.np_random.random() < credit else -1
            self.level[action] = min(max(self.level[action] + change, 0), 7)
            self.profit += change
            self.loans[self.group[action]] += 1
            reward = -abs(float(self.loans[0] - self.loans[1]))
        self.time += 1
        ended = self.time == self.horizon
        if ended and self.profit < math.ceil(0.1 * self.horizon):
            reward = -10.0 * self.horizon
        return self._see(), reward, ended, False, {}

    def _see(self) -> np.ndarray:
        self.applies = self.np_random.random(len(self.applying)) < self.applying
        return np.concatenate((self.applies, self.level, [self.profit]))


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    measure() if "--one-core" in sys.argv else main()
