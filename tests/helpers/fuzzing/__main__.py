"""`python -m fuzzing`: see the package."""

from __future__ import annotations

import argparse
import math
import signal
import sys

from fuzzing.commands import SHARES
from fuzzing.fuzz import Summary, fuzz
from fuzzing.runner import IDLE_LIMIT, WORK_LIMIT, Outcome, Runner
from fuzzing.trial import Trial


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("--tries", type=int, default=10_000, help="in one process")
    parser.add_argument("--shell", type=int, default=500, help="each in a process of its own")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=float, default=WORK_LIMIT, help="seconds that are a hang")
    parser.add_argument("--idle", type=float, default=IDLE_LIMIT, help="the same, while it waits")
    parser.add_argument("--verbs", nargs="*", default=(), choices=sorted(SHARES))
    parser.add_argument("--seconds", type=float, default=math.inf, help="of each, at most")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaving nothing behind
    failed = False
    with Runner(asked.work, asked.idle) as runner:
        for tries, shell in ((asked.tries, False), (asked.shell, True)):
            if tries:
                summary = fuzz(tries, asked.seed, runner, shell, asked.verbs, _show, asked.seconds)
                where = "through the shell" if shell else "in one process"
                print(f"\n{where}, seed {asked.seed}, {summary.seconds:.0f} s\n{summary.table()}")
                print(f"\n{summary.complaints()}" if summary.failures else "\nNothing was found.")
                failed |= bool(summary.failures)
    sys.exit(failed)


def _show(summary: Summary, trial: Trial, outcome: Outcome) -> None:
    """How far it is, and what went wrong for the first time."""
    done = summary.counts.total()
    if outcome.bad and summary.times[outcome.signature] == 1:
        print(f"{outcome.signature}\n{trial.describe()}\n", file=sys.stderr, flush=True)
    if done % 100 == 0:
        print(f"{done:,} tries, {len(summary.failures)} kinds", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
