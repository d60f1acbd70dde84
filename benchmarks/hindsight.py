"""The best there was: how long it takes, how near it comes, and how both grow, beside cvxpy.

Stakeholders of sizes 1 to 9 come and go; half of them are there from the first of 60 points on, and
half until the last. Each run is a process of its own, on one core. cvxpy is written sparsely, with
a variable only where somebody is there, and solved by Clarabel (log-Nash) or HiGHS (Rawls).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

POINTS = 60
BOTH = ("log_nash", "rawls")
OURS = [
    *((welfare, size, "weighted") for welfare in BOTH for size in (300, 1_000)),
    *(
        (welfare, size, "weighted")
        for welfare in ("log_nash", "rawls")
        for size in (10_000, 100_000)
    ),
    # Sizes of which each counts once: nobody is like anybody else, so that no kinds can be made.
    ("log_nash", 1_000, "alone"),
    ("log_nash", 10_000, "alone"),
]
THEIRS = [("log_nash", 300), ("log_nash", 1_000), ("rawls", 100), ("rawls", 300)]
PATIENCE = 600  # seconds


def made_up(size: int, weighing: str):
    """A division, seeded."""
    import numpy as np

    from evenhand.decide.hindsight.division import Division

    rng = np.random.default_rng(0)
    first = rng.integers(0, POINTS // 2, size) * (rng.random(size) < 0.5)
    stays = 1 + rng.integers(0, POINTS, size)
    last = np.where(rng.random(size) < 0.5, POINTS, first + stays)
    first[0], last[0] = 0, POINTS
    when = np.arange(POINTS)[:, None]
    eligible = (when >= first) & (when < last)
    sizes = rng.integers(1, 10, size) if weighing == "weighted" else rng.random(size) + 0.5
    weight = eligible * (sizes if weighing == "weighted" else 1.0)
    weight = weight * (eligible.sum(axis=1) / weight.sum(axis=1))[:, None]
    return Division(
        names=tuple(map(str, range(size))),
        supply=rng.random(POINTS) * size,
        eligible=eligible,
        asked=None,
        after=np.arange(1, POINTS + 1),
        slope=np.tile(1.0 / sizes, (POINTS, 1)),
        start=np.zeros((POINTS, size)),
        weight=weight,
    )


def ours(welfare: str, size: int, weighing: str) -> tuple[float, float, float]:
    """Score, bound and seconds."""
    from evenhand.decide.hindsight.best_division import best_division
    from evenhand.fairness.aggregation import TimepointFirst
    from evenhand.fairness.temporal import Mean
    from evenhand.fairness.welfare import LogNash, Rawls

    aggregation = TimepointFirst({"log_nash": LogNash(), "rawls": Rawls()}[welfare], Mean())
    division = made_up(size, weighing)
    begun = time.perf_counter()
    found = best_division(division, aggregation)
    score = division.score(found.allocation, aggregation)
    return score, found.bound, time.perf_counter() - begun


def by_cvxpy(welfare: str, size: int) -> tuple[float, float, float]:
    """The optimum, twice, and seconds."""
    import cvxpy as cp
    import numpy as np
    from scipy.sparse import coo_array

    division = made_up(size, "weighted")
    begun = time.perf_counter()
    point, who = np.nonzero(division.eligible)
    cells = len(point)
    given, total = cp.Variable(cells, nonneg=True), cp.Variable(cells)
    place = np.full(division.eligible.shape, -1)
    place[point, who] = np.arange(cells)
    earlier = np.where(point > 0, place[point - 1, who], -1)
    row = np.flatnonzero(earlier >= 0)
    before = coo_array((np.ones(len(row)), (row, earlier[row])), shape=(cells, cells)).tocsr()
    at = coo_array((np.ones(cells), (point, np.arange(cells))), shape=(POINTS, cells)).tocsr()
    rules = [total == before @ total + given, at @ given == division.supply]
    status = cp.multiply(division.slope[point, who], total)
    if welfare == "log_nash":
        goal = cp.sum(cp.multiply(division.weight[point, who], cp.log(status + 1))) / POINTS
        solver = cp.CLARABEL
    else:
        worst = cp.Variable(POINTS)
        rules.append(status >= at.T.tocsr() @ worst)
        goal, solver = cp.sum(worst) / POINTS, cp.HIGHS
    problem = cp.Problem(cp.Maximize(goal), rules)
    problem.solve(solver=solver)
    return float(problem.value), float(problem.value), time.perf_counter() - begun


def measure(kind: str, *arguments: str) -> None:
    welfare, size = arguments[0], int(arguments[1])
    found = ours(welfare, size, arguments[2]) if kind == "ours" else by_cvxpy(welfare, size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps([*found, peak]))


def main() -> None:
    one_core = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    runs = [("ours", *map(str, one)) for one in OURS]
    runs += [("cvxpy", *map(str, one)) for one in THEIRS]
    for run in runs:
        command = ["taskset", "-c", "1", sys.executable, "-m", "benchmarks.hindsight", *run]
        name = " ".join((run[0], run[1], f"{int(run[2]):,} x {POINTS}", *run[3:]))
        try:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=one_core, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            print(f"{name}: more than {PATIENCE} s", flush=True)
            continue
        score, bound, took, peak = json.loads(done.stdout)
        gap = (bound - score) / abs(bound)
        shown = f"score {score:,.6g}, relative gap {gap:.1e}"
        print(f"{name}: {took:.1f} s, {peak:.1f} GB, {shown}", flush=True)


if __name__ == "__main__":
    measure(*sys.argv[1:])
