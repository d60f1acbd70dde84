"""Random episodes of a problem, played once so that something can be looked at along them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray

    from evenhand.fairness.trace import Step
    from evenhand.problem.problem import AugmentedState, Problem

LONGEST_LOOK = 256  # steps of an episode that are looked at


class RandomDecision(NamedTuple):
    """A decision at random, and what came of it."""

    before: AugmentedState
    action: Int[Array, ""]
    step: Step
    reward: Float[Array, ""]
    after: AugmentedState


def along_random_episodes(
    problem: Problem, look: Callable[[RandomDecision], Any], episodes: int, seed: int = 0
) -> Any:
    """What is found at each decision of random episodes: arrays by episode and time.

    Args:
        problem: What is played; its environment is compiled.
        look: What to find, as a function that JAX can trace.
        episodes: How many.
        seed: Of the episodes.
    """
    environment = problem.environment

    def decide(before: AugmentedState, key: PRNGKeyArray) -> tuple[AugmentedState, Any]:
        act_key, step_key = jax.random.split(key)
        action = jax.random.randint(act_key, (), 0, environment.num_actions)
        after, step, reward = problem.step(step_key, before, action)
        return after, look(RandomDecision(before, action, step, reward, after))

    def episode(key: PRNGKeyArray) -> Any:
        start_key, run_key = jax.random.split(key)
        keys = jax.random.split(run_key, min(environment.horizon, LONGEST_LOOK))
        return jax.lax.scan(decide, problem.initial(start_key), keys)[1]

    # It runs once, so that what it costs is compilation: not worth optimising.
    play = jax.jit(jax.vmap(episode), compiler_options={"xla_backend_optimization_level": 0})
    return jax.device_get(play(jax.random.split(jax.random.key(seed), episodes)))
