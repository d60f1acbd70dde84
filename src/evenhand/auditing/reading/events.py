"""From a table to events: which columns mean what, which rows count, and what is wrong with them.

Filters apply first; only the rows they leave are looked at. Everything is still a lazy frame.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from evenhand.auditing.reading import conditions
from evenhand.auditing.reading.moments import moment_label
from evenhand.auditing.reading.values import in_utc, read_numbers, read_times
from evenhand.auditing.sources import csv_files
from evenhand.auditing.sources.engines import engine_of, fetch
from evenhand.auditing.sources.open_source import ROW, SAME, LogTable
from evenhand.errors import BadLog, BadParameter, MissingColumn

SHOWN = 3  # rows that an error names, before it says how many more there are


@dataclass(frozen=True)
class Columns:
    """Which column of a log means what. Without an amount every row counts 1."""

    stakeholder: str
    time: str
    amount: str | None = None
    group: str | None = None
    entitlement: str | None = None
    cumulative: bool = False  # the amounts are running totals
    time_format: str | None = None  # such as %d/%m/%Y


@dataclass(frozen=True)
class Choice:
    """Which rows count, and at which of them to look."""

    where: str | None = None
    when: str | None = None
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LogEvents:
    """The rows that count, under names of our own: who, at, amount, and what else is known."""

    table: LogTable
    columns: Columns
    frame: nw.LazyFrame[Any]
    plain_numbers: bool
    text_times: bool
    text_amounts: bool

    def has(self, name: str) -> bool:
        return name in self.frame.collect_schema().names()

    def without_nan(self) -> LogEvents:
        """The same with NaN as what it means in a table: an empty place."""
        number = nw.when(~nw.col("amount").is_nan()).then(nw.col("amount"))
        return replace(self, frame=self.frame.with_columns(number.alias("amount")))

    def rows_where(self, wrong: nw.Expr, show: str) -> str:
        """Such as "rows 4 and 17 ('31/31/2021', …)" for the rows of which something is wrong."""
        bad = self.frame.filter(wrong)
        count = int(fetch(bad.select(rows=nw.len()))["rows"][0])
        columns = [name for name in (ROW, show) if name in bad.collect_schema().names()]
        some = bad.select(columns)
        found = fetch((some.sort(ROW) if ROW in columns else some).head(SHOWN))
        what = _plainly(found[show][0]) if show in found and found[show][0] is not None else ""
        if ROW not in found:
            return f"{count:,} rows" + (f" ({what} is one)" if what else "")
        rows = [f"{int(row):,}" for row in found[ROW][:SHOWN]]
        more = f" and {count - SHOWN:,} more" if count > SHOWN else ""
        many = "row" if count == 1 else "rows"
        return f"{many} {', '.join(rows)}{more}" + (f" ({what})" if what else "")


def read_events(
    table: LogTable, columns: Columns, choice: Choice = Choice(), on_roster: Sequence[str] = ()
) -> LogEvents:
    """The events of a table, with its columns checked and its filters applied."""
    mapped = {
        "--stakeholder": columns.stakeholder,
        "--time": columns.time,
        "--amount": columns.amount,
        "--group": columns.group,
        "--entitlement": columns.entitlement,
    }
    used = {option: name for option, name in mapped.items() if name is not None}
    for option, name in used.items():
        require_column(table, name, option)
    if columns.cumulative and columns.amount is None:
        raise BadParameter("--cumulative says that amounts are running totals: add --amount.")
    asked = " ".join(text for text in (choice.where, choice.when) if text)
    needed = [*used.values(), *conditions.columns_of(asked, list(table.columns))]
    numbers = [name for name in (columns.amount, columns.entitlement) if name is not None]
    loaded = table.load(needed, as_text=[columns.stakeholder, columns.time, *numbers])
    times = read_times(loaded.frame, columns.time, columns.time_format)
    frame, texts = times.frame, {"at_text": times.text}
    for name in numbers:
        typed = read_numbers(frame, name)
        frame = typed.frame
        if name == columns.amount:
            texts["amount_text"] = typed.text
    for name in set(needed) - set(used.values()):
        frame = in_utc(frame, name)
    schema, moment = frame.collect_schema(), engine_of(frame).moment
    if choice.where is not None:
        frame = frame.filter(
            conditions.parse(choice.where, schema, "--where", table.columns, moment)
        )
    frame = frame.with_columns(nw.col(columns.stakeholder).cast(nw.String))
    if choice.only or choice.exclude:
        name = columns.stakeholder
        known = fetch(loaded.frame.select(nw.col(name).cast(nw.String)).unique())[name]
        everyone = [*map(str, known), *on_roster]
        require_names(choice.only, everyone, "--only")
        require_names(choice.exclude, everyone, "--exclude")
        frame = _chosen(frame, name, choice)
    parts: dict[str, nw.Expr] = {
        "who": nw.col(columns.stakeholder),
        "at": nw.col(columns.time),
        "amount": nw.lit(1.0) if columns.amount is None else nw.col(columns.amount),
    }
    if columns.group is not None:
        parts["group"] = nw.col(columns.group).cast(nw.String)
    if columns.entitlement is not None:
        parts["entitled"] = nw.col(columns.entitlement)
    if choice.when is not None:
        parts["mark"] = conditions.parse(choice.when, schema, "--when", table.columns, moment)
    parts |= {name: nw.col(text) for name, text in texts.items() if text is not None}
    parts |= {name: nw.col(name) for name in (ROW, SAME) if name in schema.names()}
    return LogEvents(
        table,
        columns,
        frame.select(**{name: part.alias(name) for name, part in parts.items()}),
        times.plain_numbers,
        times.text is not None,
        texts.get("amount_text") is not None,
    )


def require_column(table: LogTable, name: str, option: str) -> None:
    """Refuse a column that is not there or there twice, and offer the nearest."""
    csv_files.refuse_doubled(table.label, table.csv_paths, table.columns, name, option)
    if name in table.columns:
        return
    csv_files.refuse_lost_header(table.label, table.csv_paths, table.columns)
    lower = {column.lower().strip(): column for column in table.columns}
    near = difflib.get_close_matches(name.lower().strip(), lower, n=1, cutoff=0.5)
    known = ", ".join(repr(column) for column in table.columns[:12])
    hint = f"did you mean {lower[near[0]]!r}?" if near else f"it has {known}."
    raise MissingColumn(f"{table.label} has no column {name!r} ({option}): {hint}")


def _plainly(value: Any) -> str:
    """A value as people write it: text in quotes, dates and numbers without."""
    if isinstance(value, np.datetime64):
        return moment_label(value)
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _chosen(frame: nw.LazyFrame[Any], column: str, choice: Choice) -> nw.LazyFrame[Any]:
    if choice.only:
        frame = frame.filter(nw.col(column).is_in(list(choice.only)))
    if choice.exclude:
        frame = frame.filter(~nw.col(column).is_in(list(choice.exclude)))
    return frame


def require_names(wanted: Sequence[str], known: Sequence[str], option: str) -> None:
    """Refuse a name that nobody has: a typing mistake would change the answer without a word."""
    there = set(known)
    for name in wanted:
        if name not in there:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "check its spelling."
            raise BadLog(f"{option} names {name!r}, who is not in the log: {hint}")
