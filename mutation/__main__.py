"""Put small mistakes into the code, one at a time, and count how many the tests notice.

    python -m mutation --seed 1 --sample 300
    python -m mutation --only fairness,learn/schedules.py --sample 50
    python -m mutation --only monitor/monitor.py --list

Each mutant is tried in a copy of the source, against the test files of `make test` that cover its
line, nearest first, until one fails. Verdicts are kept in .mutation/, so that a run that is cut off
goes on where it was. The sample is uniform over mutants.
"""

from __future__ import annotations

import argparse
import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutation.covering import TestFile, measured
from mutation.mutants import Mutant, mutants_below, sample
from mutation.trial import KILLED, SURVIVED, TIMED_OUT, Laboratory, Verdict
from mutation.verdicts import Verdicts, explanations

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "src" / "evenhand"
WORK = PROJECT / ".mutation"
SURVIVORS = Path(__file__).with_name("survivors.toml")
MUTATED = (
    "fairness,memory,problem,planning,learn,"
    "auditing/questions.py,auditing/scoring.py,auditing/case.py,auditing/judge.py,monitor"
)


def main() -> None:
    options = _options()
    everything = mutants_below(PACKAGE, options.only.split(","))
    drawn = sample(PACKAGE, everything, options.sample, options.seed)
    if options.list:
        for mutant in drawn:
            print(f"{mutant.file}:{mutant.line}: {mutant.change}")
        return
    started = time.perf_counter()
    folders = options.tests.split(",")
    tests = measured(PROJECT, WORK / "coverage", folders, options.processes)
    verdicts = try_all(drawn, tests, options)
    minutes = (time.perf_counter() - started) / 60
    print(f"\n{len(drawn)} of {len(everything)} mutants, seed {options.seed}, {minutes:.0f} min")
    score = report(drawn, verdicts)
    sys.exit(score < options.at_least)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--only", default=MUTATED, help="folders and files of src/evenhand")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--budget", type=float, default=300, help="seconds of testing for each mutant (300)"
    )
    parser.add_argument(
        "--tests", default=".", help="folders of tests/, for a quick look: others might kill more"
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier verdicts")
    parser.add_argument("--list", action="store_true", help="print the sample and stop")
    parser.add_argument(
        "--at-least", type=float, default=0, help="fail if fewer are killed, in percent"
    )
    return parser.parse_args()


def try_all(
    drawn: list[Mutant], tests: list[TestFile], options: argparse.Namespace
) -> dict[str, Verdict]:
    """The verdict on each mutant drawn, those on file first."""
    if options.fresh:
        (WORK / "results.jsonl").unlink(missing_ok=True)
    known = Verdicts(WORK / "results.jsonl")
    found = {mutant.key: known.find(mutant, tests) for mutant in drawn}
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in drawn:
        if found[mutant.key] is None:
            waiting.put(mutant)

    def work() -> None:
        with Laboratory(PROJECT, options.budget) as laboratory:
            while True:
                try:
                    mutant = waiting.get_nowait()
                except queue.Empty:
                    return
                verdict = laboratory.try_out(mutant, tests)
                known.add(mutant, verdict, tests)
                found[mutant.key] = verdict
                _say(mutant, verdict)

    with ThreadPoolExecutor(options.processes) as pool:
        for ended in [pool.submit(work) for _ in range(options.processes)]:
            ended.result()
    return {key: verdict for key, verdict in found.items() if verdict is not None}


def _say(mutant: Mutant, verdict: Verdict) -> None:
    by = f" by {verdict.by}" if verdict.by else ""
    where = f"{mutant.file}:{mutant.line}"
    print(f"{verdict.outcome}{by} ({verdict.seconds:.0f} s) {where}: {mutant.change}", flush=True)


def report(drawn: list[Mutant], verdicts: dict[str, Verdict]) -> float:
    """Print the score and the survivors; the share that was killed, in percent."""
    why = explanations(SURVIVORS)
    outcomes = [verdicts[mutant.key].outcome for mutant in drawn]
    killed = len(drawn) - outcomes.count(SURVIVED)
    score = 100 * killed / max(len(drawn), 1)
    print(
        f"{killed} killed ({score:.1f}%): {outcomes.count(KILLED)} by a failing test, "
        f"{outcomes.count(TIMED_OUT)} by time-out; {outcomes.count(SURVIVED)} survived"
    )
    for mutant in sorted(drawn, key=lambda m: (m.file, m.line)):
        if verdicts[mutant.key].outcome == SURVIVED:
            print(f"  {mutant.file}:{mutant.line}: {mutant.change}")
            print(f"      {mutant.source}")
            print(f"      {why.get((mutant.file, mutant.source, mutant.change), 'NOT EXPLAINED')}")
    return score


if __name__ == "__main__":
    main()
