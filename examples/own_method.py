"""A method of one's own in the benchmark: Q-learning in a dictionary, beside acting at random.

python examples/own_method.py own_method.json
"""

import sys

import numpy as np

from evenhand.lab import Leaderboard, Method, pairs_of, run_benchmark


class DictionaryQ(Method):
    """Q-learning of what each action adds to the welfare, by who is there and who is behind."""

    settings = ({"rate": 0.1}, {"rate": 0.5})  # tried with two seeds each; the better one is taken

    def __init__(self, rate):
        self.rate, self.values = rate, {}

    def begin(self, facts, seed):
        self.facts, self.rng = facts, np.random.default_rng(seed)

    def row(self, seen):
        lead = seen.received - seen.received.min()
        return self.values.setdefault((*seen.observation, *lead), np.zeros(self.facts.num_actions))

    def act(self, seen, explore):
        if explore and self.rng.random() < 0.2:
            return self.rng.integers(self.facts.num_actions)
        return int(self.row(seen).argmax())

    def learn(self, seen, action, rewards, after, over):
        welfare = self.facts.scheme.welfare
        gain = float(welfare(after.received) - welfare(seen.received))
        self.row(seen)[action] += self.rate * (gain - self.row(seen)[action])


if __name__ == "__main__":
    shop = {"name": "doughnuts", "num_stakeholders": 3, "horizon": 10}
    pairs = pairs_of([shop], ["long-term"])
    results = run_benchmark(pairs, [DictionaryQ, "random"], seeds=2, steps=1_000, evaluations=2)
    if len(sys.argv) > 1:  # others put such a file beside theirs: evenhand benchmark --leaderboard
        results.write(sys.argv[1])
    for row in Leaderboard(results).rows[pairs[0].name]:
        print(f"{row.method}: {row.share.value:.0%} of the way from random to the optimum")
