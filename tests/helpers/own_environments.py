"""Gymnasium environments as a user would write them, small enough to learn in a second."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium import spaces

from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import LogNash

NASH = anytime(LogNash(), Total())


class Counter(gymnasium.Env):
    """One of two customers is served, if it is there; `unit` is what one serving counts for."""

    num_stakeholders, horizon = 2, 6

    def __init__(self, unit=1.0, masks=False, chances=(0.9, 0.5)):
        self.observation_space = spaces.Box(0.0, 1.0, (2,))
        self.action_space = spaces.Discrete(2)
        self.unit, self.masks, self.chances = unit, masks, np.asarray(chances)
        self.impossible = 0  # actions that were taken although they were ruled out

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._arrive(), self._info()

    def step(self, action):
        served = np.zeros(2)
        served[action] = self.unit * self.there[action]
        self.impossible += bool(self.masks and self.there.any() and not self.there[action])
        self.time += 1
        following = self._arrive()
        return following, 0.0, self.time == 6, False, self._info(stakeholder_rewards=served)

    def _arrive(self):
        self.there = self.np_random.random(2) < self.chances
        return self.look(self.there)

    def look(self, there):
        return there.astype(np.float32)

    def _info(self, **entries):
        return {**entries, "action_mask": self.there.astype(np.int8)} if self.masks else entries


class Pairs(gymnasium.Env):
    """Two of four are served in each step, with two choices at once."""

    num_stakeholders, horizon = 4, 5

    def __init__(self):
        self.observation_space = spaces.Dict(
            {"size": spaces.Box(0.0, 3.0, (4,)), "hour": spaces.Box(0.0, 5.0, (1,))}
        )
        self.action_space = spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._look(), {}

    def step(self, action):
        served = np.zeros(4)
        chosen = [int(action[0]), 2 + int(action[1])]
        served[chosen] = 2.0 * self.size[chosen]
        self.time += 1
        return self._look(), 0.0, False, self.time == 5, {"stakeholder_rewards": served}

    def _look(self):
        self.size = self.np_random.integers(1, 4, size=4)
        return {"size": self.size.astype(np.float32), "hour": np.array([self.time], np.float32)}
