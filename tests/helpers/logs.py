"""Logs to audit, small enough to follow by hand."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

from evenhand.auditing import audit

# Without asking whether it could be chance, which takes longer than all the rest.
audit_alone = functools.partial(audit, chance=False)

# Figure 1 of the paper: 80,000 vaccines in four months, first to A and then to B, or side by side.
FIRST_A_THEN_B = [
    ("2021-01-31", "A", 20_000),
    ("2021-02-28", "A", 20_000),
    ("2021-03-31", "B", 20_000),
    ("2021-04-30", "B", 20_000),
]
SIDE_BY_SIDE = [
    (date, country, 10_000)
    for date in ("2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30")
    for country in "AB"
]


def write(path: Path, rows, columns=("date", "country", "doses")) -> str:
    """A CSV file; what is None is an empty cell."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([["" if v is None else v for v in row] for row in rows])
    return str(path)


MAPPED = {"stakeholder": "country", "time": "date", "amount": "doses"}
OPTIONS = ("--stakeholder", "country", "--time", "date", "--amount", "doses")
