"""Anytime log-Nash over 10 million decisions, compared with the definition as a loop.

Two loops, each extrapolated from 100 thousand decisions: the definition with the package's own
objects, one U and one W per step; and the simplest loop that computes the same number, with floats
and no objects. The second is the best that a hand-written script would do.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable

import numpy as np

from evenhand import LogNash, Returns, Trace, anytime

DECISIONS, STAKEHOLDERS, LOOPED = 10_000_000, 5, 100_000


def definition(trace: Trace) -> float:
    """mean_t W(U(τ_t)), with U as a fold."""
    status, welfare = Returns(), LogNash()
    state, total = status.init(trace.num_stakeholders), 0.0
    for step in trace.steps():
        state = status.update(state, step)
        total += float(welfare(status.value(state)))
    return total / len(trace)


def bare_loop(trace: Trace) -> float:
    """The same with counts in a list and math.log."""
    counts, total = [0.0] * trace.num_stakeholders, 0.0
    for row in trace.rewards:
        for i, amount in enumerate(row):
            counts[i] += amount
        total += sum(math.log(count + 1.0) for count in counts)
    return total / len(trace)


def seconds(work: Callable[[], float], repeats: int = 3) -> tuple[float, float]:
    """The best of several times, and the result."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def main() -> None:
    rng = np.random.default_rng(0)
    rewards = np.zeros((DECISIONS, STAKEHOLDERS))
    rewards[np.arange(DECISIONS), rng.integers(0, STAKEHOLDERS, DECISIONS)] = 1.0
    trace = Trace(rewards=rewards)
    short = trace.prefix(LOOPED)
    ours, _ = seconds(lambda: anytime().score(trace), repeats=5)
    check = anytime().score(short)
    print(
        f"scheme.score, {DECISIONS:,} decisions: {ours:.2f} s, {ours / DECISIONS * 1e9:.0f} ns each"
    )
    for name, loop in (("definition as a loop", definition), ("simplest loop", bare_loop)):
        took, value = seconds(lambda loop=loop: loop(short))  # type: ignore[misc]
        assert math.isclose(value, check, rel_tol=1e-12), (value, check)
        whole = took * DECISIONS / LOOPED
        print(f"{name}: {whole:.1f} s (extrapolated), {whole / ours:.0f} times as long")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"peak memory {peak:.2f} GB, of which {rewards.nbytes / 2**30:.2f} GB is the trace itself"
    )
