"""MO-Gymnasium for real: a vector reward is a stakeholder reward, and ours are theirs in return."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mo_gymnasium = pytest.importorskip("mo_gymnasium", reason="mo-gymnasium is not installed")

from evenhand import FiniteMDP, Full, LogNash, Problem, Rawls, Total, anytime
from evenhand.interop import FairnessWrapper, gymnasium_learner, score_episodes
from evenhand.learn.imagined_memories import Above
from evenhand.learn.schedules import Exploration
from evenhand.planning.evaluation import evaluate
from evenhand.planning.model import MDPEnvironment
from evenhand.planning.planner import plan

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default")]

STEPS = 20
LUCK = (0.3, 0.8)  # of catching a fish, and of finding wood
NASH = anytime(LogNash(), Total())


def fish_and_wood():
    """Theirs: whoever fishes may catch a fish, whoever is in the woods may find wood."""
    return mo_gymnasium.make(
        "fishwood-v0", fishproba=LUCK[0], woodproba=LUCK[1], max_episode_steps=STEPS
    )


def as_arrays():
    """The same to plan with: a state is the place, and whether the step before brought anything.

    What is received depends on the place one leaves, and is known after the action is chosen.
    """
    transitions, rewards = np.zeros((4, 2, 4)), np.zeros((4, 2, 4, 2))
    for place in (0, 1):
        for before in (0, 1):
            for action in (0, 1):
                state = 2 * place + before
                transitions[state, action, 2 * action + 1] = LUCK[place]
                transitions[state, action, 2 * action] = 1 - LUCK[place]
                rewards[state, action, 2 * action + 1, place] = 1.0
    return MDPEnvironment(FiniteMDP(2, transitions, rewards), STEPS)


@dataclass(frozen=True)
class Linear:
    """The best policy for one weight on fish and the rest on wood: by place and step number."""

    choices: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, weight):
        worth, value, choices = (weight * LUCK[0], (1 - weight) * LUCK[1]), np.zeros(2), []
        for _ in range(STEPS):
            best = int(np.argmax(value))
            choices.append((best, best))
            value = np.array([worth[place] + value[best] for place in (0, 1)])
        return cls(tuple(reversed(choices)))

    def __call__(self, key, state, memory):
        return jnp.asarray(self.choices)[state.world.time, state.world.state // 2]


def test_a_fair_policy_is_learned_where_no_linear_weights_lead():
    problem = Problem(as_arrays(), NASH)
    best = plan(problem)
    linear = max(evaluate(problem, Linear.of(w)).score for w in np.linspace(0, 1, 21))
    loop = gymnasium_learner(
        fish_and_wood(),
        NASH,
        Full(),
        proposal=Above(1),
        shaping=True,
        discount=0.8,
        scale=0.5,
        exploration=Exploration(1.0, 0.98, 0.1),
    )
    loop.train_steps(6_000)
    scores = score_episodes(loop, fish_and_wood(), 400)
    print(
        f"\nfish and wood, {STEPS} steps: optimum {best.value:.2f}, learned {scores.mean():.2f} ± "
        f"{2 * scores.std() / 20:.2f}, best linear {linear:.2f}, random {best.random_value():.2f}"
    )
    error = scores.std() / np.sqrt(len(scores))
    assert scores.mean() < best.value + 4 * error
    assert scores.mean() > linear + 4 * error
    assert scores.mean() > 0.97 * best.value - 2 * error


def test_their_wood_and_fish_are_as_in_our_arrays():
    env = FairnessWrapper(fish_and_wood(), NASH)
    rng, scores = np.random.default_rng(0), []
    for seed in range(400):
        env.reset(seed=seed)
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(int(rng.integers(2)))
            over = terminated or truncated
        scores.append(info["score"])
    random = plan(Problem(as_arrays(), NASH)).random_value()
    assert abs(np.mean(scores) - random) < 4 * np.std(scores) / 20


@pytest.mark.parametrize("name", ["resource-gathering-v0", "fruit-tree-v0", "four-room-v0"])
def test_their_environments_are_taken_as_they_are(name):
    env = FairnessWrapper(mo_gymnasium.make(name), anytime(Rawls(), Total()))
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    total, over = np.zeros(env.unwrapped.reward_space.shape), False
    env.action_space.seed(0)
    for _ in range(100):
        observation, pay, terminated, truncated, info = env.step(env.action_space.sample())
        total += info["raw_reward"]
        assert np.allclose(info["status"], total)
        assert pay == pytest.approx(total.min())
        over = terminated or truncated
        if over:
            break
    assert env.observation_space.contains(observation)


def test_ours_are_vector_reward_environments_to_them():
    settings = {"num_stakeholders": 3, "horizon": 4, "presence": 1.0}
    env = mo_gymnasium.make("evenhand/MO-Doughnuts-v0", **settings)
    env = mo_gymnasium.wrappers.LinearReward(env, weight=np.array([0.5, 0.3, 0.2]))
    env.reset(seed=0)
    _, reward, *_, info = env.step(1)
    assert reward == pytest.approx(0.3)
    assert info["vector_reward"].tolist() == [0, 1, 0]
    envs = mo_gymnasium.wrappers.vector.MOSyncVectorEnv(
        [lambda: gymnasium.make("evenhand/MO-Doughnuts-v0", **settings).unwrapped] * 2
    )
    envs.reset(seed=0)
    assert envs.step([0, 2])[1].tolist() == [[1, 0, 0], [0, 0, 1]]
