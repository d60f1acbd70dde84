"""The exact optimum: how long it takes, how much memory, and how both grow.

Each problem is planned in a process of its own, to measure its own peak memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

PROBLEMS = {
    "doughnuts n=3 T=12 (from the shell, start-up included)": "shell",
    "doughnuts n=5 T=100": "Doughnuts(5, 100, 0.8)",
    "lending T=40": "Lending()",
    "balanced unfairness n=3 T=8": "balanced",
    **{f"growth: doughnuts n={n} T=50": f"Doughnuts({n}, 50, 0.8)" for n in (2, 3, 4, 5, 6)},
    **{f"growth: doughnuts n=4 T={t}": f"Doughnuts(4, {t}, 0.8)" for t in (25, 50, 100, 200)},
}
SHELL = ("plan", "doughnuts", "--stakeholders", "3", "--horizon", "12", "--json")


def measure(name: str) -> None:
    """Plan one problem and print its time and memory."""
    from evenhand import BalancedUnfairness, FairnessScheme
    from evenhand.envs import Doughnuts, Lending
    from evenhand.memory.memory import Full, GroupDifference
    from evenhand.planning.planner import plan
    from evenhand.problem.problem import Problem

    if PROBLEMS[name] == "balanced":
        scheme = FairnessScheme(aggregation=BalancedUnfairness())
        world = Doughnuts(3, 8, 0.8, wasted=None)
        problem, use_memory = Problem(world, scheme, augment_with_score=True), False
    else:
        kind, arguments = PROBLEMS[name].split("(")
        numbers = [float(part) for part in arguments.rstrip(")").split(",") if part.strip()]
        if kind == "Doughnuts":
            world = Doughnuts(int(numbers[0]), int(numbers[1]), numbers[2])
            problem, use_memory = Problem(world, world.nash_scheme(), Full()), False
        else:
            bank = Lending()
            memory = GroupDifference(bank.groups)
            problem, use_memory = Problem(bank, bank.parity_scheme(), memory), True
    start = time.perf_counter()
    found = plan(problem, use_memory=use_memory)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps([found.value, found.table.num_states, took, peak]))


def main() -> None:
    for name, kind in PROBLEMS.items():
        start = time.perf_counter()
        if kind == "shell":
            command = [sys.executable, "-m", "evenhand", *SHELL]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            value = json.loads(run.stdout)["optimum"]
            print(f"{name}: {time.perf_counter() - start:.1f} s, optimum {value:.4f}", flush=True)
            continue
        command = [sys.executable, "-m", "benchmarks.planning", name]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        value, states, took, peak = json.loads(run.stdout)
        print(
            f"{name}: {took:.1f} s, {peak:.1f} GB, {states:,} states, optimum {value:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    measure(sys.argv[1])
