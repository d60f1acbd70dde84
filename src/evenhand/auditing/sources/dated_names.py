"""Files of one log with their dates in their names: grants-2023-01.csv, grants-2023-02.csv."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.auditing.sources.engines.duckdb import literal, quoted
from evenhand.auditing.time_texts import MONTHS
from evenhand.errors import BadParameter, argument

FILENAME = "filename"  # what the engine calls the column of files' names
_MONTH = "|".join(name[:3] for name in MONTHS)
_EDGE, _END = r"(?<![0-9])", r"(?![0-9])"
# From the most to the least exact; each with how the time is written in the log.
FORMS = (
    (rf"{_EDGE}([12]\d{{3}})[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01]){_END}", r"\1-\2-\3"),
    (rf"{_EDGE}([12]\d{{3}})[-_. ]?Q([1-4]){_END}", r"\1-Q\2"),
    (rf"Q([1-4])[-_. ]?([12]\d{{3}}){_END}", r"\2-Q\1"),
    (rf"{_EDGE}([12]\d{{3}})[-_. ]?W(\d{{2}}){_END}", r"\1-W\2"),
    (rf"{_EDGE}([12]\d{{3}})[-_.]?(0[1-9]|1[0-2]){_END}", r"\1M\2"),
    (rf"({_MONTH})[a-z]*[-_. ]?([12]\d{{3}}){_END}", r"\1 \2"),
    (rf"{_EDGE}([12]\d{{3}})[-_. ]?({_MONTH})", r"\2 \1"),
    (rf"{_EDGE}([12]\d{{3}}){_END}", r"\1"),
)
_PATTERNS = [(re.compile(pattern, re.I), form) for pattern, form in FORMS]


def time_in_name(path: str) -> str | None:
    """The time that a file's name says, if it says one.

    >>> time_in_name("reports/grants_2023-04.csv"), time_in_name("log.csv")
    ('2023M04', None)
    """
    for pattern, form in _PATTERNS:
        found = pattern.search(Path(path).name)
        if found is not None:
            return found.expand(form)
    return None


def times_of(paths: Sequence[str]) -> list[str]:
    """The time of each file, which all must have."""
    times = []
    for path in paths:
        time = time_in_name(path)
        if time is None:
            raise BadParameter(
                f"{argument('time_from_name')} needs a date in the name of each file, and {path} "
                "has none: rename it, such as to log-2023-01-31.csv, or leave it out."
            )
        times.append(time)
    return times


def with_times(relation: Any, times: Mapping[str, str], column: str, label: str) -> Any:
    """The rows of several files, each with the time of its file in a column more."""
    columns = [name for name in relation.columns if name != FILENAME]
    if column in columns:
        raise BadParameter(
            f"{label} has a column {column!r} already, and {argument('time_from_name')} makes one "
            f"of that name: choose another with {argument('time')}."
        )
    cases = " ".join(f"WHEN {literal(path)} THEN {literal(time)}" for path, time in times.items())
    chosen = [*map(quoted, columns), f"CASE {quoted(FILENAME)} {cases} END AS {quoted(column)}"]
    return relation.project(", ".join(chosen))
