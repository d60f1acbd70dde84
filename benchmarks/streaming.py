"""The cost per step of a stream does not depend on the number of steps before."""

from __future__ import annotations

import time

import numpy as np

from evenhand import (
    BalancedUnfairness,
    FairnessScheme,
    PairwiseEnvy,
    Trace,
    Window,
    anytime,
    periodic,
)

SCHEMES = {
    "anytime log-Nash": anytime(),
    "every 30th, window of 50": periodic(30, status=Window(50)),
    "balanced unfairness": FairnessScheme(aggregation=BalancedUnfairness()),
    "balanced pairwise envy": FairnessScheme(PairwiseEnvy(), BalancedUnfairness()),
}


def main() -> None:
    rng = np.random.default_rng(0)
    rows = np.eye(5)[rng.integers(0, 5, 500)]
    for name, scheme in SCHEMES.items():
        streams = {}
        for before in (1_000, 1_000_000):
            streams[before] = scheme.stream(5)
            streams[before].extend(Trace(rewards=np.eye(5)[rng.integers(0, 5, before)]))
        costs = dict.fromkeys(streams, float("inf"))
        for _ in range(10):  # alternating, so that other load affects both
            for before, stream in streams.items():
                start = time.perf_counter()
                for row in rows:
                    stream.push(row)
                cost = (time.perf_counter() - start) / len(rows) * 1e6
                costs[before] = min(costs[before], cost)
        early, late = costs.values()
        print(
            f"{name}: {early:.1f} µs per step after 10^3 steps, {late:.1f} µs after 10^6 "
            f"(ratio {late / early:.2f})"
        )
