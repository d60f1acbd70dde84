"""𝔉ᵀ(π) of a given policy: exact where its table fits, otherwise by episodes, and it says which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import bootstrap_interval
from evenhand._util.wording import short_repr
from evenhand.envs.environment import State
from evenhand.envs.episodes import Act, Random
from evenhand.errors import BadParameter, CannotPlan, TooLarge
from evenhand.planning.model import Model, SchemeAndMemory
from evenhand.planning.planner import Plan, backward, uniform
from evenhand.planning.table import MEMORY_LIMIT, StateTable, tabulate
from evenhand.problem.problem import AugmentedState, Problem, require_problem

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class Evaluation:
    """The expected score of a policy, how it was found, and the distribution where asked for."""

    score: float
    interval: tuple[float, float]
    method: str  # "exact", or "episodes" for Monte Carlo
    episodes: int = 0
    distribution: tuple[Float[np.ndarray, " score"], Float[np.ndarray, " score"]] | None = None

    @property
    def exact(self) -> bool:
        return self.method == "exact"


def regret(score: float, optimum: float, random: float) -> tuple[float, float]:
    """How far a score is from the optimum: the difference, and the share of the way to it."""
    way = optimum - random
    return optimum - score, (score - random) / way if way else 1.0


def evaluate(
    problem: Problem,
    policy: Act | Plan,
    *,
    episodes: int = 10_000,
    seed: int = 0,
    with_distribution: bool = False,
    memory_limit: float = MEMORY_LIMIT,
) -> Evaluation:
    """The exact score of a policy that sees the problem's memory, or an interval for it.

    A policy `act(key, state, memory)` that uses its key is evaluated by episodes: its chances are
    not listed. So is one whose table, with all stakeholders distinguished, would not fit.

    Args:
        problem: The problem, with the memory that the policy sees.
        policy: A function act(key, state, memory) -> action, or a plan.
        episodes: How many episodes, where it is evaluated by episodes.
        seed: Of these episodes.
        with_distribution: Whether to give the distribution of scores too, where it is exact.
        memory_limit: Bytes that the table may take.
    """
    require_problem(problem)
    if isinstance(policy, Plan):
        return _exact(policy.value, with_distribution)
    if isinstance(policy, type) or not callable(policy):
        raise BadParameter(
            f"policy is {short_repr(policy)}: it must be a function act(key, state, memory) that "
            "gives an action, or a plan, such as plan(problem); what FairQCM learned says its own "
            "`score`."
        )
    try:
        if isinstance(policy, Random):
            table = tabulate(Model(problem), problem.environment.horizon, memory_limit)
            value = table.expected(backward(table, uniform)[0])
            return Evaluation(value, (value, value), "exact")
        key = jax.random.key(seed)
        if _uses_key(problem, policy, key):
            return _by_episodes(problem, policy, episodes, seed)
        model = Model(problem, SchemeAndMemory(), canonical=False)
        table = tabulate(model, problem.environment.horizon, memory_limit)
    except TooLarge:
        return _by_episodes(problem, policy, episodes, seed)
    decide = _decisions(table, policy, key)
    values = backward(table, partial(_chosen, decide))
    value = table.expected(values[0])
    distribution = _distribution(table, decide) if with_distribution else None
    return Evaluation(value, (value, value), "exact", 0, distribution)


def _exact(value: float, with_distribution: bool) -> Evaluation:
    if with_distribution:
        raise CannotPlan("the distribution is computed for policies act(key, state, memory).")
    return Evaluation(value, (value, value), "exact")


def _uses_key(problem: Problem, policy: Act, key: Any) -> bool:
    """Whether the policy's action depends on its random key, by looking at what it computes."""
    env = problem.environment
    state = jax.eval_shape(env.initial, key)
    memory = jax.tree.map(jnp.asarray, problem.memory.init(env.num_stakeholders))
    traced = jax.make_jaxpr(policy)(key, state, memory).jaxpr
    return any(traced.invars[0] is used for eqn in traced.eqns for used in eqn.invars)


def _decisions(table: StateTable, policy: Act, key: Any) -> Any:
    """The policy's action for blocks of states of the table, under every value of the noise."""
    model, noises = table.model, table.model.noise[0]

    @jax.jit
    def decide(worlds: Any, memories: Any) -> Any:
        one = lambda world, memory, noise: policy(key, State(world, noise), memory)  # noqa: E731
        by_noise = jax.vmap(one, in_axes=(None, None, 0))
        return jax.vmap(by_noise, in_axes=(0, 0, None))(worlds, memories, noises)

    def actions(time: int, start: int, stop: int) -> np.ndarray:
        worlds, (_, memories) = model.from_rows(table.rows[start:stop], time)
        with jax.enable_x64(True):
            return np.asarray(decide(worlds, memories))

    return actions


def _chosen(
    decide: Any, table: StateTable, q: Float[np.ndarray, "effect state"], time: int, start: int
) -> Float[np.ndarray, " state"]:
    """E_ξ Q(x, ξ, π(x, ξ))."""
    actions = decide(time, start, start + q.shape[1])
    effects, chance = table.model.effects, table.model.noise[1]
    chosen = effects[np.arange(len(chance)), actions]  # [state, noise]
    return np.take_along_axis(q.T, chosen, axis=1) @ chance


def _distribution(table: StateTable, decide: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every score an episode can have under the policy, with its probability.

    Carried forward: the probability of each pair of a state and the rewards so far.
    """
    horizon, chance = table.horizon, table.model.noise[1]
    assert horizon is not None  # that of the environment
    if table.model.discount != 1.0:
        raise CannotPlan("the distribution is computed for schemes without a discount.")
    here = {(k, 0.0): float(p) for k, p in enumerate(table.model.start_chance)}
    for time in range(horizon):
        states = sorted({state for state, _ in here})
        place = {state: k for k, state in enumerate(states)}
        after, pay, probability = table.model.expand(table.rows[states], time)
        numbers = np.zeros(probability.shape, dtype=np.int64)
        possible = probability > 0
        numbers[possible] = table.find(after[possible])
        count = table.within[time]
        actions = decide(time, 0, count)
        effects = table.model.effects[np.arange(len(chance)), actions]
        there: dict[tuple[int, float], float] = {}
        for (state, paid), weight in here.items():
            for effect, seen in zip(effects[state], chance, strict=True):
                for k in np.flatnonzero(possible[place[state], effect]):
                    total = round(paid + float(pay[place[state], effect, k]), 9)
                    key = int(numbers[place[state], effect, k]), total
                    moved = weight * seen * float(probability[place[state], effect, k])
                    there[key] = there.get(key, 0.0) + moved
        here = there
    scores: dict[float, float] = {}
    for (_, paid), weight in here.items():
        scores[paid] = scores.get(paid, 0.0) + weight
    ordered = sorted(scores.items())
    return np.array([s for s, _ in ordered]), np.array([p for _, p in ordered])


def _by_episodes(problem: Problem, policy: Act, episodes: int, seed: int) -> Evaluation:
    """The mean score of many episodes, and its interval."""
    scores = np.asarray(_scores(problem, policy, episodes, jax.random.key(seed)), dtype=np.float64)
    interval = bootstrap_interval(scores, np.random.default_rng(seed))
    return Evaluation(float(scores.mean()), interval, "episodes", episodes)


@partial(jax.jit, static_argnames=("problem", "policy", "episodes"))
def _scores(problem: Problem, policy: Act, episodes: int, key: Any) -> Any:
    horizon = problem.environment.horizon

    def decide(key: Any, augmented: AugmentedState, carry: Any) -> tuple[Any, Any]:
        return carry, policy(key, augmented.state, augmented.memory)

    def episode(key: Any) -> Any:
        start, run = jax.random.split(key)
        keys = jax.random.split(run, (horizon, 2))
        rewards = problem.episode(decide, (), start, (keys[:, 0], keys[:, 1])).rewards
        return rewards @ problem.discount ** jnp.arange(horizon)

    return jax.vmap(episode)(jax.random.split(key, episodes))
