"""Copies of files in the one form that the engine reads, kept until the program ends."""

from __future__ import annotations

import atexit
import csv
import functools
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.auditing.sources.own_duckdb import connect

# How copies are written, so that the engine need not guess.
DIALECT: dict[str, Any] = {"sep": ",", "quotechar": '"', "escapechar": '"', "strict_mode": True}


def new_folder() -> Path:
    """A folder of its own, removed at the end."""
    folder = tempfile.mkdtemp(prefix="evenhand-")
    atexit.register(functools.partial(shutil.rmtree, folder, ignore_errors=True))
    return Path(folder)


def tidy_copy(rows: Iterable[Sequence[str]], name: str) -> str:
    """Rows, of which the first is the header, as a CSV file of that name."""
    path = new_folder() / f"{Path(name).stem}.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_MINIMAL).writerows(rows)
    return str(path)


def parquet_copy(table: Path, kinds: Mapping[str, str]) -> Path:
    """A CSV file of ours as Parquet beside it.

    Args:
        table: The file, as `csv.writer` writes it.
        kinds: The types of its columns, in order.
    """
    copy = table.with_suffix(".parquet")
    # On one thread, so that the same rows are the same bytes.
    with connect(threads=1) as connection:
        read = connection.read_csv(str(table), header=True, columns=dict(kinds), **DIALECT)
        read.write_parquet(str(copy))
    return copy
