"""Every two options of an audit: refused with the reason, or neither of them is ignored."""

from __future__ import annotations

import itertools
import json

import pandas as pd
import pytest

from evenhand import AfterEach, EnvyOfBest, FairnessScheme, PerEntitlement, Rawls, Window, anytime
from evenhand.auditing import audit, compare_periods
from evenhand.errors import EvenhandError
from evenhand.fairness.status import (
    Level,
    LowerIsBetter,
    MeanWait,
    PerCurrentEntitlement,
    Rate,
    RateWithinPeriod,
    ShareMet,
    WhileWaiting,
)

pytestmark = pytest.mark.system

DAYS = ("01-05", "01-09", "01-20", "02-03", "02-11", "02-25", "03-02", "03-20")
ENDS = ("01-25", None, "02-02", "02-07", "02-12", None, "03-10", "04-01")
LOG = pd.DataFrame(
    {
        "day": [f"2021-{day}" for day in DAYS],
        "who": list("ABCABCAB"),
        "got": [4.0, 1.0, 2.0, 3.0, 2.0, 2.5, 1.0, 2.0],
        "n": [6.0, 4.0, 4.0, 5.0, 9.0, 3.0, 2.0, 6.0],
        "wants": [5.0, 4.0, 4.0, 5.0, 3.0, 3.0, 9.0, 6.0],
        "people": [10.0, 4.0, 7.0, 10.0, 4.0, 7.0, 10.0, 4.0],
        "region": list("NSNNSNNS"),
        "seed": 1,
        "end": [None if day is None else f"2021-{day}" for day in ENDS],
    }
)
DEMAND = pd.DataFrame(
    {
        "when": ["2021-01-01", "2021-01-02", "2021-01-03", "2021-02-15"],
        "client": list("ABCD"),
        "much": [20.0, 9.0, 8.0, 3.0],
    }
)
ROSTER = pd.DataFrame({"who": list("ABCD"), "from": [None, "2021-01-08", "2021-01-15", None]})
BASE = {"stakeholder": "who", "time": "day", "amount": "got"}


def by(status):
    return {"scheme": anytime(Rawls(), status=status)}


OPTIONS = {
    "cumulative": {"cumulative": True},
    "stock": {"stock": True},
    "out of": {"out_of": "n"},
    "within period": {"within_period": True},
    "asked": {"asked": "wants"},
    "requests": {
        "requests": DEMAND,
        "asked": "much",
        "requests_stakeholder": "client",
        "requests_time": "when",
    },
    "shortfall": {"judge_requests": "shortfall"},
    "while waiting": {"judge_requests": "while-waiting"},
    "waits": {"wait_from": "day", "wait_to": "end", "time": "", "amount": None},
    "within": {"within": "15d"},
    "longest open": {"longest_open": True},
    "group": {"group": "region"},
    "by": {"by": "region"},
    "reference": {"reference": "N"},
    "entitlement": {"entitlement": "people"},
    "unweighted": {"unweighted": True},
    "roster": {"roster": ROSTER},
    "newcomers": {"newcomers": "least"},
    "by time": {"newcomers": "by-time"},
    "lower is better": {"lower_is_better": True},
    "tolerance": {"tolerance": 1000},
    "max unfairness": {"max_unfairness": "10%"},
    "since": {"since": "2021-02-01"},
    "until": {"until": "2021-03-05"},
    "before": {"before": "2021-02-10"},
    "every month": {"every": "month"},
    "every 2": {"every": 2},
    "after each": {"after_each": 3},
    "when": {"when": "got > 1.5"},
    "at the end": {"at_end": True},
    "only": {"only": ["A", "B"]},
    "where": {"where": "region <> 'S'"},
    "run": {"run": "seed"},
    "a window": by(Window(2)),
    "less": by(LowerIsBetter()),
    "a rate": by(Rate()),
    "a rate within": by(RateWithinPeriod()),
    "share met": by(ShareMet()),
    "waiting": by(WhileWaiting()),
    "per unit now": by(PerCurrentEntitlement()),
    "per unit": by(PerEntitlement((10.0, 4.0, 7.0))),
    "a level": by(Level()),
    "a mean wait": by(MeanWait()),
    "envy": by(EnvyOfBest()),
    "a filter": {"scheme": FairnessScheme(filter=AfterEach(3.0))},
}
# Waits are better when shorter anyway, and a column of groups that are judged is said once.
SAY_THE_SAME = {("waits", "lower is better"), ("group", "by")}


def answered(*names):
    """What an audit with some options finds, or None where it is refused."""
    given = dict(BASE)
    for name in names:
        given |= OPTIONS[name]
    judge = compare_periods if "before" in given else audit
    try:
        found = judge(LOG, **given).to_json()
    except EvenhandError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return None
    for answer in found.get("logs", [found]):
        answer.pop("origin")
    return json.dumps(found, default=str)


@pytest.fixture(scope="module")
def alone():
    return {name: answered(name) for name in OPTIONS}


@pytest.mark.parametrize("one", OPTIONS)
def test_no_option_is_ignored_beside_another(one, alone):
    later = list(OPTIONS)[list(OPTIONS).index(one) + 1 :]
    for other in later:
        apart = {*OPTIONS[one]} & {*OPTIONS[other]} - {"time", "amount"}
        both = None if apart else answered(one, other)
        if both is None or (one, other) in SAY_THE_SAME:
            continue
        for name in (one, other):
            assert both != alone[name], f"{one} and {other} together say what {name} says alone"


def test_most_pairs_mean_something_and_many_do_not():
    """So that the test above does not pass by refusing everything."""
    pairs = itertools.combinations(("stock", "group", "lower is better", "since", "entitlement"), 2)
    assert all(answered(*pair) is not None for pair in pairs)
    assert answered("out of", "entitlement") is None
