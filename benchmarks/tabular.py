"""Tabular FairQCM, 10 seeds of 100,000 steps with evaluation, on one core, with and without
compilation; compared with Q-learning as a plain Python loop over the same environment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from math import log

SEEDS, STEPS, LOOPED = 10, 100_000, 20_000


def plain_loop(steps: int) -> float:
    """FairQCM with the paper's settings in plain Python dictionaries; seconds per step."""
    random.seed(0)
    q: dict = defaultdict(lambda: [0.0] * 3)
    epsilon: dict = defaultdict(lambda: 1.0)
    present, counts, clock = (1, 1, 1), (0, 0, 0), 0
    start = time.perf_counter()
    for _ in range(steps):
        here = present, counts
        best = max(q[here])
        greedy = random.choice([a for a in range(3) if q[here][a] == best])
        action = random.randrange(3) if random.random() < epsilon[here] else greedy
        epsilon[here] = max(0.2, 0.95 * epsilon[here])
        following = tuple(int(random.random() < 0.8) for _ in range(3))
        imagined = [
            (counts[0] + i, counts[1] + j, counts[2] + k)
            for i in (1, 2)
            for j in (1, 2)
            for k in (1, 2)
        ]
        for memory in (counts, *imagined):
            after, reward = memory, 0.0
            if present[action]:
                after = tuple(c + (i == action) for i, c in enumerate(memory))
                reward = sum(log(c + 1) for c in after)
            target = reward + 0.99 * max(q[following, after])
            q[present, memory][action] += 0.1 * (target - q[present, memory][action])
        counts = tuple(c + (i == action) * present[action] for i, c in enumerate(counts))
        present, clock = following, clock + 1
        if clock == 12:
            counts, clock = (0, 0, 0), 0
    return (time.perf_counter() - start) / steps


def measure() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from evenhand.envs import Doughnuts
    from evenhand.lab.run_spec import RunSpec
    from evenhand.lab.runs import train

    shop = Doughnuts(3, 12, 0.8)
    begun = time.perf_counter()
    spec = RunSpec(shop, "fairqcm", tuple(range(SEEDS)), steps=STEPS, every=STEPS // 100)
    run = train(spec.build(), spec)
    total = time.perf_counter() - begun
    each = run.seconds / (STEPS * SEEDS) * 1e6
    print(f"FairQCM, {SEEDS} seeds of {STEPS:,} steps, 100 evaluations, one core:")
    print(f"  {run.seconds:.2f} s after compilation ({each:.2f} µs per step and seed)")
    print(f"  {total:.1f} s with compilation")
    plain = plain_loop(LOOPED) * 1e6
    print(
        f"  a plain Python loop, not evaluated: {plain:.0f} µs per step ({plain / each:.0f} times)"
    )
    print(f"  the paper's script: 99 µs per step and seed on such a CPU ({99 / each:.0f} times)")


def main() -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.tabular"], check=True)


if __name__ == "__main__":
    measure()
