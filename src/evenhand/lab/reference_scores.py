"""What learning is measured against: the exact optimum, and policies that do not learn."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from evenhand.decide.policies import rule_for
from evenhand.envs import Act, Environment, OutcomesNotFinite, Random
from evenhand.errors import CannotPlan, TooLarge
from evenhand.fairness.scheme import FairnessScheme
from evenhand.learn.policies import GreedyScore, require_room
from evenhand.memory.memory import Full
from evenhand.planning.planner import Plan, plan
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

ROOM = 1 << 31  # bytes that planning the optimum may take: beyond, rules have to do
RULES = ("least_served", "longest_wait")  # that are scored where no optimum is known
EPISODES = 10_000  # that the score of a policy is the mean of, where it is sampled


@dataclass(frozen=True)
class ReferenceScores:
    """The least and the most there is to be had.

    Where the optimum cannot be planned there is none, and what simple rules score stands in its
    place, if the environment has turns to take.
    """

    optimum: float | None
    random: float
    rules: tuple[tuple[str, float], ...] = ()  # each with its score
    note: str | None = None  # why there is no optimum, where that is said

    def level(self, share: float) -> float:
        """That share of the optimum; of the way from random to it where scores are negative."""
        assert self.optimum is not None
        if self.optimum > 0:
            return share * self.optimum
        return self.random + share * (self.optimum - self.random)

    def warning(self, scores: Sequence[float]) -> str | None:
        """A sentence where what was learned is worse than not learning; None elsewhere."""
        below = sum(score < self.random for score in scores)
        if below:
            whose = f"{below} of {len(scores)} seeds" if len(scores) > 1 else "It"
            return (
                f"{whose} scored below acting at random: learn for longer, or use a rule; a policy "
                "like this is not to be used."
            )
        name, best = max(self.rules, key=lambda rule: rule[1], default=("", -math.inf))
        if sum(scores) / len(scores) < best:
            return f"The rule {name} is better than what was learned: learn for longer, or use it."
        return None


@functools.lru_cache(maxsize=16)
def yardstick(environment: Environment, scheme: FairnessScheme | None = None) -> ReferenceScores:
    """The exact optimum, and what acting at random scores.

    Args:
        environment: Where it is decided.
        scheme: By which it is judged; the environment's own by default.
    """
    judged = environment.default_scheme() if scheme is None else scheme
    try:
        found = plan_best(environment, judged, own=scheme is None, memory_limit=ROOM)
    except (CannotPlan, TooLarge, OutcomesNotFinite):
        # What acting at random scores does not depend on what is remembered.
        problem, policy = Problem(environment, judged), Random(environment.num_actions)
        rules = _rules(environment, judged)
        return ReferenceScores(None, float(sampled(problem, policy).score), rules)
    return ReferenceScores(found.value, found.random_value())


def plan_best(environment: Environment, scheme: FairnessScheme, own: bool, **limits: Any) -> Plan:
    """The fairest policy of all; `own`: the scheme is the environment's, and so is its memory."""
    memory = environment.planning_memory() if own else None
    problem = Problem(environment, scheme, Full() if memory is None else memory)
    return plan(problem, use_memory=memory is not None, **limits)


def _rules(environment: Environment, scheme: FairnessScheme) -> tuple[tuple[str, float], ...]:
    """What simple rules score, where action i serves stakeholder i."""
    if not environment.takes_turns:
        return ()
    scores = []
    for name in RULES:
        rule = rule_for(environment, name)
        if rule is not None:
            problem = Problem(environment, scheme, rule.memory())
            scores.append((name, float(sampled(problem, rule).score)))
    return tuple(scores)


def sampled(problem: Problem, act: Act, seed: int = 0, episodes: int = EPISODES) -> GreedyScore:
    """The mean of that many episodes of a policy that sees state and memory."""
    require_room(problem.environment.horizon, episodes)
    return jax.device_get(_sampled(problem, act, jax.random.key(seed), episodes))


@functools.partial(jax.jit, static_argnames=("problem", "act", "episodes"))
def _sampled(problem: Problem, act: Act, key: PRNGKeyArray, episodes: int) -> GreedyScore:
    environment = problem.environment

    def decide(key: PRNGKeyArray, augmented: AugmentedState, carry: Any) -> tuple[Any, Any]:
        return carry, act(key, augmented.state, augmented.memory)

    def episode(key: PRNGKeyArray) -> GreedyScore:
        first_key, *keys = jax.random.split(key, 3)
        per_step = tuple(jax.random.split(k, environment.horizon) for k in keys)
        found = problem.episode(decide, (), first_key, per_step)
        reached = environment.achieved(found.last.state.world).astype(jnp.float32)
        return GreedyScore(found.score(problem.discount), jnp.sum(found.kept), reached)

    return jax.tree.map(jnp.mean, jax.vmap(episode)(jax.random.split(key, episodes)))
