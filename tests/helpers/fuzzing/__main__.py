"""`python -m fuzzing`: see the package."""

from __future__ import annotations

import argparse
import sys

from fuzzing.commands import SHARES
from fuzzing.fuzz import Summary, fuzz
from fuzzing.runner import CPU_LIMIT, WALL_LIMIT, Runner


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("--tries", type=int, default=10_000, help="in one process")
    parser.add_argument("--shell", type=int, default=500, help="each in a process of its own")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", type=float, default=CPU_LIMIT, help="seconds that are a hang")
    parser.add_argument("--wall", type=float, default=WALL_LIMIT, help="the same, while it waits")
    parser.add_argument("--verbs", nargs="*", default=(), choices=sorted(SHARES))
    asked = parser.parse_args()
    failed = False
    with Runner(asked.cpu, asked.wall) as runner:
        for tries, shell in ((asked.tries, False), (asked.shell, True)):
            if tries:
                summary = fuzz(tries, asked.seed, runner, shell, asked.verbs, _show)
                where = "through the shell" if shell else "in one process"
                print(f"\n{where}, seed {asked.seed}, {summary.seconds:.0f} s\n{summary.table()}")
                print(f"\n{summary.complaints()}" if summary.failures else "\nNothing was found.")
                failed |= bool(summary.failures)
    sys.exit(failed)


def _show(done: int, summary: Summary) -> None:
    if done % 100 == 0:
        failures = len(summary.failures)
        print(f"{done:,} tries, {failures} kinds of failure", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
