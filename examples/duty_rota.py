"""A rota of ten with waiting times: who gets the slot today? An environment of one's own."""

import gymnasium
import numpy as np
from gymnasium import spaces

import evenhand

COMES = np.linspace(0.95, 0.25, 10)  # the chance that each one is free on a day


class DutyRota(gymnasium.Env):
    """Every day one of ten gets a slot that all would like to have; not everybody is free.

    Seen is who is free today, and for how many days each has waited. A slot for somebody who is
    not free is lost.
    """

    num_stakeholders, horizon = 10, 100

    def __init__(self):
        parts = {
            "free": spaces.MultiBinary(10),
            "waited": spaces.Box(0.0, 100.0, (10,), np.float32),
        }
        self.observation_space = spaces.Dict(parts)
        self.action_space = spaces.Discrete(10)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.days, self.waited = 0, np.zeros(10)
        return self._morning(), {}

    def step(self, action):
        served = np.zeros(10)
        served[action] = self.free[action]
        self.waited = np.where(served > 0, 0, self.waited + 1)
        self.days += 1
        over = self.days == self.horizon
        return self._morning(), float(served.sum()), over, False, {"stakeholder_rewards": served}

    def _morning(self):
        self.free = self.np_random.random(10) < COMES
        return {"free": self.free.astype(np.int8), "waited": self.waited.astype(np.float32)}


# Of all days together, how long the one has waited who has waited longest.
SCHEME = evenhand.anytime(evenhand.Rawls(), evenhand.Total(), evenhand.WaitingTime())

RULES = {
    "longest wait of those free": lambda env: int(np.argmax(env.free * (1 + env.waited))),
    "longest wait": lambda env: int(np.argmax(env.waited)),
    "longest wait per chance to come": lambda env: int(
        np.argmax(env.free * (1 + env.waited) / COMES)
    ),
}

if __name__ == "__main__":
    env = DutyRota()
    for name, rule in RULES.items():
        env.reset(seed=0)
        given = sum(env.step(rule(env))[-1]["stakeholder_rewards"] for _ in range(env.horizon))
        print(f"{name}: in one episode each receives {np.round(given, 1).tolist()}")
