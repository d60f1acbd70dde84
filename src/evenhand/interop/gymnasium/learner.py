"""Section 5.2 in any Gymnasium environment: `evenhand.learn`'s agents, driven from the host.

loop = gymnasium_learner(env, scheme, Full(), proposal=Above(1))
train(loop, steps=10_000, test_env=other, sinks=[CsvSink("curve.csv")])
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces

from evenhand.errors import BadParameter, CannotCarry, NotDiscrete, NotReset
from evenhand.fairness.scheme import FairnessScheme
from evenhand.interop.gymnasium.stakeholder_rewards import (
    EnvStep,
    StakeholderRewards,
    attribute,
    checked,
    horizon_of,
    num_stakeholders_of,
    override_of,
    stakeholder_rewards_of,
)
from evenhand.interop.trackers import Sink
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP
from evenhand.learn.deep.targets import PolyakUpdate
from evenhand.learn.host import HostLoop, HostWorld
from evenhand.learn.proposals import NoProposal, Proposal
from evenhand.learn.schedules import Exploration
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Full, Memory
from evenhand.problem.problem import Problem
from evenhand.process.process import Transition

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(eq=False)
class GymnasiumProcess:
    """A Gymnasium environment behind the interface of `process.Process`.

    The environment holds its own state, so that only the latest one can be stepped from. Every
    episode begins with a seed from the generator that is passed: randomness is an argument.
    """

    env: gymnasium.Env
    num_stakeholders: int
    stakeholder_rewards: StakeholderRewards
    _latest: Any = field(default=None, init=False)

    def initial(self, rng: np.random.Generator) -> Any:
        observation, _ = self.env.reset(seed=int(rng.integers(2**31)))
        self._latest = deepcopy(observation)
        return self._latest

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        if state is not self._latest or state is None:
            raise NotReset(
                "the environment has moved on from this state, or its episode is over: begin a new "
                "one, and play episodes in between in an environment of their own (test_env)."
            )
        assert isinstance(self.env.action_space, spaces.Discrete)
        given = self.env.action_space.start + action
        following, reward, terminated, truncated, info = self.env.step(given)
        seen = EnvStep(state, given, following, reward, info)
        rewards = checked(self.stakeholder_rewards(seen), self.num_stakeholders)
        replaced = override_of(info) if attribute(self.env, "may_override", False) else None
        # A copy, here and above: some environments fill one and the same array again and again.
        self._latest = deepcopy(following)
        is_over = bool(terminated or truncated)
        answer = Transition(self._latest, rewards, replaced, bool(terminated), bool(truncated))
        if is_over:
            self._latest = None
        return answer


def gymnasium_world(
    env: gymnasium.Env,
    stakeholder_rewards: StakeholderRewards | None = None,
    *,
    num_stakeholders: int | None = None,
    horizon: int | None = None,
    layout: FeatureLayout | None = None,
) -> HostWorld:
    """A Gymnasium environment as the environment of a `Problem`, to be learned on the host.

    `layout` says which numbers of the (flattened) observation belong to whom; where it is left
    out, the environment's own `feature_layout` counts, if it has one.
    """
    if not isinstance(env.action_space, spaces.Discrete):
        raise NotDiscrete(
            f"the actions are of the kind {type(env.action_space).__name__}, and the learner needs "
            "a value for each of finitely many: make them Discrete, or use a learner of continuous "
            "actions with a FairnessWrapper."
        )
    shown = spaces.flatten_space(env.observation_space)
    if not isinstance(shown, spaces.Box):
        raise CannotCarry(
            f"observations of the kind {type(env.observation_space).__name__} are not vectors of "
            "one length: wrap the environment to make them so."
        )
    length = horizon_of(env, horizon, 0)
    if length < 1:
        raise BadParameter(
            "nothing says after how many decisions an episode is cut off: give the horizon."
        )
    process = GymnasiumProcess(
        env,
        num_stakeholders_of(env, num_stakeholders),
        stakeholder_rewards or stakeholder_rewards_of(env),
    )

    def observe(observation: Any) -> Float[np.ndarray, " feature"]:
        return np.asarray(spaces.flatten(env.observation_space, observation))

    return HostWorld(
        process,
        int(env.action_space.n),
        length,
        observe,
        int(np.prod(shown.shape)),
        bool(attribute(env, "may_override", False)),
        attribute(env, "feature_layout", None) if layout is None else layout,
    )


def gymnasium_learner(
    env: gymnasium.Env,
    scheme: FairnessScheme,
    memory: Memory = Full(),
    *,
    proposal: Proposal = NoProposal(),
    stakeholder_rewards: StakeholderRewards | None = None,
    num_stakeholders: int | None = None,
    horizon: int | None = None,
    layout: FeatureLayout | None = None,
    augment_with_score: bool = False,
    seed: int = 0,
    **settings: Any,
) -> HostLoop:
    """FairQCM (or DQN, with no proposal) in a Gymnasium environment.

    Args:
        env: An environment with finitely many actions, without a `FairnessWrapper`.
        scheme: What fair means.
        memory: What the agent remembers; all that each has received, by default.
        proposal: Which memories to imagine, such as `Above(1)`; none by default.
        stakeholder_rewards: What each stakeholder received in a step, as a function of an
            `EnvStep`; not needed where the environment says so itself.
        num_stakeholders: How many there are, where the environment does not say.
        horizon: After how many decisions an episode is cut off, where the environment does not
            say.
        layout: Which numbers of the observation belong to whom, where the environment does not say.
        augment_with_score: Whether the agent also sees the running score.
        seed: Of all randomness.
        **settings: Fields of `learn.DQN` in place of the defaults here.
    """
    world = gymnasium_world(
        env,
        stakeholder_rewards,
        num_stakeholders=num_stakeholders,
        horizon=horizon,
        layout=layout,
    )
    usual: dict[str, Any] = {
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
    problem = Problem(world, scheme, memory, augment_with_score)
    agent = DQN(problem=problem, proposal=proposal, **usual | settings)
    return HostLoop(agent, np.random.default_rng(seed), seed)


def score_episodes(
    loop: HostLoop, env: gymnasium.Env, episodes: int = 100, seed: int = 0
) -> Float[np.ndarray, " episode"]:
    """The scores of greedy episodes.

    Args:
        loop: A learner that `gymnasium_learner` made.
        env: An environment like the learner's, but another object: the learner's own is in the
            middle of an episode.
        episodes: How many.
        seed: Of the episodes.
    """
    inner = loop.world.process
    if not isinstance(inner, GymnasiumProcess):
        raise BadParameter("this learner is not in a Gymnasium environment: see learn.host.")
    process = GymnasiumProcess(env, inner.num_stakeholders, inner.stakeholder_rewards)
    rng = np.random.default_rng(seed)
    return np.array([loop.episode(rng, process) for _ in range(episodes)])


def train(
    loop: HostLoop,
    steps: int,
    *,
    test_env: gymnasium.Env,
    checkpoints: int = 10,
    episodes: int = 100,
    sinks: Sequence[Sink] = (),
) -> Float[np.ndarray, " checkpoint"]:
    """Learn, and score greedy episodes at each checkpoint; returns those mean scores.

    Args:
        loop: A learner that `gymnasium_learner` made. It goes on from where it is.
        steps: How many decisions to learn from.
        test_env: An environment like the learner's, but another object, for the scores.
        checkpoints: How many times to score, at even distances.
        episodes: How many greedy episodes a score is the mean of.
        sinks: Where `score` and `epsilon` of each checkpoint are logged.
    """
    if not 1 <= checkpoints <= steps:
        raise BadParameter(f"{checkpoints} checkpoints in {steps} steps: use 1 to {steps}.")
    ends = np.linspace(0, steps, checkpoints + 1).astype(int)
    curve = []
    for before, now in pairwise(ends):
        loop.train_steps(int(now - before))
        score = float(score_episodes(loop, test_env, episodes).mean())
        curve.append(score)
        values = {"score": score, "epsilon": float(loop.learners.epsilon[0])}
        for sink in sinks:
            sink.log(int(now), values)
    return np.array(curve)
