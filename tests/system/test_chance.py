"""Could it be chance? How often lotteries are taken for something else, and what is noticed.

Seeded, and at the size at which the shares can be told from the level. docs/results.md has the
same at full size (`python -m benchmarks chance`).
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evenhand import audit
from evenhand.auditing.chance.alarm import AlarmWatch

pytestmark = pytest.mark.system

NAMES = [f"J{k:02}" for k in range(12)]
SIZES = {name: 1.0 + k % 3 for k, name in enumerate(NAMES[:6])}
STAYS = pd.DataFrame({"who": NAMES[:6], "from": [0, 0, 0, 10, 20, 0], "until": [60] * 5 + [45]})


def at_most(level, logs):
    """A share that a level explains, up to three standard errors."""
    return level + 3 * math.sqrt(level * (1 - level) / logs)


def lottery(seed, odds=None, days=60, names=NAMES[:6], roster=None):
    """A log as a lottery makes it, drawn in plain Python."""
    rng = np.random.default_rng(seed)
    rows = []
    for day in range(days):
        there = list(names)
        if roster is not None:
            inside = (roster["from"] <= day) & (roster["until"] >= day)
            there = roster["who"][inside].tolist()
        weights = np.array([1.0 if odds is None else odds[name] for name in there])
        rows.append((day, rng.choice(there, p=weights / weights.sum())))
    return pd.DataFrame(rows, columns=["day", "who"])


KINDS = {
    "alike": {"roster": NAMES[:6]},
    "entitlements": {"roster": NAMES[:6], "entitlement": SIZES},
    "stays": {"roster": STAYS},
}


@pytest.mark.parametrize("kind", KINDS)
def test_lotteries_are_taken_for_something_else_as_often_as_is_said(kind):
    logs, small, named = 60, 0, 0
    for seed in range(logs):
        odds = SIZES if kind == "entitlements" else None
        log = lottery(seed, odds, roster=STAYS if kind == "stays" else None)
        found = audit(log, stakeholder="who", time="day", draws=99, seed=seed, **KINDS[kind]).chance
        small += found.measure("score").p <= 0.05
        named += bool(found.named)
    assert small / logs <= at_most(0.05, logs)
    assert named / logs <= at_most(0.05, logs)


def permutation_test(counts, rng, draws=299):
    """The fewest lots of anybody, beside lots dealt out again; as plain as can be."""
    hits = 0
    for _ in range(draws):
        dealt = [0] * len(counts)
        for who in rng.integers(0, len(counts), sum(counts)):
            dealt[who] += 1
        hits += min(dealt) <= min(counts)
    return (1 + hits) / (1 + draws)


def test_a_judge_whose_odds_are_halved_is_named_as_often_as_by_a_permutation_test():
    odds = {name: 0.5 if name == "J03" else 1.0 for name in NAMES}
    named, tested, logs = 0, 0, 15
    for seed in range(logs):
        log = lottery(seed, odds, days=600, names=NAMES)
        answer = audit(log, stakeholder="who", time="day", at_end=True, draws=199, roster=NAMES)
        named += answer.chance.named == ("J03",)
        counts = [int((log["who"] == name).sum()) for name in NAMES]
        tested += permutation_test(counts, np.random.default_rng(seed)) <= 0.05
    assert named >= 0.7 * logs
    assert named >= tested - 2


def raised(seed, factor, days=600):
    odds = np.ones(12)
    odds[3] = factor
    who = np.random.default_rng(seed).choice(12, days, p=odds / odds.sum())
    watch = AlarmWatch(
        NAMES, 0.05, lambda moments: (np.ones((1, 12)), np.zeros(len(moments), dtype=int))
    )
    watch.take(np.arange(float(days)), who, np.ones(days))
    watch.close()
    return watch.raised


def test_12_judges_600_days_200_seeds():
    fair = sum(raised(seed, 1.0) for seed in range(200)) / 200
    halved = sum(raised(seed, 0.5) for seed in range(200)) / 200
    assert fair <= at_most(0.05, 200)
    assert halved >= 0.6


def test_alarms_over_100000_looks():
    assert sum(raised(seed, 1.0, 100_000) for seed in range(60)) / 60 <= at_most(0.05, 60)
