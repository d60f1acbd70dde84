"""The replay buffer that imagines, on a stand-in for Stable-Baselines3's, which needs torch.

What runs in Stable-Baselines3 itself is in tests/system/test_sb3.py.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from types import ModuleType
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from evenhand.errors import BadParameter, MemoryDoesNotPay
from evenhand.fairness.scheme import periodic
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import LogNash
from evenhand.interop import FairnessWrapper, FromInfo, fairness_of
from evenhand.learn.imagined_memories import Above
from evenhand.memory.memory import Full, Min

PERIOD = 2
SCHEME = periodic(PERIOD, LogNash(), Total())


class Samples(NamedTuple):
    observations: np.ndarray
    actions: np.ndarray
    next_observations: np.ndarray
    dones: np.ndarray
    rewards: np.ndarray


class PlainBuffer:
    """As much of SB3's `ReplayBuffer` as is built on, in NumPy."""

    def __init__(self, size, observation_space, action_space, n_envs=1, memory=False):
        self.buffer_size, self.n_envs, self.pos = size, n_envs, 0
        self.full = False
        self.observation_space, self.optimize_memory_usage = observation_space, memory
        self.obs_shape = observation_space.shape
        room = size, n_envs
        self.observations = np.zeros((*room, *self.obs_shape), dtype=np.float32)
        self.next_observations = np.zeros_like(self.observations)
        self.actions = np.zeros((*room, 1), dtype=int)
        self.rewards, self.dones, self.timeouts = np.zeros((3, *room), dtype=np.float32)

    def add(self, obs, next_obs, action, reward, done, infos):
        self.observations[self.pos], self.next_observations[self.pos] = obs, next_obs
        self.actions[self.pos, :, 0], self.rewards[self.pos] = action, reward
        self.dones[self.pos] = done
        self.timeouts[self.pos] = [info.get("TimeLimit.truncated", False) for info in infos]
        self.pos += 1

    def to_torch(self, array):
        return array

    def _normalize_obs(self, obs, env):
        return obs

    def _normalize_reward(self, reward, env):
        return reward


@pytest.fixture(scope="module")
def buffer_class():
    """Our buffer, built on the stand-in: `evenhand.interop.sb3` read anew."""
    names = ("stable_baselines3", "common", "buffers"), ("stable_baselines3", "common")
    buffers, aliases = ModuleType(".".join(names[0])), ModuleType("type_aliases")
    buffers.ReplayBuffer, aliases.ReplayBufferSamples = PlainBuffer, Samples
    found = importlib.util.find_spec("evenhand.interop.sb3")
    with pytest.MonkeyPatch.context() as patch:
        for name, module in {
            "stable_baselines3": ModuleType("stable_baselines3"),
            "stable_baselines3.common": ModuleType("stable_baselines3.common"),
            "stable_baselines3.common.buffers": buffers,
            "stable_baselines3.common.type_aliases": aliases,
        }.items():
            patch.setitem(sys.modules, name, module)
        spec = importlib.util.spec_from_file_location("sb3_on_a_stand_in", found.origin)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.CounterfactualReplayBuffer


class Counter(gymnasium.Env):
    """Whoever is named receives 1; four steps, of which the last ends or is a time-out."""

    observation_space = spaces.Box(0, 9, (1,))
    action_space = spaces.Discrete(2)

    def __init__(self, times_out):
        self.times_out = times_out

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        self.time += 1
        over = self.time == 4
        info = {"each": np.eye(2)[action]}
        seen = np.full(1, self.time, dtype=np.float32)
        return seen, 0.0, over and not self.times_out, over and self.times_out, info


def wrapped(times_out=False, memory=Full()):
    return FairnessWrapper(
        Counter(times_out), SCHEME, memory, FromInfo("each"), num_stakeholders=2, horizon=4
    )


def filled(buffer_class, **settings):
    """Two environments side by side for an episode: one ends, the other runs out of time."""
    envs = [wrapped(times_out) for times_out in (False, True)]
    buffer = buffer_class(
        10,
        envs[0].observation_space,
        envs[0].action_space,
        n_envs=2,
        fairness=fairness_of(envs[0]),
        proposal=Above(1),
        **settings,
    )
    now = np.stack([env.reset()[0] for env in envs])
    for actions in ((0, 1), (0, 0), (1, 1), (0, 1)):
        answers = [env.step(action) for env, action in zip(envs, actions, strict=True)]
        then = np.stack([answer[0] for answer in answers])
        pay, over = [a[1] for a in answers], [a[2] or a[3] for a in answers]
        infos = [a[4] | {"TimeLimit.truncated": a[3]} for a in answers]
        buffer.add(now, then, np.array(actions), np.array(pay), np.array(over), infos)
        now = then
    return buffer


def test_every_sample_is_what_happened_or_what_would_have(buffer_class):
    buffer = filled(buffer_class, imagined=1)
    np.random.seed(0)  # noqa: NPY002 - as SB3 seeds it
    batch = buffer._get_samples(np.repeat(np.arange(4), 50))
    lived = {tuple(row) for row in buffer.observations[:4].reshape(-1, 4).tolist()}
    imagined = 0
    ended = {}
    for now, action, then, done, reward in zip(*map(np.ndarray.tolist, batch), strict=True):
        (time, *before, counter), (later, *after, next_counter) = now, then
        assert later == time + 1
        assert after == [before[0] + (action == [0]), before[1] + (action == [1])]
        # The filter's counter goes on as it did, whatever is imagined.
        assert (counter, next_counter) == (time % PERIOD, later % PERIOD)
        welfare = sum(math.log(1 + u) for u in after)
        assert reward == pytest.approx([welfare if later % PERIOD == 0 else 0.0], abs=1e-5)
        imagined += sum(before) == time + 2
        assert sum(before) in (time, time + 2)
        assert (tuple(now) in lived) == (sum(before) == time)
        ended.setdefault(time, set()).add(done[0])
    # One imagined for each real one, on average; a time-out is not an end.
    assert abs(imagined / 200 - 0.5) < 5 * 0.5 / math.sqrt(200)
    assert ended == {0: {0.0}, 1: {0.0}, 2: {0.0}, 3: {0.0, 1.0}}


def test_ends_and_time_outs_are_told_apart(buffer_class):
    buffer = filled(buffer_class)
    last = buffer._get_samples(np.full(60, 3))
    # In the first environment the last step was (1, 0), in the second (0, 1).
    for action, done in zip(last.actions[:, 0], last.dones[:, 0], strict=True):
        assert done == (1.0 if action == 0 else 0.0)


def test_what_cannot_be_imagined_is_refused(buffer_class):
    env = wrapped()
    spaces_ = env.observation_space, env.action_space
    settings = {"fairness": fairness_of(env), "proposal": Above(1)}
    for imagined in (0, 1.5, True):
        with pytest.raises(BadParameter, match=f"imagined is {imagined}"):
            buffer_class(10, *spaces_, **settings, imagined=imagined)
    buffer = buffer_class(10, *spaces_, **settings)
    with pytest.raises(BadParameter, match="no step_context"):
        buffer.add(*[np.zeros((1, 4))] * 2, *[np.zeros(1)] * 3, [{}])
    least = wrapped(memory=Min())
    claims = buffer_class(10, *spaces_, fairness=fairness_of(least), proposal=Above(1))
    now, _ = least.reset()

    def happens(action):
        then, pay, _, _, info = least.step(action)
        claims.add(now, then, np.array([action]), np.array([pay]), np.zeros(1), [info])

    happens(0)
    with pytest.raises(MemoryDoesNotPay, match="experience 2 leaves it at"):
        happens(1)
