"""A stream's cost a step does not depend on how many steps came before."""

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
    rows = np.eye(5)[rng.integers(0, 5, 2_000)]
    for name, scheme in SCHEMES.items():
        costs = {}
        for before in (1_000, 1_000_000):
            stream = scheme.stream(5)
            stream.extend(Trace(rewards=np.eye(5)[rng.integers(0, 5, before)]))
            start = time.perf_counter()
            for row in rows:
                stream.push(row)
            costs[before] = (time.perf_counter() - start) / len(rows) * 1e6
        early, late = costs.values()
        print(
            f"{name}: {early:.1f} µs a step after 10^3 steps, {late:.1f} µs after 10^6 "
            f"(ratio {late / early:.2f})"
        )
