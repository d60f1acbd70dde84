"""Studies of our own, which take minutes to hours: `evenhand reproduce` makes each by its name.

A study is a module with `BAR`, what its progress is called (None where it says so itself), and

    make(folder, seeds, quick, on_progress, executor) -> Made
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

QUICK = 10  # a quick study has as many times fewer steps
QUICK_SEEDS = 3


class Made(NamedTuple):
    """What a study came to: all numbers, tables to print by title, and where they are kept."""

    numbers: Any
    tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[str]]]]  # heading and rows
    kept: str
    aligned: bool = True  # whether the columns of the tables are numbers
