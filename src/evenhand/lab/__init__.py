"""The lab: recipes, runs and where they are done, the paper made anew, and the benchmark.

The benchmark is the yardstick: worlds with known optima, schemes and methods side by side, under
one budget. A method of one's own is a subclass of `Method`: see docs/benchmark.md.
"""

# ruff: noqa: F401  # the imports under TYPE_CHECKING are for static checkers and readers

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util.registry import lazy_exports

if TYPE_CHECKING:
    from evenhand.lab.benchmark_results import BenchmarkResults, merge_results, read_results
    from evenhand.lab.benchmark_worlds import BenchmarkPair, pairs_of
    from evenhand.lab.leaderboard import Leaderboard
    from evenhand.lab.run_benchmark import run_benchmark
    from evenhand.lab.trials import BENCHMARK_METHODS, Method, Seen, WorldFacts

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "benchmark_results": (
            "BenchmarkResults",
            "merge_results",
            "read_results",
        ),
        "benchmark_worlds": (
            "BenchmarkPair",
            "pairs_of",
        ),
        "leaderboard": ("Leaderboard",),
        "run_benchmark": ("run_benchmark",),
        "trials": (
            "BENCHMARK_METHODS",
            "Method",
            "Seen",
            "WorldFacts",
        ),
    },
)
