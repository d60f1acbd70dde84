"""One small untidy log with a column for every way to judge, and the options that ask for each."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pandas as pd

NAMES = ("North", "O'Hara", "Łódź", "x\\y")
REGION = dict(zip(NAMES, ("up", "down", "up", "down"), strict=True))
SEX = dict(zip(NAMES, ("f", "f", "m", "m"), strict=True))
START = datetime.date(2021, 1, 4)
# The columns and their types in SQL. Amounts are quarters, so that sums are exact in any order.
TYPES = {
    "day": "date",
    "closed": "date",
    "who": "text",
    "got": "double precision",
    "chances": "double precision",
    "wants": "double precision",
    "people": "double precision",
    "beds": "double precision",
    "region": "text",
    "sex": "text",
    "run": "integer",
}
REQUEST_TYPES = {"asked on": "date", "client": "text", "much": "double precision"}


def rows() -> list[tuple[Any, ...]]:
    """Out of order, some amounts and ends empty; the people change in March."""
    chance, made = random.Random(5), []
    for day in chance.sample(range(110), 70):
        who = NAMES[chance.choice((0, 0, 1, 2, 2, 2, 3))]
        at = START + datetime.timedelta(days=day)
        got = chance.randrange(0, 20) / 4
        open_still = chance.random() < 0.3
        made.append(
            (
                at,
                None if open_still else at + datetime.timedelta(days=chance.randrange(0, 40)),
                who,
                None if chance.random() < 0.1 else got,
                got + chance.randrange(1, 12) / 4,
                got + chance.randrange(0, 8) / 4,
                100.0 * (1 + NAMES.index(who)) + 10.0 * (at.month >= 3 and who == "Łódź"),
                chance.randrange(0, 40) / 4,
                REGION[who],
                SEX[who],
                day % 2,
            )
        )
    return made


def requests() -> list[tuple[datetime.date, str, float]]:
    """Enough for what was received, some of it late, and one who only asks."""
    asked = [(START, who, 1000.0 * (1 + k)) for k, who in enumerate(NAMES)]
    late = START + datetime.timedelta(days=40)
    return [*asked, (late, "North", 7.25), (late, "got nothing", 12.5)]


def frame() -> pd.DataFrame:
    return pd.DataFrame(rows(), columns=list(TYPES))


def requests_frame() -> pd.DataFrame:
    return pd.DataFrame(requests(), columns=list(REQUEST_TYPES))


BASE: dict[str, Any] = {"stakeholder": "who", "time": "day", "amount": "got"}
WAITS: dict[str, Any] = {"stakeholder": "who", "wait_from": "day", "wait_to": "closed"}
ROSTER = pd.DataFrame({"who": NAMES, "from": [None, "2021-02-01", None, "2021-03-05"]})
SIZES = {name: 10.0 + k for k, name in enumerate(NAMES)}
THEIRS: dict[str, Any] = {
    "asked": "much",
    "requests_stakeholder": "client",
    "requests_time": "asked on",
}
# Every part of judging right; those of `REQUESTS` need the requests too.
PARTS: dict[str, dict[str, Any]] = {
    "sizes": {**BASE, "entitlement": SIZES, "every": "month"},
    "sizes that change": {**BASE, "entitlement": "people"},
    "sizes, unweighted": {**BASE, "entitlement": SIZES, "unweighted": True, "welfare": "gini"},
    "harms": {**BASE, "lower_is_better": True, "entitlement": SIZES, "max_unfairness": "10%"},
    "a rate": {**BASE, "out_of": "chances"},
    "a rate of harms": {**BASE, "out_of": "chances", "lower_is_better": True, "by": "region"},
    "a rate within periods": {**BASE, "out_of": "chances", "within_period": True, "every": "month"},
    "mean wait": {**WAITS, "every": "month"},
    "longest open wait": {**WAITS, "longest_open": True},
    "in time": {**WAITS, "within": "2w", "until": "2021-05-01"},
    "waits since": {**WAITS, "since": "2021-02-01"},
    "asked in the same rows": {**BASE, "asked": "wants"},
    "a stock": {**BASE, "amount": "beds", "stock": True, "since": "2021-02-10"},
    "a stock, come and gone": {**BASE, "amount": "beds", "stock": True, "roster": ROSTER},
    "newcomers": {**BASE, "roster": ROSTER, "entitlement": SIZES},
    "newcomers by time": {**BASE, "roster": ROSTER, "newcomers": "by-time"},
    "tolerance": {**BASE, "tolerance": "20%", "every": 5},
    "groups": {**BASE, "group": ["sex", "region"], "reference": "f, up"},
    "runs": {**BASE, "run": "run", "group": "sex", "lower_is_better": True},
}
REQUESTS: dict[str, dict[str, Any]] = {
    kind: {**BASE, **THEIRS, "judge_requests": kind, "every": "month"}
    for kind in ("share_met", "shortfall", "while_waiting")
}
