"""Tables with a column for each time or stakeholder, and names of columns that are dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand._util.wording import join_names
from evenhand.errors import BadParameter, argument
from evenhand.log.engines import literal, quoted
from evenhand.log.layout import TIME, FileLayout, common_mark
from evenhand.log.times import MONTHS, WRITINGS

# Wide tables, with a column for each period or for each stakeholder, made tidy in the engine.

LEAST = 2  # columns, or it is not a wide table
LOOKED_AT = 200  # values of a column, to see whether they are numbers
_ISO = re.compile(r"[12][0-9]{3}(?:-[0-9]{2}-[0-9]{2}(?:[T ].*)?)?")
_DIGIT = re.compile(r"[^\w]*[0-9]")


def is_time(name: str) -> bool:
    """Whether the name of a column is a time, such as 2021, Jan 2023 or 2023-Q1."""
    plain = name.strip()
    return _ISO.fullmatch(plain) is not None or any(one.read(plain) for one in WRITINGS)


def time_columns(columns: Sequence[str]) -> list[str]:
    """The columns that are each a time."""
    return [name for name in columns if is_time(name)]


def tidy(relation: Any, layout: FileLayout, label: str) -> tuple[Any, tuple[str, ...]]:
    """The relation with a row for each cell, and notes on what was left out.

    Args:
        relation: The wide table.
        layout: What its columns are, and how the columns of the tidy table are to be called.
        label: What the table is called.
    """
    names, kinds = list(relation.columns), [str(kind) for kind in relation.types]
    if layout.wide == TIME:
        spread, new = time_columns(names), layout.time
        what = "times, such as 2021, 2023-Q1 or Jan 2023"
    else:
        spread = _stakeholder_columns(relation, layout)
        new, what = layout.stakeholder, "stakeholders with numbers below them"
    if len(spread) < LEAST:
        raise BadParameter(
            f"{argument('wide', layout.wide)} says that columns of {label} are {what}, and "
            f"{'none is' if not spread else f'only {spread[0]!r} is'}: it has "
            f"{join_names([repr(name) for name in names], 8)}."
        )
    kept = [name for name in names if name not in spread]
    for name in (new, layout.amount):
        if name in kept:
            raise BadParameter(
                f"{label} has a column {name!r} already, and {argument('wide', layout.wide)} makes "
                f"one of that name: choose another with {argument('amount')} or "
                f"{argument(layout.wide or TIME)}."
            )
    numeric = all(
        _is_number(kind) for name, kind in zip(names, kinds, strict=True) if name in spread
    )
    kind = "DOUBLE" if numeric else "VARCHAR"
    labels = ", ".join(literal(name) for name in spread)
    values = ", ".join(f"CAST({quoted(name)} AS {kind})" for name in spread)
    columns = [*map(quoted, kept), f"unnest([{labels}]) AS {quoted(new)}"]
    columns.append(f"unnest([{values}]) AS {quoted(layout.amount)}")
    query = f"SELECT {', '.join(columns)} FROM evenhand_wide"
    found = relation.query("evenhand_wide", query).materialize()
    unused = [name for name in kept if name not in layout.named]
    notes = [
        f"{label} was read as a wide table: {len(spread)} columns ({join_names(spread, 3)}) are "
        f"each {'a time' if layout.wide == TIME else 'a stakeholder'}."
    ]
    if unused:
        notes.append(f"Of its columns, {join_names(unused, 5)} had no part in this.")
    return found, tuple(notes)


def _stakeholder_columns(relation: Any, layout: FileLayout) -> list[str]:
    """All columns with numbers that are not named for something else."""
    named = {name for name in layout.named if name != layout.stakeholder}
    return [
        name
        for name in relation.columns
        if name not in named and _holds_numbers(relation, name, _is_amount)
    ]


def _holds_numbers(relation: Any, name: str, is_amount: Callable[[str], bool]) -> bool:
    """Whether a column holds numbers, or marks in their place, and no other text."""
    text = f"CAST({quoted(name)} AS VARCHAR)"
    found = relation.project(f"{text} AS text").distinct().limit(LOOKED_AT).fetchall()
    values = [value for (value,) in found if value is not None and value.strip()]
    return bool(values) and all(map(is_amount, values))


def _is_amount(text: str) -> bool:
    return _DIGIT.match(text) is not None or common_mark(text) is not None


def _is_number(kind: str) -> bool:
    return kind.startswith(("DOUBLE", "FLOAT", "DECIMAL", "HUGEINT", "UHUGEINT")) or kind.endswith(
        ("INT", "INTEGER")
    )


# Files of one log with their dates in their names: grants-2023-01.csv, grants-2023-02.csv.

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
