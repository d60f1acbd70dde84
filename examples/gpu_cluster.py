"""Eight users and two GPUs: who runs this hour? An environment of one's own, with simple rules."""

from itertools import combinations

import gymnasium
import numpy as np
from gymnasium import spaces

import evenhand

HAS_WORK = np.array([0.95, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2])  # the chance of it, by user
PAIRS = list(combinations(range(8), 2))


class GpuCluster(gymnasium.Env):
    """Every hour two of the eight users get a GPU each, for the work that they have.

    A user has work by chance, some more often than others: from a quarter of an hour to a whole
    one. Seen is how much each has now. A GPU for somebody without work idles.
    """

    num_stakeholders, horizon = 8, 100

    def __init__(self):
        self.observation_space = spaces.Dict({"work": spaces.Box(0.0, 1.0, (8,), np.float32)})
        self.action_space = spaces.Discrete(len(PAIRS))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hours, self.received = 0, np.zeros(8)
        return self._arrive(), {}

    def step(self, action):
        used = np.zeros(8)
        chosen = list(PAIRS[action])
        used[chosen] = self.work[chosen]
        self.received += used
        self.hours += 1
        over = self.hours == self.horizon
        return self._arrive(), float(used.sum()), over, False, {"stakeholder_rewards": used}

    def _arrive(self):
        some = self.np_random.integers(1, 5, size=8) / 4
        self.work = np.where(self.np_random.random(8) < HAS_WORK, some, 0.0)
        return {"work": self.work.astype(np.float32)}


SCHEME = evenhand.anytime(evenhand.LogNash(), evenhand.Total())  # of the GPU hours used so far


def _two_first(order):
    return PAIRS.index(tuple(sorted(int(i) for i in np.argsort(-order, kind="stable")[:2])))


RULES = {
    "largest marginal gain": lambda env: _two_first(np.log1p(env.work / (1 + env.received))),
    "least served with work": lambda env: _two_first((env.work > 0) / (1 + env.received)),
    "most work": lambda env: _two_first(env.work),
}

if __name__ == "__main__":
    env = GpuCluster()
    for name, rule in RULES.items():
        env.reset(seed=0)
        given = sum(env.step(rule(env))[-1]["stakeholder_rewards"] for _ in range(env.horizon))
        print(f"{name}: in one episode each receives {np.round(given, 1).tolist()}")
