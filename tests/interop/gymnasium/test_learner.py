"""evenhand.learn in Gymnasium environments, ours and one that nobody here wrote in JAX."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from evenhand import AlphaFair, LogNash, Total, anytime
from evenhand.envs import Doughnuts
from evenhand.errors import (
    BadParameter,
    CannotCarry,
    MemoryDoesNotPay,
    NegativeStatus,
    NotDiscrete,
    NotReset,
    UnequalLengths,
)
from evenhand.interop import FairnessWrapper, FromInfo, gymnasium_learner, score_episodes, train
from evenhand.interop.gymnasium.learner import GymnasiumProcess, gymnasium_world
from evenhand.interop.trackers import Sink
from evenhand.learn.deep.networks import MLP
from evenhand.learn.proposals import Above
from evenhand.learn.schedules import Exploration
from evenhand.memory.memory import Full, Min
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 6, 0.7)
NASH = SHOP.nash_scheme()


class Counter(gymnasium.Env):
    """The doughnut shop in plain NumPy, its observation one number, its actions from 1."""

    may_override = True

    def __init__(self, number=2):
        self.observation_space = spaces.Discrete(4)
        self.action_space = spaces.Discrete(2, start=1)
        self.number = number

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._look(), {}

    def _look(self):
        self.there = self.np_random.random(2) < 0.7
        return int(self.there @ [1, 2])

    def step(self, action):
        served = np.zeros(self.number)
        served[action - 1] = self.there[action - 1]
        info = {"served": served} if served.any() else {"served": served, "override": 0.0}
        self.time += 1
        return self._look(), 0.0, self.time == 6, False, info


class Refilled(gymnasium.Env):
    """Its observations are one array, filled again at every step; its actions begin at 1."""

    observation_space = spaces.Box(0.0, 100.0, (2,))
    action_space = spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.had, self.time = np.zeros(2, dtype=np.float32), 0
        return self.had, {}

    def step(self, action):
        self.had[action - 1] += 1
        self.time += 1
        return self.had, 0.0, False, self.time == 4, {}


def told_rewards(told):
    """Twice what was gained, if it was gained by the action that is told."""
    return 2 * (told.following - told.observation) * (np.arange(1, 3) == told.action)


def test_rewards_are_told_of_the_same_steps_with_and_without_a_wrapper():
    process = GymnasiumProcess(Refilled(), 2, told_rewards)
    state = process.initial(np.random.default_rng(0))
    env = FairnessWrapper(Refilled(), NASH, stakeholder_rewards=told_rewards, num_stakeholders=2)
    env.reset()
    for action in (0, 1, 1, 0):
        answer = process.step(state, action, np.random.default_rng(0))
        state = answer.next_state
        told = env.step(action + 1)[-1]["stakeholder_rewards"]
        assert answer.rewards.tolist() == told.tolist() == (2 * np.eye(2)[action]).tolist()


def learner(env, **settings):
    parts = {
        "stakeholder_rewards": FromInfo("served"),
        "num_stakeholders": 2,
        "horizon": 6,
        "network": MLP((32,)),
        "warm_up": 100,
        "exploration": Exploration(1.0, 0.95, 0.1),
    }
    return gymnasium_learner(env, NASH, **parts | settings)


class Kept(Sink):
    def __init__(self):
        self.rows = []

    def log(self, step, values):
        self.rows.append((step, dict(values)))


def test_it_learns_with_counterfactuals_what_the_planner_knows():
    loop, kept = learner(Counter(), proposal=Above(1)), Kept()
    curve = train(loop, 1500, test_env=Counter(), checkpoints=2, episodes=20, sinks=[kept])
    assert [row[0] for row in kept.rows] == [750, 1500]
    assert [row[1]["score"] for row in kept.rows] == curve.tolist()
    scores = score_episodes(loop, Counter(), 300, seed=1)
    best = plan(Problem(SHOP, NASH)).value
    assert scores.mean() > 0.95 * best
    assert scores.mean() < best + 4 * scores.std() / np.sqrt(300)
    assert (
        score_episodes(loop, Counter(), 5, seed=2) == score_episodes(loop, Counter(), 5, 2)
    ).all()


def test_an_environment_is_only_stepped_from_where_it_is():
    process = GymnasiumProcess(Counter(), 2, FromInfo("served"))
    rng = np.random.default_rng(0)
    first = process.initial(rng)
    answer = process.step(first, 0, rng)
    assert answer.rewards.shape == (2,)
    with pytest.raises(NotReset, match="moved on"):
        process.step(object(), 0, rng)
    state = answer.next_state
    while not answer.terminated:
        answer = process.step(state, 0, rng)
        state = answer.next_state
    with pytest.raises(NotReset, match="is over"):
        process.step(state, 0, rng)


def test_what_is_wrong_is_said():
    with pytest.raises(MemoryDoesNotPay, match="does not determine the reward"):
        learner(Counter(), memory=Min(), proposal=Above(1))
    with pytest.raises(UnequalLengths, match=r"shape \(3,\) to 2 stakeholders"):
        learner(Counter(3)).train_steps(1)
    env = Counter()
    env.action_space = spaces.Box(0, 1, (2,))
    with pytest.raises(NotDiscrete, match="of the kind Box"):
        learner(env)
    env = Counter()
    env.observation_space = spaces.Sequence(spaces.Discrete(2))
    with pytest.raises(CannotCarry, match="kind Sequence"):
        learner(env)
    with pytest.raises(BadParameter, match="give the horizon"):
        gymnasium_world(Counter(), FromInfo("served"), num_stakeholders=2)
    loop = learner(Counter())
    with pytest.raises(BadParameter, match="checkpoints in 2 steps"):
        train(loop, 2, test_env=Counter(), checkpoints=3)


def test_ours_says_by_itself_what_each_received():
    env = gymnasium.make("evenhand/Doughnuts-v0", num_stakeholders=2, horizon=6)
    world = gymnasium_world(env)
    assert (world.num_stakeholders, world.horizon, world.size) == (2, 6, 2)
    assert world.may_override
    assert Problem(world, NASH, Full()).environment is world


class Costly(Counter):
    """Each who is served has to pay."""

    def step(self, action):
        *answer, _ = super().step(action)
        return *answer, {"served": -2.0 * np.eye(2)[action - 1]}


@pytest.mark.parametrize("scheme", [anytime(LogNash(), Total()), anytime(AlphaFair(0.5), Total())])
def test_a_status_without_welfare_is_refused_as_the_wrapper_refuses_it(scheme):
    parts = {"stakeholder_rewards": FromInfo("served"), "num_stakeholders": 2, "horizon": 6}
    sentence = r"the status of stakeholder \d is -2.* which has no welfare under"
    loop = gymnasium_learner(Costly(), scheme, network=MLP((4,)), warm_up=10, **parts)
    with pytest.raises(NegativeStatus, match=sentence):
        train(loop, 20, test_env=Costly(), checkpoints=1)
    env = FairnessWrapper(Costly(), scheme, **parts)
    env.reset()
    with pytest.raises(NegativeStatus, match=sentence):
        env.step(1)
