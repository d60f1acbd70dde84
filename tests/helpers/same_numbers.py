"""One untidy log for every engine, the questions put to it, and how alike two answers must be."""

from __future__ import annotations

import csv
import datetime
import math
import random
from pathlib import Path
from typing import Any

import pandas as pd

# Names that SQL, CSV and people stumble over.
NAMES = (
    *("North", "north ", "O'Hara", 'the "Hill"', "a;b,c", "Łódź", "مستشفى", "100%", "x\\y"),
    *("only empty", "--", "%s"),
)
COLUMNS = ("id", "at", "day", "text", "who", "doses", "region", "people", "kind")
START = datetime.datetime(2020, 12, 20, 22, 30)


def untidy(rows: int = 2_400) -> list[tuple[Any, ...]]:
    """A log in no order, with times shared to the microsecond, empty, negative and equal rows.

    Amounts are quarters, so that sums are exact in whatever order they are taken.
    """
    chance = random.Random(7)
    made = []
    for k in range(rows):
        who = chance.choice(NAMES)
        hours = chance.randrange(0, 24 * 100)
        at = START + datetime.timedelta(hours=hours, microseconds=chance.choice((0, 1, 500_000)))
        doses: float | None = chance.randrange(0, 400) / 4
        if who == "only empty" or chance.random() < 0.05:
            doses = None
        elif chance.random() < 0.02:
            doses = -2.25
        made.append(
            (
                k,
                at,
                at.date(),
                _written(at, chance.choice(("", "Z", "+02:00"))),
                who,
                doses,
                "north" if NAMES.index(who) % 2 else "south",
                100.0 + NAMES.index(who),
                chance.choice(("delivery", "return", None)),
            )
        )
    return made + [(rows + k, *row[1:]) for k, row in enumerate(made[:20])]


def _written(at: datetime.datetime, zone: str) -> str:
    """The moment as text, in the zone."""
    if zone == "+02:00":
        return (at + datetime.timedelta(hours=2)).isoformat() + zone
    return at.isoformat(sep=" " if zone else "T") + zone


def running_totals() -> list[tuple[datetime.date, str, float | None]]:
    """Running totals by day, some missing and some corrected downwards."""
    chance, rows = random.Random(3), []
    for who in NAMES[:6]:
        total = 0.0
        for day in range(90):
            total += chance.choice((0, 0.5, 20, 41.25)) - (10.0 if chance.random() < 0.03 else 0)
            if chance.random() < 0.6:
                at = START.date() + datetime.timedelta(days=day)
                rows.append((at, who, None if chance.random() < 0.1 else total))
    chance.shuffle(rows)
    return rows


def untidy_frame() -> pd.DataFrame:
    return pd.DataFrame(untidy(), columns=COLUMNS)


def totals_frame() -> pd.DataFrame:
    return pd.DataFrame(running_totals(), columns=("day", "who", "total"))


def roster(folder: Path) -> str:
    """All on it, somebody who got nothing, and two who come and go."""
    path = folder / "roster.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("who", "from", "until"))
        for name in NAMES:
            stay = {"North": ("2021-01-10", ""), "--": ("", "2021-02-14")}.get(name, ("", ""))
            writer.writerow((name, *stay))
        writer.writerow(("got nothing", "", ""))
    return str(path)


def entitlements(folder: Path) -> str:
    path = folder / "people.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("who", "people"))
        writer.writerows((name, 10 + k) for k, name in enumerate(NAMES))
    return str(path)


MAPPED: dict[str, Any] = {"stakeholder": "who", "time": "at", "amount": "doses"}
SOME = "kind = 'delivery' and doses > 1 and month(at) <> 2 and who like '%o%' and at < '2021-03-20'"


def questions(folder: Path) -> dict[str, dict[str, Any]]:
    """Anytime, periodic, bounded and at the end; rosters, entitlements, groups and filters."""
    return {
        "anytime": {},
        "anytime, roster": {"roster": roster(folder), "until": "2021-03-15"},
        "by month, entitled": {"every": "month", "entitlement": entitlements(folder)},
        "by week, text": {"every": "week", "time": "text"},
        "by day, filtered": {"every": "day", "time": "day", "where": SOME, "exclude": ["a;b,c"]},
        "every 50": {"every": 50, "entitlement": "people", "temporal": "worst"},
        "after each": {"after_each": 999, "only": ["O'Hara", "%s", "--"]},
        "when": {"when": "kind = 'return' and day > '2021-01-01'", "where": "id % 3 <> 1"},
        "at the end, by group": {"at_end": True, "by": "group", "group": "region"},
        "rows": {"amount": None, "every": "quarter"},
    }


TOTALS: dict[str, dict[str, Any]] = {
    "totals by month": {"every": "month"},
    "totals anytime": {"exclude": ["O'Hara"]},
}
TOTALS_MAPPED: dict[str, Any] = {
    "stakeholder": "who",
    "time": "day",
    "amount": "total",
    "cumulative": True,
}
REAL_MAPPED: dict[str, Any] = {
    "stakeholder": "location",
    "time": "date",
    "amount": "total_distributed",
    "cumulative": True,
    "exclude": ["United States"],
}
REAL_QUESTIONS: tuple[dict[str, Any], ...] = ({}, {"every": "month"}, {"after_each": 10_000_000})


def assert_same(found: Any, expected: Any, exactly: bool = False) -> None:
    """Two answers alike in every number to 1e-9, and in words; `exactly` also in their digests."""
    if exactly:
        assert found.origin["fingerprint"] == expected.origin["fingerprint"]
    _alike(_numbers(found), _numbers(expected), "answer")


def _numbers(answer: Any) -> dict[str, Any]:
    """What is to be alike: all but names of log and columns, and notes that need an order."""
    plain = answer.to_json()
    about_rows = ("copy of", "copies of", "of another row", "earlier than the row above")
    plain["notes"] = [n for n in plain["notes"] if not any(words in n for words in about_rows)]
    other = ("log", "origin", "presentation")
    return {name: value for name, value in plain.items() if name not in other}


def _alike(found: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for name in expected:
            _alike(found[name], expected[name], f"{where}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for k, value in enumerate(expected):
            _alike(found[k], value, f"{where}[{k}]")
    elif isinstance(expected, float) and isinstance(found, float):
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), (where, found, expected)
    else:
        assert found == expected, where
