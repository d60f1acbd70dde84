"""Stable-Baselines3 for real: its DQN, with experience that is imagined when it is drawn."""

from __future__ import annotations

import importlib
import warnings

import gymnasium
import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch's own, at its first import
    stable_baselines3 = pytest.importorskip(
        "stable_baselines3", reason="stable-baselines3 is not installed"
    )

from evenhand import Doughnuts, Problem
from evenhand.errors import BadParameter, CannotCarry, MemoryDoesNotPay
from evenhand.interop import FairnessWrapper, fairness_of
from evenhand.interop.sb3 import CounterfactualReplayBuffer
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.imagined_memories import Above, NoProposal
from evenhand.memory.memory import LastWinner, Min
from evenhand.planning.planner import plan

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default")]

# Networks this small are no quicker on two threads, and many times slower on busy cores.
importlib.import_module("torch").set_num_threads(1)

SHOP = {"num_stakeholders": 3, "horizon": 12, "presence": 0.8}


def shop(**settings):
    return FairnessWrapper(gymnasium.make("evenhand/Doughnuts-v0", **SHOP), **settings)


def fair_dqn(env, proposal=Above(2), **settings):
    parts = {
        "learning_starts": 100,
        "train_freq": 1,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "gamma": 0.9,
        "target_update_interval": 100,
        "exploration_fraction": 0.5,
        "policy_kwargs": {"net_arch": [64, 64]},
        "seed": 0,
    }
    return stable_baselines3.DQN(
        "MlpPolicy",
        env,
        replay_buffer_class=CounterfactualReplayBuffer,
        replay_buffer_kwargs={"fairness": fairness_of(env), "proposal": proposal},
        **parts | settings,
    )


def scores(model, env, episodes=100):
    found = []
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
        found.append(info["score"])
    return np.array(found)


def require_imagined_as_the_scheme_pays(buffer):
    """By hand: m' is m and whoever was served; log-Nash of m' is paid, 0 for a waste."""
    batch = buffer.sample(4000)
    now, then = batch.observations.numpy(), batch.next_observations.numpy()
    pay, chosen = batch.rewards.numpy()[:, 0], batch.actions.numpy()[:, 0]
    present, before, after = now[:, :3], now[:, 3:], then[:, 3:]
    served = present * np.eye(3)[chosen]
    assert np.allclose(after, before + served)
    expected = np.where(served.any(axis=1), np.log1p(after).sum(axis=1), 0.0)
    assert np.allclose(pay, expected, atol=1e-5)
    return before


def test_imagined_experience_is_what_the_problem_would_have_paid():
    model = fair_dqn(shop(), learning_starts=10_000)
    model.learn(120)
    before = require_imagined_as_the_scheme_pays(model.replay_buffer)
    lived = {tuple(row) for row in model.replay_buffer.observations[:120, 0, 3:].tolist()}
    # One of five is as it happened. Some that are imagined happened elsewhere in an episode.
    beyond = np.mean([tuple(row) not in lived for row in before.tolist()])
    assert 0.3 < beyond < 0.8 + 4 * np.sqrt(0.16 / 4000)


def test_vector_environments_saving_and_loading(tmp_path):
    envs = stable_baselines3.common.env_util.make_vec_env(shop, n_envs=3, seed=0)
    model = fair_dqn(envs)
    model.learn(600)
    require_imagined_as_the_scheme_pays(model.replay_buffer)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "replay")
    again = stable_baselines3.DQN.load(tmp_path / "model", env=envs)
    again.load_replay_buffer(tmp_path / "replay")
    assert isinstance(again.replay_buffer, CounterfactualReplayBuffer)
    assert again.replay_buffer.size() == model.replay_buffer.size()
    require_imagined_as_the_scheme_pays(again.replay_buffer)
    state = again.policy.state_dict()
    assert all((state[name] == leaf).all() for name, leaf in model.policy.state_dict().items())
    again.learn(200, reset_num_timesteps=False)


def test_it_learns_to_be_fair():
    env = shop(encoder=Relative())
    model = fair_dqn(env)
    model.learn(2500)
    world = Doughnuts(**SHOP)
    best = plan(Problem(world, world.nash_scheme()))
    assert scores(model, env).mean() > 0.5 * (best.value + best.random_value())


def test_the_same_seed_learns_the_same():
    weights = []
    for _ in range(2):
        model = fair_dqn(shop())
        model.learn(150)
        weights.append(next(model.policy.parameters()).detach().numpy().copy())
    assert (weights[0] == weights[1]).all()


def test_what_is_wrong_is_said():
    with pytest.raises(MemoryDoesNotPay, match="leaves it at"):
        fair_dqn(shop(memory=Min())).learn(50)
    with pytest.raises(MemoryDoesNotPay, match="does not say which status it knows"):
        fair_dqn(shop(memory=LastWinner()))
    with pytest.raises(BadParameter, match="use Above or Around"):
        fair_dqn(shop(), proposal=NoProposal())
    with pytest.raises(CannotCarry, match="join=Flat"):
        CounterfactualReplayBuffer(
            10,
            gymnasium.spaces.Box(0, 1, (2, 2)),
            shop().action_space,
            fairness=fairness_of(shop()),
            proposal=Above(1),
        )
    with pytest.raises(BadParameter, match="keeps no next observations"):
        CounterfactualReplayBuffer(
            10,
            shop().observation_space,
            shop().action_space,
            optimize_memory_usage=True,
            handle_timeout_termination=False,
            fairness=fairness_of(shop()),
            proposal=Above(1),
        )
    with pytest.raises(BadParameter, match="imagined is 0"):
        CounterfactualReplayBuffer(
            10,
            shop().observation_space,
            shop().action_space,
            fairness=fairness_of(shop()),
            proposal=Above(1),
            imagined=0,
        )
    plain = gymnasium.make("evenhand/Doughnuts-v0", **SHOP)
    model = stable_baselines3.DQN(
        "MlpPolicy",
        plain,
        replay_buffer_class=CounterfactualReplayBuffer,
        replay_buffer_kwargs={"fairness": fairness_of(shop()), "proposal": Above(1)},
    )
    with pytest.raises(BadParameter, match="put a FairnessWrapper around it"):
        model.learn(10)
