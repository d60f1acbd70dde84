"""A food truck with twelve sites and amounts: how much to leave at this one?"""

import gymnasium
import numpy as np
from gymnasium import spaces

import evenhand

ASKED = np.array([4, 6, 9, 5, 12, 7, 4, 10, 6, 8, 14, 5])  # kilograms that each site asks for, mean
LOADED = 60  # kilograms each morning
AMOUNTS = np.arange(11)  # kilograms that may be left at a site


class FoodTruck(gymnasium.Env):
    """Each day the truck is loaded and passes twelve sites in order, which ask for more.

    Seen is where it stands, what that site asks for, and what is left. Whatever is left in the
    evening is lost. Amounts are in kilograms; `unit=1000` counts them in grams.
    """

    num_stakeholders, horizon = 12, 60  # five days

    def __init__(self, unit=1.0):
        self.unit = unit
        parts = {
            "site": spaces.Discrete(12),
            "asked": spaces.Box(0.0, 100.0 * unit, (1,), np.float32),
            "left": spaces.Box(0.0, LOADED * unit, (1,), np.float32),
        }
        self.observation_space = spaces.Dict(parts)
        self.action_space = spaces.Discrete(len(AMOUNTS))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.visits, self.received = 0, np.zeros(12)
        return self._arrive(), {}

    def step(self, action):
        given = np.zeros(12)
        given[self.site] = min(AMOUNTS[action], self.asked, self.left)
        self.left -= given.sum()
        self.received += given
        self.visits += 1
        over = self.visits == self.horizon
        given = given * self.unit
        return self._arrive(), float(given.sum()), over, False, {"stakeholder_rewards": given}

    def _arrive(self):
        self.site = self.visits % 12
        self.left = LOADED if self.site == 0 else self.left
        self.asked = self.np_random.poisson(ASKED[self.site])
        amounts = {"asked": self.asked, "left": self.left}
        seen = {name: np.array([x * self.unit], np.float32) for name, x in amounts.items()}
        return {"site": self.site, **seen}


SCHEME = evenhand.anytime(evenhand.LogNash(), evenhand.Total())  # of what each site has had so far


def _nearest(amount):
    return int(np.argmin(abs(AMOUNTS - amount)))


RULES = {
    "equal shares of what is left": lambda env: _nearest(env.left / (12 - env.site)),
    "all that is asked for": lambda env: _nearest(env.asked),
    "the mean of what is loaded": lambda env: _nearest(LOADED / 12),
}

if __name__ == "__main__":
    env = FoodTruck()
    for name, rule in RULES.items():
        env.reset(seed=0)
        given = sum(env.step(rule(env))[-1]["stakeholder_rewards"] for _ in range(env.horizon))
        print(f"{name}: in one episode each receives {np.round(given, 1).tolist()}")
