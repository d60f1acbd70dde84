"""Decisions per second of a rule for a million stakeholders, on one core, and its memory.

Entitlements and amounts are random, so that whoever is served goes anywhere in the order. Times are
of the processor, as the machine may be busy with other things; `replayed` is the whole way from a
supply of ten million lots to who got what.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from evenhand.decide.replay.supply import decide_supply
from evenhand.decide.rules.built_in import rule_of
from evenhand.decide.rules.state import RuleState
from evenhand.log.history import Lots
from evenhand.log.log import Supply

STAKEHOLDERS = 1_000_000
DECISIONS = 2_000_000
REPLAYED = 10_000_000
TIMES = 1_000  # time points of the replay
RULES = ("least_served", "half_life:7", "longest_wait")


def main() -> None:
    rng = np.random.default_rng(0)
    entitled = rng.exponential(size=STAKEHOLDERS) + 0.1
    amounts = rng.exponential(size=DECISIONS).tolist()
    before = _memory()
    for name in RULES:
        state = RuleState(rule_of(name))
        start = time.process_time()
        for entitlement in entitled.tolist():
            state.add(entitlement)
        joined = time.process_time()
        for turn, amount in enumerate(amounts):
            state.time = turn * 1e-3
            state.give(state.first(), amount)
        took = time.process_time() - joined
        print(
            f"{name}: {DECISIONS / took:,.0f} decisions per second for {STAKEHOLDERS:,} "
            f"stakeholders, who join in {joined - start:.1f} s; "
            f"{(_memory() - before) / STAKEHOLDERS:,.0f} bytes each at most",
            flush=True,
        )
        del state
    _replayed(entitled, rng)


def _replayed(entitled: np.ndarray, rng: np.random.Generator) -> None:
    ones = np.ones(REPLAYED, dtype=np.int64)
    lots = Lots(
        np.sort(rng.integers(0, TIMES, REPLAYED)),
        0 * ones,
        1.0 * rng.integers(1, 9, REPLAYED),
        ones,
    )
    names = tuple(map(str, range(STAKEHOLDERS)))
    supply = Supply(names, np.arange(float(TIMES)), lots, shares=entitled)
    start = time.process_time()
    given = decide_supply(supply, rule_of("least_served"))
    took = time.process_time() - start
    print(
        f"least_served replayed: {len(given.who):,} decisions in {took:.0f} s "
        f"({len(given.who) / took:,.0f} per second), {_memory() / 2**30:.1f} GB in all",
        flush=True,
    )


def _memory() -> int:
    """The most that this process has taken so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
