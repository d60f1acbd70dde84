"""Agents in an environment that is not JAX: a shop in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, MemoryDoesNotPay, NegativeStatus, UnequalLengths
from evenhand.fairness.trace import Override
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import EquivariantMLP
from evenhand.learn.deep.targets import PolyakUpdate
from evenhand.learn.host import HostLoop, HostWorld
from evenhand.learn.proposals import Above
from evenhand.learn.schedules import Exploration
from evenhand.memory.memory import Full, Min
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from evenhand.process.process import Transition

JAX_SHOP = Doughnuts(2, 6, 0.7)


class Shop:
    """The doughnut shop again, written with NumPy alone."""

    num_stakeholders = 2

    def __init__(self, rewards=2):
        self.rewards = rewards

    def initial(self, rng):
        return rng.random(2) < 0.7

    def step(self, state, action, rng):
        rewards = np.zeros(self.rewards)
        rewards[action] = state[action]
        return Transition(rng.random(2) < 0.7, rewards, Override(not state[action], 0.0))


def agent(process, memory=Full(), size=2, **settings):
    world = HostWorld(process, 2, 6, lambda state: state, size, may_override=True)
    parts = {
        "encoder": Relative(),
        "network": EquivariantMLP((16,)),
        "discount": 0.7,
        "learning_rate": 3e-3,
        "capacity": 4000,
        "warm_up": 100,
        "exploration": Exploration(1.0, 0.95, 0.1),
        "target": PolyakUpdate(0.02),
    }
    return DQN(problem=Problem(world, JAX_SHOP.nash_scheme(), memory), **parts | settings)


@pytest.mark.system  # learns for long
def test_it_learns_from_the_host_what_the_planner_knows():
    loop = HostLoop(agent(Shop(), proposal=Above(1), shaping=True), np.random.default_rng(0))
    loop.train_steps(900)
    learner = loop.learners
    # Two items a step, a real and an imagined one: a hundred are there after fifty steps.
    assert int(learner.updates[0]) == 900 - 49
    rng = np.random.default_rng(1)
    scores = [loop.episode(rng) for _ in range(300)]
    best = plan(Problem(JAX_SHOP, JAX_SHOP.nash_scheme())).value
    assert np.mean(scores) > 0.96 * best
    assert np.mean(scores) < best + 4 * np.std(scores) / np.sqrt(300)


def test_what_is_wrong_is_said():
    with pytest.raises(MemoryDoesNotPay, match="does not determine the reward"):
        HostLoop(agent(Shop(), memory=Min(), proposal=Above(1)), np.random.default_rng(0))
    with pytest.raises(UnequalLengths, match="2 numbers where 3 were announced"):
        HostLoop(agent(Shop(), size=3), np.random.default_rng(0))
    loop = HostLoop(agent(Shop(rewards=3)), np.random.default_rng(0))
    with pytest.raises(UnequalLengths, match=r"shape \(3,\) to 2 stakeholders"):
        loop.train_steps(1)
    jax_problem = Problem(JAX_SHOP, JAX_SHOP.nash_scheme())
    with pytest.raises(BadParameter, match="own `train_steps`"):
        HostLoop(
            DQN(problem=jax_problem, encoder=Relative(), network=EquivariantMLP((4,))),
            np.random.default_rng(0),
        )


class Costly(Shop):
    """Each who is served has to pay."""

    def step(self, state, action, rng):
        return super().step(state, action, rng)._replace(rewards=-2.0 * np.eye(2)[action])


@pytest.mark.parametrize("settings", [{}, {"proposal": Above(1)}], ids=["plain", "imagining"])
def test_a_status_without_welfare_is_refused_and_not_learned_from(settings):
    with pytest.raises(NegativeStatus, match=r"stakeholder \d is -2 after .*no welfare under"):
        HostLoop(agent(Costly(), **settings), np.random.default_rng(0)).train_steps(20)


def test_a_greedy_episode_refuses_it_too():
    loop = HostLoop(agent(Shop()), np.random.default_rng(0))
    with pytest.raises(NegativeStatus, match=r"is -2 after decision \d, which has no welfare"):
        loop.episode(np.random.default_rng(1), Costly())
