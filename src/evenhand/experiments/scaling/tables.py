"""The tables that `evenhand reproduce` makes besides the paper's figures, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

QUICK = 10  # a quick table has as many times fewer steps


@dataclass(frozen=True)
class ScalingTable:
    """A table: its title, how many seeds it has by default, and what makes it.

    Args:
        title: What it shows.
        seeds: How many seeds it has unless another number is asked for.
        make: Called with the folder, the number of seeds, whether it is quick, and a listener
            that is told how many rows are done; gives the rows and how each is printed.
    """

    title: str
    seeds: int
    make: Callable[..., tuple[list[dict[str, Any]], tuple[str, ...], list[tuple[str, ...]]]]


def _many(folder: Path, seeds: int, quick: bool, on_progress: Callable[[int, int], None]) -> Any:
    from evenhand.experiments.scaling import many_stakeholders as table

    steps = table.STEPS // (QUICK if quick else 1)
    rows = table.many_table(folder, seeds, steps, on_progress=on_progress)
    return rows, table.COLUMNS, [table.in_words(row) for row in rows]


def _proposals(
    folder: Path, seeds: int, quick: bool, on_progress: Callable[[int, int], None]
) -> Any:
    from evenhand.experiments.scaling import proposal_table as table

    updates = table.UPDATES // (QUICK if quick else 1)
    rows = table.proposal_table(folder, seeds, updates, on_progress)
    return rows, table.columns(seeds), [table.in_words(row) for row in rows]


TABLES: Mapping[str, ScalingTable] = MappingProxyType(
    {
        "many": ScalingTable("Doughnuts for many, as shares of taking turns", 5, _many),
        "proposals": ScalingTable("Which imagined memories pay", 10, _proposals),
    }
)
