"""Runs of the package's agents: compiled with the environment, or driven from the host.

Whatever an agent was taught (another reward, another memory), its episodes are scored by the
scheme of the pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.benchmarking.benchmark_method import (
    AT_ONCE,
    Trial,
    TrialOutcome,
    TrialProgress,
    rounds_of,
)
from evenhand.benchmarking.stages import stage_for
from evenhand.fairness.trace import Step
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.encoders import Encoder
from evenhand.learn.deep.networks import Network
from evenhand.learn.host import HostLoop
from evenhand.learn.policies.greedy_policy import Greedy
from evenhand.learn.seeds import seed_keys, start_learners
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float

EVALUATION = 2_000_003  # folded into a seed's key: evaluations have randomness of their own
ON_HOST = 5  # so many times fewer episodes in an evaluation on the host, where each step is a call


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


@partial(jax.jit, static_argnames=("own", "judge", "encoder", "network", "episodes"))
def _judged(
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
        play = partial(judged_episode, own, judge, decide, policy.start())
        return jax.tree.map(
            lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(play)(jax.random.split(key, episodes))
        )

    return jax.vmap(one)(weights, keys)


@partial(jax.jit, static_argnames=("own", "judge", "act", "episodes"))
def judged_policy(own: Problem, judge: Problem, act: Any, key: Any, episodes: int) -> JudgedEpisode:
    """The means over episodes of a policy act(key, state, memory) that does not learn."""
    decide = lambda key, carry, seen: (carry, act(key, seen.state, seen.memory))  # noqa: E731
    play = partial(judged_episode, own, judge, decide, ())
    return jax.tree.map(
        lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(play)(jax.random.split(key, episodes))
    )


def in_rounds(play: Callable[[int], JudgedEpisode], episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The means over rounds of equal size, which are compiled once."""
    rounds = [jax.device_get(play(number)) for number in range(rounds_of(episodes))]
    return tuple(np.mean([one[k] for one in rounds], axis=0) for k in range(2))


def run_agent(
    make: Callable[[Problem], DeepAgent], trial: Trial, progress: TrialProgress
) -> TrialOutcome:
    """All seeds of an agent that is made for a problem."""
    if not trial.pair.world.shared:
        return _run_on_host(make, trial, progress)
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
            at = EVALUATION + 1000 * checkpoint + number
            fresh = jax.vmap(lambda key: jax.random.fold_in(key, at))(keys)
            how = agent.problem, judge, agent.encoder, agent.network
            return _judged(*how, agent.acting(learners), fresh, AT_ONCE)

        scores, statuses = in_rounds(play, trial.episodes_at(checkpoint))
        curve.append(scores)
        progress((checkpoint + 1) * trial.every, float(scores.mean()))
    return TrialOutcome(np.array(curve, dtype=float), np.asarray(statuses, dtype=float))


def _run_on_host(
    make: Callable[[Problem], DeepAgent], trial: Trial, progress: TrialProgress
) -> TrialOutcome:
    curves, ends = [], []
    for number, seed in enumerate(trial.seeds):
        agent = make(trial.pair.problem())
        loop = HostLoop(agent, np.random.default_rng(seed), seed)
        policy = _HostPolicy(agent)
        curve, status = [], np.zeros(0)
        for checkpoint in range(trial.checkpoints):
            loop.train_steps(trial.every)
            episodes = max(1, trial.episodes_at(checkpoint) // ON_HOST)
            score, status = _host_score(trial, policy, loop.weights, episodes, seed, checkpoint)
            curve.append(score)
        curves.append(curve)
        ends.append(status)
        progress(trial.steps * (number + 1) // len(trial.seeds), float(curve[-1]))
    return TrialOutcome(np.array(curves).T, np.array(ends))


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


def _host_score(
    trial: Trial, policy: _HostPolicy, weights: Any, episodes: int, seed: int, checkpoint: int
) -> tuple[float, np.ndarray]:
    """The mean score of greedy episodes, one after the other in one environment."""
    stage = stage_for(trial.pair, 1, EVALUATION + 1000 * seed + checkpoint)
    scores, statuses = [], []
    for _ in range(episodes):
        stage.begin()
        seen = policy.first._replace(state=jnp.asarray(stage.observations[0]))
        carry, over = policy.agent.network.start(), False
        while not over:
            carry, action = policy.decide(weights, carry, seen)
            rewards, ended = stage.step(np.array([int(action)]))
            over = bool(ended[0])
            paid = rewards[0].astype(np.float32)
            seen = policy.follow(seen, action, paid, stage.observations[0], over)
        scores.append(stage.scores[0])
        statuses.append(stage.statuses[0])
    return float(np.mean(scores)), np.mean(statuses, axis=0)
