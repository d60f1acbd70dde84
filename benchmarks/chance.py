"""Could it be chance? How often a lottery is taken for something else, what is noticed, how fast.

`python -m benchmarks chance` prints the figures of docs/results.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from evenhand.auditing import audit
from evenhand.auditing.audit_log import AuditOptions
from evenhand.auditing.case import Case
from evenhand.auditing.chance.alarm import AlarmWatch
from evenhand.auditing.chance.finding import LEVEL, MEASURES, Spread, compare, name_people
from evenhand.auditing.chance.nulls import FairLottery, HeldFixed
from evenhand.auditing.chance.simulation import DrawnHistories
from evenhand.auditing.judge import judge_case
from evenhand.auditing.questions import question_of
from evenhand.log.layout import Notes
from evenhand.log.log import Supply, log_of

LOGS = 2000  # lotteries that are tested as though they were logs
DRAWS = 199
ALARM_RUNS, LOOKS = 400, 100_000
EVENTS = 300_000


def main() -> None:
    calibration()
    disadvantage()
    alarms()
    speed()
    monitor_speed()


class Kind:
    """A kind of log: who is eligible, entitled to how much, and asked for what."""

    def __init__(self, name: str, size: int, days: int, **asked: object) -> None:
        self.name = name
        rng = np.random.default_rng(len(name))
        names = [f"S{k:02}" for k in range(size)]
        sizes = rng.integers(1, 6, days).astype(float) if asked.pop("unequal", 0) else 1.0
        log = pd.DataFrame({"day": np.arange(days), "who": "S00", "got": sizes})
        asked = {key: value(names, days) for key, value in asked.items() if callable(value)} | {
            key: value for key, value in asked.items() if not callable(value)
        }
        options = AuditOptions(
            stakeholder="who", time="day", amount="got", **{"roster": names, **asked}
        )
        question = question_of(options)
        prepared = log_of(log, options)
        case = Case.of(prepared, options)
        found = judge_case(case, question, options, Notes())
        self.judging = DrawnHistories(case, found.asked.timeline, found.scheme, options.newcomers)
        self.held = HeldFixed.of(Supply.of(prepared), self.judging.interval, self.judging.intervals)

    def drawn(self, rng: np.random.Generator, draws: int, who: int = 0, factor: float = 1.0):
        held = self.held if factor == 1 else self.held.with_odds(who, factor)
        return FairLottery().draw(held, rng, draws)


def _stays(names: list[str], days: int) -> pd.DataFrame:
    first = [0 if k % 3 else days * k // (2 * len(names)) for k in range(len(names))]
    last = [days if k % 4 else days * 3 // 4 for k in range(len(names))]
    first[0], last[0] = 0, days  # everything went to the first in the log that is drawn again
    return pd.DataFrame({"who": names, "from": first, "until": last})


def _sizes(names: list[str], days: int) -> dict[str, float]:
    return {name: 1.0 + k % 4 for k, name in enumerate(names)}


def _requests(names: list[str], days: int) -> pd.DataFrame:
    wants = [2 * days if name == "S00" else 2 * days // len(names) for name in names]
    return pd.DataFrame({"day": 0, "who": names, "wants": wants})


def kinds() -> list[Kind]:
    return [
        Kind("5 alike, 60 lots", 5, 60),
        Kind("12 alike, 240 lots, looked at every 30", 12, 240, every=30),
        Kind("12, entitlements 1 to 4, lots of 1 to 5", 12, 200, entitlement=_sizes, unequal=1),
        Kind("8 who come and go, entitlements", 8, 120, roster=_stays, entitlement=_sizes),
        Kind("6 with requests", 6, 40, requests=_requests, asked="wants"),
    ]


def calibration() -> None:
    each, rng = LOGS // len(kinds()), np.random.default_rng(1)
    print(f"{LOGS} lottery logs, {DRAWS} draws each: share with p <= 0.05, and with anyone named")
    everything: list[np.ndarray] = []
    for kind in kinds():
        found = []
        for start in range(0, each, 20):
            logs = kind.drawn(rng, min(20, each - start))
            for log in logs:
                found.append(tested(kind, log, rng))
        rows = np.array(found)
        everything.append(rows)
        print(f"  {kind.name}: {_shares(rows)}", flush=True)
    print(f"  all: {_shares(np.concatenate(everything))}")


def _shares(rows: np.ndarray) -> str:
    names = [measure.name for measure in MEASURES[:3]]
    words = [f"{name} {share:.1%}" for name, share in zip(names, rows.mean(axis=0), strict=False)]
    return ", ".join([*words, f"named {rows[:, 3].mean():.1%}"])


def tested(kind: Kind, log: np.ndarray, rng: np.random.Generator) -> list[bool]:
    one, many = kind.judging.judge(log[None]), kind.judging.judge(kind.drawn(rng, DRAWS))
    found = [compare(measure, one, many) for measure in MEASURES[:3]]
    spread = Spread.of(one.overall, many.overall, kind.held.kinds())
    people = name_people(
        kind.judging.case.names, spread.behind(one.overall)[0], spread.behind(many.overall)
    )
    return [*(f is not None and f.p <= LEVEL for f in found), any(p.named for p in people)]


def disadvantage() -> None:
    """One stakeholder's odds cut by a fifth, and by half: how often each way notices it."""
    for days in (600, 3000):
        kind = Kind(f"12 alike, {days} lots", 12, days, at_end=True)
        rng = np.random.default_rng(2)
        null = kind.drawn(rng, 999)
        for factor in (1.0, 0.8, 0.5):
            logs = kind.drawn(rng, 200, 3, factor)
            counts = logs.sum(axis=1)
            print(
                f"12 judges, {days} lots, odds of one times {factor}: named by evenhand "
                f"{_named(kind, logs, null):.0%}, plain permutation test "
                f"{_permutation(counts):.0%}, exact test with Bonferroni "
                f"{_bonferroni(counts):.0%}, alarm {_alarm(days, factor)}",
                flush=True,
            )


def _named(kind: Kind, logs: np.ndarray, null: np.ndarray) -> float:
    many = kind.judging.judge(null)
    hits = 0
    for log in logs:
        one = kind.judging.judge(log[None])
        spread = Spread.of(one.overall, many.overall, kind.held.kinds())
        people = name_people(
            kind.judging.case.names, spread.behind(one.overall)[0], spread.behind(many.overall)
        )
        hits += people[0].named
    return hits / len(logs)


def _permutation(counts: np.ndarray, draws: int = 999) -> float:
    """The fewest lots of anybody, beside lots dealt out again: written as plainly as can be."""
    rng = np.random.default_rng(3)
    lots, size = int(counts[0].sum()), counts.shape[1]
    fewest = sorted(
        np.bincount(rng.integers(0, size, lots), minlength=size).min() for _ in range(draws)
    )
    p = [(1 + sum(f <= row.min() for f in fewest)) / (1 + draws) for row in counts]
    return float(np.mean(np.array(p) <= LEVEL))


def _bonferroni(counts: np.ndarray) -> float:
    """Each count beside its binomial distribution, at 5% over all of them."""
    lots, size = int(counts[0].sum()), counts.shape[1]
    return float((binom.cdf(counts.min(axis=1), lots, 1 / size) <= LEVEL / size).mean())


def _alarm(days: int, factor: float, runs: int = 200) -> str:
    times = [_raised(12, days, factor, seed) for seed in range(runs)]
    known = [time for time in times if time is not None]
    after = f", after {np.mean(known):,.0f} lots on average" if known else ""
    return f"{len(known) / runs:.1%}{after}"


def _raised(size: int, days: int, factor: float, seed: int) -> float | None:
    odds = np.ones(size)
    odds[3 % size] = factor
    who = np.random.default_rng(seed).choice(size, days, p=odds / odds.sum())
    watch = AlarmWatch(
        [str(k) for k in range(size)],
        LEVEL,
        lambda moments: (np.ones((1, size)), np.zeros(len(moments), dtype=int)),
    )
    watch.take(np.arange(float(days)), who, np.ones(days))
    watch.close()
    return watch.alarms[0].at if watch.raised else None


def alarms() -> None:
    for size in (3, 12):
        false = sum(_raised(size, LOOKS, 1.0, seed) is not None for seed in range(ALARM_RUNS))
        print(
            f"fair lotteries among {size}, {LOOKS:,} looks each: an alarm in "
            f"{false / ALARM_RUNS:.1%} of {ALARM_RUNS}",
            flush=True,
        )
    later = [_raised_later(seed) for seed in range(100)]
    known = [time for time in later if time is not None]
    print(
        f"odds of one of 12 halved after 3,000 fair lots: an alarm in {len(known)} of 100, "
        f"{np.mean(known):,.0f} lots later on average"
    )


def _raised_later(seed: int, fair: int = 3000, then: int = 3000) -> float | None:
    rng = np.random.default_rng(seed)
    odds = np.ones(12)
    odds[3] = 0.5
    who = np.concatenate((rng.integers(0, 12, fair), rng.choice(12, then, p=odds / odds.sum())))
    watch = AlarmWatch(
        [str(k) for k in range(12)],
        LEVEL,
        lambda moments: (np.ones((1, 12)), np.zeros(len(moments), dtype=int)),
    )
    watch.take(np.arange(float(fair + then)), who, np.ones(fair + then))
    return watch.alarms[0].at - fair if watch.raised and watch.alarms[0].at > fair else None


def speed() -> None:
    rng = np.random.default_rng(0)
    months = np.repeat(np.arange(60), 1000)
    log = pd.DataFrame(
        {"month": months, "who": rng.integers(0, 1000, 60_000), "got": rng.integers(1, 9, 60_000)}
    )
    log["who"] = "S" + log["who"].astype(str)
    asked = {"stakeholder": "who", "time": "month", "amount": "got"}
    entitled = {f"S{k}": 1.0 + k % 7 for k in range(1000)}
    for name, more in (("alike", {}), ("with entitlements", {"entitlement": entitled})):
        seconds = []
        for options in ({"chance": False}, {"draws": 2000}):
            started = time.process_time()
            audit(log, **asked, **more, **options)
            seconds.append(time.process_time() - started)
        print(
            f"1,000 stakeholders {name}, 60 months, 60,000 lots, 2,000 draws: "
            f"{seconds[1] - seconds[0]:.1f} s of processor time on top of {seconds[0]:.1f} s",
            flush=True,
        )


def monitor_speed() -> None:
    names = [f"ward {k}" for k in range(50)]
    rng = np.random.default_rng(0)
    who, amount = rng.integers(0, 50, EVENTS), rng.gamma(2.0, 3.0, EVENTS).round(2)
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as folder:
        path = Path(folder) / "events.jsonl"
        with open(path, "w") as file:
            for k in range(EVENTS):
                event = {"time": k, "stakeholder": names[who[k]], "amount": amount[k]}
                file.write(json.dumps(event) + "\n")
        for question in (["--every", "3600"], ["--each-event"]):
            rates = [_rate(path, names, [*question, *more]) for more in ([], ["--alarm", "0.05"])]
            print(
                f"monitor, {' '.join(question)}: {rates[0]:,.0f} events per second of processor "
                f"time, with alarms {rates[1]:,.0f} ({rates[1] / rates[0]:.0%})",
                flush=True,
            )


def _rate(path: Path, names: list[str], options: list[str]) -> float:
    import resource

    command = [sys.executable, "-m", "evenhand", "monitor", "--amount", "amount", *options]
    for name in names:
        command += ["--name", name]

    def used(source: Path) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(source, "rb") as events:
            subprocess.run(command, stdin=events, stdout=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return EVENTS / (min(used(path) for _ in range(2)) - used(Path("/dev/null")))
