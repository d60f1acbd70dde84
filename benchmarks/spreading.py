"""Seeds distributed over processes: two processes compared with one in the same run, on the same
blocks (target: 1.7 times), and the parts of the cost of a sweep: see docs/scale.md.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET = 1.7
# A recurrent network on lending, the paper's recipe: long enough that start-up does not matter.
SEEDS, EPISODES = 10, 400


def measure(workers: int) -> float:
    """Seconds of the whole run."""
    from evenhand.envs import Lending
    from evenhand.lab.executors import LocalProcesses, block_files, train_in_blocks
    from evenhand.lab.run_spec import RunSpec

    seeds, steps = tuple(range(SEEDS)), EPISODES * 40
    spec = RunSpec(Lending(), "rnn", seeds, steps, every=EPISODES, deep=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        started, used = time.perf_counter(), _used()
        run = train_in_blocks(spec, path, executor=LocalProcesses(workers))
        took, share = time.perf_counter() - started, _used() - used
        share /= took * workers
        files = block_files(path)
        size = sum(file.stat().st_size for file in files)
    print(
        f"{workers} process{'es' if workers > 1 else ''}: {took:.1f} s; the slowest of "
        f"{len(files)} blocks compiled for {run.compile_seconds:.1f} s and learned for "
        f"{run.seconds:.1f} s; {size / SEEDS / 1e6:.1f} MB per seed; "
        f"each had {share:.0%} of a core",
        flush=True,
    )
    return took


def _used() -> float:
    """CPU seconds of the processes that have ended. If that is much less than the time they took,
    other work was using the cores, and the ratio means nothing."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def start_up() -> float:
    """Seconds until a process can start to compile."""
    started = time.perf_counter()
    code = "import evenhand.lab.compare_methods"
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def on_ray() -> None:
    """The time to start a cluster on this machine, and that of an empty task on it."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    try:
        import ray
    except ImportError:
        print("Ray is not installed: not measured")
        return
    started = time.perf_counter()
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR")
    begun = time.perf_counter() - started
    nothing = ray.remote(num_cpus=1)(lambda: None)
    ray.get([nothing.remote() for _ in range(4)])
    started = time.perf_counter()
    ray.get([nothing.remote() for _ in range(1000)])
    each = (time.perf_counter() - started) / 1000
    print(f"Ray: {begun:.1f} s to start here, {each * 1e3:.2f} ms per empty task")
    ray.shutdown()


def main() -> None:
    load = os.getloadavg()[0]
    print(f"rnn on lending, {SEEDS} seeds of {EPISODES} episodes; load {load:.1f} before")
    print(f"a process is ready after {start_up():.1f} s")
    one, two = measure(1), measure(2)
    print(f"two processes compared with one: {one / two:.2f} times (target: {TARGET})", flush=True)
    on_ray()


if __name__ == "__main__":
    main()
