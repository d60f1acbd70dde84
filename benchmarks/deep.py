"""Deep learning, the paper's recipe: ten-seed jobs on all cores, compilation included, evaluated as
in the scripts (one greedy episode after each training episode), compared with the scripts' times.

A job is run for a tenth of its episodes and extrapolated: start and compilation are counted once,
the rest ten times. It is run twice: with an empty cache of compiled functions, and with what the
first run has put there.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time

SEEDS, EPISODES, MEASURED = 10, 1000, 100
# Environment, horizon, method, the scripts' seconds per seed on one core of such a machine, and the
# target as a multiple of their throughput.
JOBS = (
    ("doughnuts", 100, "fairqcm", 342, 8),
    ("doughnuts", 100, "full", 115, 25),
    ("doughnuts", 100, "min", 113, 25),
    ("doughnuts", 100, "reset", 111, 25),
    ("lending", 40, "fairqcm", 61, 15),
    ("doughnuts", 100, "rnn", 3200, 10),
    ("lending", 40, "rnn", 2400, 10),
)


def job(environment: str, horizon: int, method: str) -> tuple[float, float]:
    """Seconds of the whole job, and of its learning alone."""
    from evenhand.envs import ENVIRONMENTS
    from evenhand.lab.executors import train_in_blocks
    from evenhand.lab.run_spec import RunSpec

    spec = RunSpec(
        ENVIRONMENTS.get(environment)(),
        method,
        tuple(range(SEEDS)),
        steps=MEASURED * horizon,
        every=horizon,
        deep=True,
        evaluation=1,
    )
    started = time.perf_counter()
    run = train_in_blocks(spec)
    took = time.perf_counter() - started
    return took + run.seconds * (EPISODES / MEASURED - 1), run.seconds * EPISODES / MEASURED


def first_and_second(environment: str, horizon: int, method: str) -> list[tuple[float, float]]:
    """The job without and with what was compiled before, in a cache of its own."""
    from evenhand._util.compile_cache import VARIABLE, enable_compile_cache

    before = os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder
        enable_compile_cache()  # for the processes that are started
        try:
            return [job(environment, horizon, method) for _ in range(2)]
        finally:
            for name in (VARIABLE, "JAX_COMPILATION_CACHE_DIR"):
                os.environ.pop(name, None)
            if before is not None:
                os.environ["JAX_COMPILATION_CACHE_DIR"] = before


PRODUCT = """
import time, numpy as np
a = np.ones((1024, 1024), dtype=np.float32)
a @ a
def once():
    started = time.perf_counter()
    a @ a
    return 2 * 1024**3 / (time.perf_counter() - started)
print(max(once() for _ in range(5)))
"""


def limit() -> float:
    """Multiplications and additions per second of one core, in a large matrix product."""
    # In a process of its own: NumPy chooses its number of threads when it is imported.
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", PRODUCT], env=alone, check=True, capture_output=True
    )
    return float(found.stdout)


def arithmetic(environment: str, method: str) -> float:
    """Multiplications and additions of one update of one seed, forward and backward."""
    from evenhand.envs import ENVIRONMENTS
    from evenhand.lab.recipes import deep_learner

    agent = deep_learner(ENVIRONMENTS.get(environment)(), method, "paper")
    sizes = [agent.layout.size, *agent.network.hidden, agent.problem.environment.num_actions]
    layers = [a * b for a, b in itertools.pairwise(sizes)]
    # Backward: the weights of every layer, and the inputs of every layer except the first.
    return 2 * agent.batch * (2 * sum(layers) + sum(layers[1:]))


def main() -> None:
    from evenhand.lab.executors import cores

    peak, number = limit(), len(cores())
    print(f"{SEEDS} seeds of {EPISODES} episodes on {number} cores, from {MEASURED} episodes;")
    print(f"a large matrix product runs at {peak / 1e9:.0f} GFLOP/s on one core")
    for environment, horizon, method, reference, target in JOBS:
        (took, learning), (again, _) = first_and_second(environment, horizon, method)
        scripts = SEEDS * reference
        line = f"{environment} {method}: {took:.0f} s, and {again:.0f} s the second time; the "
        line += f"scripts {scripts:,} s on one core: {scripts / took:.1f} and {scripts / again:.1f}"
        line += f" times (target: {target})"
        if method != "rnn":
            work = arithmetic(environment, method) * horizon * EPISODES * SEEDS
            line += f"; updates at {work / learning / peak / number:.0%} of that limit"
        else:
            line += "; ours learns from sequences of 24, the scripts from shuffled single steps"
        print(line, flush=True)


if __name__ == "__main__":
    main()
