"""What learning is measured against: the exact optimum, and policies that do not learn."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from evenhand.envs import Act, Environment, Random
from evenhand.errors import CannotPlan
from evenhand.learn.policies.greedy_policy import GreedyScore
from evenhand.memory.memory import Full
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

EPISODES = 10_000  # that the score of a policy is the mean of, where it is sampled


@dataclass(frozen=True)
class Yardstick:
    """The least and the most there is to be had. No optimum where it cannot be planned."""

    optimum: float | None
    random: float

    def level(self, share: float) -> float:
        """That share of the optimum; of the way from random to it where scores are negative."""
        assert self.optimum is not None
        if self.optimum > 0:
            return share * self.optimum
        return self.random + share * (self.optimum - self.random)


@functools.lru_cache(maxsize=16)
def yardstick(environment: Environment) -> Yardstick:
    """The exact optimum under the environment's own scheme, and what acting at random scores."""
    scheme, memory = environment.default_scheme(), environment.planning_memory()
    problem = Problem(environment, scheme, Full() if memory is None else memory)
    try:
        found = plan(problem, use_memory=memory is not None)
    except CannotPlan:
        policy = Random(environment.num_actions)
        return Yardstick(None, float(sampled(problem, policy).score))
    return Yardstick(found.value, found.random_value())


def sampled(problem: Problem, act: Act, seed: int = 0, episodes: int = EPISODES) -> GreedyScore:
    """The mean of that many episodes of a policy that sees state and memory."""
    return jax.device_get(_sampled(problem, act, jax.random.key(seed), episodes))


@functools.partial(jax.jit, static_argnames=("problem", "act", "episodes"))
def _sampled(problem: Problem, act: Act, key: PRNGKeyArray, episodes: int) -> GreedyScore:
    def episode(key: PRNGKeyArray) -> GreedyScore:
        def step(augmented: Any, at: Any) -> tuple[Any, Any]:
            time, act_key, step_key = at
            action = act(act_key, augmented.state, augmented.memory)
            after, happened, pay = problem.step(step_key, augmented, action)
            override = happened.override
            kept = jnp.ones(()) if override is None else 1.0 - override.applies
            return after, (problem.discount**time * pay, kept)

        horizon = problem.environment.horizon
        first_key, *keys = jax.random.split(key, 3)
        ats = (jnp.arange(horizon), *(jax.random.split(k, horizon) for k in keys))
        last, (paid, kept) = jax.lax.scan(step, problem.initial(first_key), ats)
        reached = problem.environment.achieved(last.state.world).astype(jnp.float32)
        return GreedyScore(jnp.sum(paid), jnp.sum(kept), reached)

    return jax.tree.map(jnp.mean, jax.vmap(episode)(jax.random.split(key, episodes)))
