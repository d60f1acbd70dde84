"""Section 5.2 in any Gymnasium environment: `evenhand.learn`'s agents, driven from the host.

loop = gymnasium_learner(env, scheme, steps=20_000)
train(loop, test_env=other, sinks=[CsvSink("curve.csv")])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.interop.gymnasium.gymnasium_process import GymnasiumProcess, gymnasium_world
from evenhand.interop.gymnasium.stakeholder_rewards import StakeholderRewards
from evenhand.interop.trackers import Sink
from evenhand.learn.deep.agent import PolyakUpdate
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP, MaskedNetwork
from evenhand.learn.host import HostLoop
from evenhand.learn.imagined_memories import NoProposal, Proposal
from evenhand.learn.recipe import (
    LEARN_EVERY,
    Measurements,
    Serves,
    default_memory,
    default_settings,
    survey,
    survey_steps,
)
from evenhand.learn.schedules import Exploration
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Memory
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Float

STEPS = 20_000  # decisions that a learner plans for

# With a network or an encoder of one's own: nothing is measured then.
PLAIN_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "encoder": Relative(),
        "network": MLP((64, 64)),
        "discount": 0.95,
        "learning_rate": 1e-3,
        "capacity": 20_000,
        "warm_up": 500,
        "exploration": Exploration(start=1.0, factor=0.95, floor=0.05),
        "target": PolyakUpdate(0.01),
        "double": True,
        "horizon_terminates": True,
    }
)


def gymnasium_learner(
    env: gymnasium.Env,
    scheme: FairnessScheme,
    memory: Memory | None = None,
    *,
    steps: int = STEPS,
    proposal: Proposal = NoProposal(),
    stakeholder_rewards: StakeholderRewards | None = None,
    num_stakeholders: int | None = None,
    horizon: int | None = None,
    layout: FeatureLayout | None = None,
    serves: Serves | None = None,
    augment_with_score: bool = False,
    seed: int = 0,
    beside: Sequence[gymnasium.Env] = (),
    measured: Measurements | None = None,
    warm_start: HostLoop | None = None,
    learn_every: int = LEARN_EVERY,
    **settings: Any,
) -> HostLoop:
    """FairQCM (or DQN, with no proposal) in a Gymnasium environment.

    Before anything is learned, up to 2,000 decisions are made at random, from which the scale of
    rewards and observations, and whom each action serves, are measured; they count as steps.

    Args:
        env: An environment with finitely many actions, without a `FairnessWrapper`.
        scheme: What fair means.
        memory: What the agent remembers. Default: what determines the reward (all that each has
            received, or what the status carries), and the number of steps.
        steps: How many decisions it will learn from, in all: exploration falls by them.
        proposal: Which memories to imagine, such as `Above(1)`; none by default.
        stakeholder_rewards: What each stakeholder received in a step, as a function of an
            `EnvStep`; not needed where the environment says so itself.
        num_stakeholders: How many there are, where the environment does not say.
        horizon: After how many decisions an episode is cut off, where the environment does not
            say.
        layout: Which numbers of the observation belong to whom, where neither the environment nor
            the shapes of its observations say so.
        serves: For each action the stakeholders whom it serves, where it is known; `()` where
            actions are nobody's. Default: measured.
        augment_with_score: Whether the agent also sees the running score.
        seed: Of all randomness.
        beside: More environments of the kind. A learner of its own learns in each of them, with
            the seeds that follow, in the same compiled call.
        measured: What was measured before, in place of random decisions.
        warm_start: Another learner of the same form, whose weights are the first ones.
        learn_every: After how many decisions it learns from what it has stored.
        **settings: Fields of `learn.DQN` in place of the defaults here. With a network or an
            encoder of your own nothing is measured, and the others are `PLAIN_SETTINGS`.
    """
    world = gymnasium_world(
        env,
        stakeholder_rewards,
        num_stakeholders=num_stakeholders,
        horizon=horizon,
        layout=layout,
    )
    known = default_memory(scheme, world.horizon) if memory is None else memory
    problem = Problem(world, scheme, known, augment_with_score)
    rng = np.random.default_rng(seed)
    surveyed = 0
    if "network" in settings or "encoder" in settings:
        usual = dict(PLAIN_SETTINGS)
    else:
        if measured is None:
            surveyed = survey_steps(world.num_actions, steps)
            measured = survey(problem, surveyed, rng).measure(problem, serves)
        usual = default_settings(problem, measured, steps, settings.get("shaping"))
    chosen = usual | settings
    if world.masked:
        chosen["network"] = MaskedNetwork(chosen["network"])
    agent = DQN(problem=problem, proposal=proposal, **chosen)
    inner = world.process
    assert isinstance(inner, GymnasiumProcess)
    others = tuple(_like(inner, other) for other in beside)
    loop = HostLoop(agent, rng, seed, others, learn_every)
    loop.steps, loop.planned, loop.measured = surveyed, steps, measured
    if warm_start is not None:
        loop.start_from(warm_start.acting)
    return loop


def _like(process: GymnasiumProcess, env: gymnasium.Env) -> GymnasiumProcess:
    return GymnasiumProcess(
        env, process.num_stakeholders, process.stakeholder_rewards, process.masked
    )


def score_episodes(
    loop: HostLoop, env: gymnasium.Env, episodes: int = 100, seed: int = 0
) -> Float[np.ndarray, " episode"]:
    """The scores of greedy episodes of the first learner.

    Args:
        loop: A learner that `gymnasium_learner` made.
        env: An environment like the learner's, but another object: the learner's own is in the
            middle of an episode.
        episodes: How many.
        seed: Of the episodes.
    """
    return score_side_by_side(loop, [env], episodes, seed, loop.weights_of(1))[:, 0]


def score_side_by_side(
    loop: HostLoop,
    envs: Sequence[gymnasium.Env],
    episodes: int = 100,
    seed: int = 0,
    weights: Any = None,
) -> Float[np.ndarray, "episode learner"]:
    """The scores of greedy episodes of each learner; the k-th episode is the same for all.

    Args:
        loop: A learner that `gymnasium_learner` made, or several side by side.
        envs: An environment for each learner, other objects than those that are learned in.
        episodes: How many.
        seed: Of the episodes.
        weights: What decides, for each environment; what the learners act by, by default.
    """
    inner = loop.world.process
    if not isinstance(inner, GymnasiumProcess):
        raise BadParameter("this learner is not in a Gymnasium environment: see learn.host.")
    processes = [_like(inner, env) for env in envs]
    weights = loop.acting if weights is None else weights
    seeds = np.random.SeedSequence(seed).spawn(episodes)
    return np.array(
        [
            loop.play(weights, processes, [np.random.default_rng(one) for _ in processes])
            for one in seeds
        ]
    )


def train(
    loop: HostLoop,
    steps: int = STEPS,
    *,
    test_env: gymnasium.Env | Sequence[gymnasium.Env],
    checkpoints: int = 10,
    episodes: int = 100,
    sinks: Sequence[Sink] = (),
    keep_best: bool = True,
) -> Float[np.ndarray, " checkpoint"]:
    """Learn, and score greedy episodes at each checkpoint; returns those mean scores.

    Args:
        loop: A learner that `gymnasium_learner` made. It goes on from where it is, and so does
            the number of steps that sinks are told.
        steps: How many decisions to learn from.
        test_env: An environment like the learner's, but another object, for the scores; of several
            learners side by side, one each.
        checkpoints: How many times to score, at even distances.
        episodes: How many greedy episodes a score is the mean of.
        sinks: Where `score`, `epsilon`, `loss` and `value` (the mean of the best actions') of each
            checkpoint are logged.
        keep_best: Whether to act, in the end, by the best of the checkpoints and of what was known
            before, on the same episodes; otherwise by the latest weights.
    """
    if not 1 <= checkpoints <= steps:
        raise BadParameter(f"{checkpoints} checkpoints in {steps} steps: use 1 to {steps}.")
    envs = [test_env] if isinstance(test_env, gymnasium.Env) else list(test_env)
    best, best_scores = loop.acting, None
    if keep_best:
        best = jax.tree.map(jnp.copy, best)
        best_scores = score_side_by_side(loop, envs, episodes)
    curve = []
    for before, now in pairwise(np.linspace(0, steps, checkpoints + 1).astype(int)):
        loop.train_steps(int(now - before))
        scores = score_side_by_side(loop, envs, episodes)
        if best_scores is not None:
            better = _clearly_better(scores, best_scores)
            best = jax.tree.map(_where(better), loop.acting, best)
            best_scores = np.where(better, scores, best_scores)
        curve.append(float(scores.mean()))
        values = {"score": curve[-1], "epsilon": float(loop.learners.epsilon[0]), **loop.errors()}
        for sink in sinks:
            sink.log(loop.steps, values)
    if keep_best:
        loop.kept = best
    return np.array(curve)


def _clearly_better(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Of each learner, whether the mean rose by more than its error on the same episodes."""
    more = now - before
    return more.mean(axis=0) > more.std(axis=0) / np.sqrt(len(more))


def _where(better: np.ndarray) -> Any:
    return lambda new, old: jnp.where(better.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
