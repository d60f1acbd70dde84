"""From a table to events, step by step: load the columns, read values, leave rows out, rename.

Filters apply first; only the rows they leave are looked at. Everything is still a lazy frame.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from evenhand._util.moments import moment_label
from evenhand._util.wording import join_names, nearest, pluralise
from evenhand.auditing.hidden_marks import HiddenMark
from evenhand.auditing.layout import STAKEHOLDER as WHO
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading import conditions
from evenhand.auditing.reading.column_roles import WHEN, look_at
from evenhand.auditing.reading.name_spellings import merge_names
from evenhand.auditing.reading.values import (
    LEAST,
    MARK,
    MOST,
    Writing,
    hidden_among,
    in_utc,
    read_numbers,
    read_times,
)
from evenhand.auditing.sources import csv_files
from evenhand.auditing.sources.engines import Frame, engine_of, fetch
from evenhand.auditing.sources.log_table import ROW, SAME, LogTable
from evenhand.auditing.sources.wide_tables import time_columns
from evenhand.errors import BadLog, BadParameter, MissingColumn, UnknownStakeholder, argument

# Columns beside the amounts: what the argument that names each is called, and our own name for it.
BESIDE = {"out_of": "chances", "asked": "asked", "entitlement": "entitled"}
# Of a suppressed amount: the lowest and the highest it can be, and what stands in its place.
HIDDEN = ("lowest_hidden", "highest_hidden", "hidden_mark")
SHOWN = 3  # rows that an error names, before it says how many more there are


@dataclass(frozen=True, eq=False)
class LogEvents:
    """The rows that count, under names of our own: who, at, amount, and what else is known."""

    table: LogTable
    options: AuditOptions
    frame: Frame
    plain_numbers: bool
    text_times: bool
    text_amounts: bool
    notes: tuple[str, ...] = ()  # on how times and numbers are written
    hidden: Mapping[str, HiddenMark] = field(default_factory=dict)  # texts that hide an amount

    def has(self, name: str) -> bool:
        return name in self.frame.collect_schema().names()

    @property
    def beside(self) -> tuple[str, ...]:
        """What the rows say beside the amounts, under our own names."""
        return tuple(name for name in BESIDE.values() if self.has(name))

    def without_nan(self) -> LogEvents:
        """The same with NaN as what it means in a table: an empty place."""
        number = nw.when(~nw.col("amount").is_nan()).then(nw.col("amount"))
        return replace(self, frame=self.frame.with_columns(number.alias("amount")))

    def any(self, wrong: nw.Expr) -> bool:
        """Whether something is wrong with any row."""
        return len(fetch(self.frame.filter(wrong).select("who").head(1))["who"]) > 0

    def rows_where(self, wrong: nw.Expr, show: str) -> str:
        """Such as "rows 4 and 17 ('31/31/2021', …)" for the rows of which something is wrong."""
        bad = self.frame.filter(wrong)
        count = int(fetch(bad.select(rows=nw.len()))["rows"][0])
        columns = [name for name in (ROW, show) if name in bad.collect_schema().names()]
        some = bad.select(columns)
        found = fetch((some.sort(ROW) if ROW in columns else some).head(SHOWN))
        what = _plainly(found[show][0]) if show in found and found[show][0] is not None else ""
        if ROW not in found:
            return pluralise(count, "row") + (f" ({what} is one)" if what else "")
        rows = [f"{int(row):,}" for row in found[ROW][:SHOWN]]
        more = f" and {count - SHOWN:,} more" if count > SHOWN else ""
        many = "row" if count == 1 else "rows"
        return f"{many} {', '.join(rows)}{more}" + (f" ({what})" if what else "")


def read_events(
    table: LogTable,
    options: AuditOptions,
    on_roster: Sequence[str] = (),
    writing: Writing | None = None,
) -> LogEvents:
    """The events of a table, with its columns checked and its filters applied.

    Args:
        table: The table.
        options: What is asked of it.
        on_roster: Names whose spelling is right, whether or not they are in the table.
        writing: How times and numbers are written, if not as the options say.
    """
    columns = _columns(table, options)
    held = _load(table, options, columns)
    loaded = held.frame
    noted = tuple(note for note in held.notes if note not in table.notes)
    if options.merge_names:
        loaded, spelt = merge_names(loaded, options.stakeholder, on_roster)
        noted += spelt
    _require_names(loaded, options, on_roster)
    typed = _typed(loaded, options, columns, writing or writing_of(options))
    chosen = _chosen(typed.frame, table, options)
    if typed.hidden and chosen is not typed.frame:
        chosen = hidden_among(chosen, columns["amount"], typed.hidden)
    events = _renamed(chosen, typed, table, options, columns)
    engine = engine_of(loaded)
    if engine.is_short(loaded):  # each look would read its texts again
        events = engine.hold(events)
    return LogEvents(
        table=table,
        options=options,
        frame=events,
        plain_numbers=typed.plain_numbers,
        text_times="at_text" in typed.texts,
        text_amounts="amount_text" in typed.texts,
        notes=(*noted, *typed.notes),
        hidden=typed.hidden,
    )


def group_name(place: int) -> str:
    """Our own name for one of the columns of groups."""
    return f"group {place + 1}"


def require_column(table: LogTable, name: str, given: str) -> None:
    """Refuse a column that is not there or there twice; `given` is the argument that names it."""
    table.refuse_doubled(name, given)
    if name in table.columns:
        return
    csv_files.refuse_lost_header(table.label, table.csv_paths, table.columns)
    times = time_columns(table.columns)
    if given in ("time", "amount") and len(times) > 1:
        raise BadParameter(
            f"{table.label} has no column {name!r} ({argument(given)}), but columns that are each "
            f"a time ({join_names([repr(one) for one in times], 3)}): read it as a wide table with "
            f"{argument('wide', 'time')}."
        )
    if given in ("stakeholder", "amount") and table.connection is not None:
        look = look_at(table)
        if look.wide == WHO:
            numbers = [repr(one.name) for one in look.columns if one.role not in (None, WHEN)]
            raise BadParameter(
                f"{table.label} has no column {name!r} ({argument(given)}), but columns that may "
                f"each be a stakeholder ({join_names(numbers, 3)}): read it as a wide table with "
                f"{argument('wide', WHO)}."
            )
    raise MissingColumn(
        [name],
        table.label,
        known=table.columns,
        nearest=nearest(name, table.columns, least=0.5),
        argument=given,
    )


def _columns(table: LogTable, options: AuditOptions) -> dict[str, str]:
    """The columns that an audit looks at, by the argument that names each; all are there."""
    names = {
        "stakeholder": options.stakeholder,
        "time": options.time,
        "amount": options.amount,
        "wait_to": options.wait_to,
        "out_of": options.out_of,
        "asked": options.asked if options.requests is None else None,
        "entitlement": options.entitlement if _entitlement_is_column(table, options) else None,
    }
    columns = {given: name for given, name in names.items() if name is not None}
    columns |= {group_name(k): name for k, name in enumerate(options.group_columns)}
    for given, name in columns.items():
        require_column(table, name, "group" if given.startswith("group") else given)
    return columns


def _entitlement_is_column(table: LogTable, options: AuditOptions) -> bool:
    """Whether the entitlement is a column of the log; otherwise it is a table of its own."""
    given = options.entitlement
    if not isinstance(given, str) or given in table.columns:
        return isinstance(given, str)
    if os.path.exists(given):
        return False
    near = nearest(given, table.columns)
    hint = "check its name." if near is None else f"did you mean the column {near!r}?"
    raise BadParameter(
        f"{argument('entitlement')} is {given!r}, which is neither a column of {table.label} nor a "
        f"file: {hint}"
    )


class _TypedColumns(NamedTuple):
    """Times and numbers read in place, and the columns that keep their text, where it was text."""

    frame: Frame
    texts: Mapping[str, str]
    plain_numbers: bool
    notes: tuple[str, ...]
    hidden: Mapping[str, HiddenMark]


def _load(table: LogTable, options: AuditOptions, columns: Mapping[str, str]) -> LogTable:
    """The columns that are looked at, by their meaning or in a condition."""
    asked = " ".join(text for text in (options.where, options.when) if text)
    needed = [*columns.values(), *conditions.columns_of(asked, list(table.columns))]
    as_text = [name for given, name in columns.items() if not given.startswith("group")]
    return table.load(needed, as_text=as_text)


def writing_of(options: AuditOptions) -> Writing:
    """How times and numbers are written, as far as the options say it."""
    return Writing(
        options.time_format,
        options.time_unit,
        options.needs_calendar,
        options.decimal,
        options.marks,
    )


def writing_beside(options: AuditOptions) -> Writing:
    """How they are written in a table beside the log: as in the log, which alone hides amounts."""
    return replace(writing_of(options), missing=(), beside=True)


def _typed(
    frame: Frame, options: AuditOptions, columns: Mapping[str, str], writing: Writing
) -> _TypedColumns:
    """Times and numbers in place of what stands for them."""
    times = read_times(frame, options.time, writing)
    frame, texts, notes = times.frame, {"at_text": times.text}, list(times.notes)
    hidden: Mapping[str, HiddenMark] = {}
    if "wait_to" in columns:
        ends = read_times(frame, columns["wait_to"], writing)
        if ends.plain_numbers != times.plain_numbers:
            raise BadLog(
                f"{argument('wait_from')} and {argument('wait_to')} must both hold dates, or both "
                "plain numbers."
            )
        frame, texts["end_text"] = ends.frame, ends.text
    noted: list[str] = []
    for given in (given for given in BESIDE if given in columns):
        typed = read_numbers(frame, columns[given], writing)
        noted += typed.notes
        frame = typed.frame.drop([name for name in (LEAST, MOST, MARK) if typed.hidden])
    if "amount" in columns:  # last, as what its marks can hide stays in columns of these names
        typed = read_numbers(frame, columns["amount"], writing)
        frame, hidden, texts["amount_text"] = typed.frame, typed.hidden, typed.text
        notes += typed.notes
    notes += noted
    added = (ROW, SAME, LEAST, MOST, MARK, *texts.values())
    for name in frame.collect_schema().names():
        if name not in columns.values() and name not in added:
            frame = in_utc(frame, name)
    kept = {name: text for name, text in texts.items() if text is not None}
    return _TypedColumns(frame, kept, times.plain_numbers, tuple(notes), hidden)


def _require_names(frame: Frame, options: AuditOptions, on_roster: Sequence[str]) -> None:
    """Refuse a name that nobody has: a typing mistake would change the answer without a word."""
    chosen = {"only": options.only, "exclude": options.exclude}
    if not any(chosen.values()):
        return
    name = options.stakeholder
    known = fetch(frame.select(nw.col(name).cast(nw.String)).unique())[name]
    everyone = {*map(str, known), *on_roster}
    for given, names in chosen.items():
        for who in names:
            if who not in everyone:
                raise UnknownStakeholder(
                    who, nearest=nearest(who, sorted(everyone)), argument=given
                )


def _chosen(frame: Frame, table: LogTable, options: AuditOptions) -> Frame:
    """The rows that count."""
    if options.where is not None:
        frame = frame.filter(_condition(options.where, "where", frame, table))
    who = nw.col(options.stakeholder).cast(nw.String)
    if options.only:
        frame = frame.filter(who.is_in(list(options.only)))
    if options.exclude:
        frame = frame.filter(~who.is_in(list(options.exclude)))
    return frame


def _renamed(
    frame: Frame,
    typed: _TypedColumns,
    table: LogTable,
    options: AuditOptions,
    columns: Mapping[str, str],
) -> Frame:
    """Only what is needed, under names of our own."""
    parts: dict[str, nw.Expr] = {
        "who": nw.col(options.stakeholder).cast(nw.String),
        "at": nw.col(options.time),
        "amount": nw.lit(1.0) if options.amount is None else nw.col(options.amount),
    }
    for given, name in columns.items():
        if given.startswith("group"):
            parts[given] = nw.col(name).cast(nw.String)
    if "wait_to" in columns:
        parts["end"] = nw.col(columns["wait_to"])
    parts |= {name: nw.col(columns[given]) for given, name in BESIDE.items() if given in columns}
    if options.when is not None:
        parts["mark"] = _condition(options.when, "when", frame, table)
    parts |= {name: nw.col(text) for name, text in typed.texts.items()}
    there = frame.collect_schema().names()
    for name, own in zip((LEAST, MOST, MARK), HIDDEN, strict=True):
        if typed.hidden:
            parts[own] = nw.col(name)
    parts |= {name: nw.col(name) for name in (ROW, SAME) if name in there}
    return frame.select(**{name: part.alias(name) for name, part in parts.items()})


def _condition(text: str, given: str, frame: Frame, table: LogTable) -> nw.Expr:
    schema, moment = frame.collect_schema(), engine_of(frame).moment
    return conditions.parse(text, schema, given, table.columns, moment)


def _plainly(value: Any) -> str:
    """A value as people write it: text in quotes, dates and numbers without; no date is nothing."""
    if isinstance(value, np.datetime64):
        return "" if np.isnat(value) else moment_label(value)
    return f"{value:g}" if isinstance(value, float) else repr(value)
