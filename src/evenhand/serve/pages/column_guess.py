"""Which column probably says who, when and how much: a first proposal, for people to check."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

WHO = (
    *("stakeholder", "name", "who", "person", "member", "assignee", "reviewer", "employee"),
    *("recipient", "receiver", "given to", "assigned to", "team", "site", "district", "to", "user"),
)
WHEN = ("date", "time", "when", "day", "timestamp", "month", "week", "year", "created", "at")
AMOUNT = (
    *("amount", "hours", "quantity", "qty", "count", "number", "units", "doses", "value"),
    *("points", "minutes", "shifts", "slots", "how many", "how much", "total"),
)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")
_NUMBER = re.compile(r"[+-]?\d[\d.,' ]*")


class ColumnGuess(NamedTuple):
    """Names of columns; "" where none is likely."""

    stakeholder: str
    time: str
    amount: str


def guess_columns(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> ColumnGuess:
    """The likeliest columns, by their names first and then by what is in them.

    >>> guess_columns(["Shift date", "Hours", "Given to"], [["1/2/2026", "8", "Ann"]])
    ColumnGuess(stakeholder='Given to', time='Shift date', amount='Hours')
    """
    left = [name for name in columns if name]
    time = _first(left, WHEN) or _holding(columns, rows, _DATE.fullmatch)
    left = [name for name in left if name != time]
    who = _first(left, WHO) or _holding(columns, rows, _is_word, left)
    left = [name for name in left if name != who]
    return ColumnGuess(who, time, _first(left, AMOUNT))


def _first(columns: Sequence[str], words: Sequence[str]) -> str:
    """The column whose name is, or has in it, the earliest of some words."""
    for is_it in (lambda name, word: name == word, lambda name, word: _has(name, word)):
        for word in words:
            for column in columns:
                if is_it(column.strip().lower(), word):
                    return column
    return ""


def _has(name: str, word: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(word)}s?(?![a-z])", name.replace("_", " ")) is not None


def _holding(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    fits: Callable[[str], object],
    allowed: Sequence[str] | None = None,
) -> str:
    """The first column of which every cell that is filled fits."""
    for place, column in enumerate(columns):
        cells = [row[place].strip() for row in rows if place < len(row) and row[place].strip()]
        is_allowed = allowed is None or column in allowed
        if column and is_allowed and cells and all(fits(cell) for cell in cells):
            return column
    return ""


def _is_word(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is None
