"""evenhand.learn in Gymnasium environments, ours and one that nobody here wrote in JAX."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, MemoryDoesNotPay, UnequalLengths
from evenhand.interop import FromInfo, gymnasium_learner, score_episodes, train
from evenhand.interop.errors import CannotCarry, NotDiscrete, NotReset
from evenhand.interop.learning import GymnasiumProcess, gymnasium_world
from evenhand.interop.tracking import Sink
from evenhand.learn.networks import Layers
from evenhand.learn.proposals import Above
from evenhand.learn.schedules import Exploration
from evenhand.memory import Full, Min
from evenhand.plan import plan
from evenhand.problem import Problem

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


def learner(env, **settings):
    parts = {
        "stakeholder_rewards": FromInfo("served"),
        "num_stakeholders": 2,
        "horizon": 6,
        "network": Layers((32,)),
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
    with pytest.raises(MemoryDoesNotPay, match="does not determine the pay"):
        learner(Counter(), memory=Min(), proposal=Above(1))
    with pytest.raises(UnequalLengths, match=r"shape \(3,\) to 2 stakeholders"):
        learner(Counter(3)).walk(1)
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
