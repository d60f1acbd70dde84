"""From a table to rows: which column is for what, values read, rows left out, names merged."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from evenhand._util.numbers import moment_label
from evenhand._util.wording import join_names, nearest, pluralise
from evenhand.errors import BadLog, BadParameter, MissingColumn, UnknownStakeholder, argument
from evenhand.log import conditions, text_files
from evenhand.log.cells import (
    LEAST,
    MARK,
    MOST,
    STYLES,
    Writing,
    WrittenNumber,
    hidden_among,
    in_utc,
    read_numbers,
    read_times,
)
from evenhand.log.engines import Frame, engine_of, fetch
from evenhand.log.files import ROW, SAME, LogTable
from evenhand.log.layout import STAKEHOLDER, TIME, HiddenMark, common_mark
from evenhand.log.layout import STAKEHOLDER as WHO
from evenhand.log.options import AuditOptions
from evenhand.log.text_files import is_time, time_columns, time_in_name

# A look at a log of which no column is named: what each is probably for, and what to ask then.
#
# A guess, shown with some values so that a reader can correct it. Nothing is judged by it.

LOOKED_AT = 1000  # rows
MOSTLY = 0.8  # of the values that must be of a kind
SHOWN = 3  # values of each column
WHO_ROLE, WHEN, HOW_MUCH, GROUP, SIZE = "who", "when", "how much", "group", "size or population"
OPTION = {
    WHO_ROLE: STAKEHOLDER,
    WHEN: TIME,
    HOW_MUCH: "amount",
    GROUP: "group",
    SIZE: "entitlement",
}
# Words in the name of a column that tell what it is for.
WORDS = {
    WHO_ROLE: "who|name|country|region|state|district|council|area|municipality|county|ward|school|"
    "hospital|clinic|office|customer|client|user|patient|applicant|recipient|stakeholder|team|"
    "tenant|household|person|to|beneficiary|organisation|organization|location|land|kreis",
    WHEN: "date|time|day|month|year|week|quarter|period|timestamp|at|when|datum|jahr|monat",
    HOW_MUCH: "amount|doses?|number|count|value|total|grants?|quantity|sum|received|given|granted|"
    "spend|spending|payments?|paid|cost|hours|beds|units|loans?|vaccinations|cases|betrag|anzahl",
    SIZE: "population|people|inhabitants|residents|size|need|entitlement|households|einwohner",
    GROUP: "group|sex|gender|ethnicity|race|type|kind|class|category|tier|band|party",
}
CUMULATIVE = re.compile(r"cumulative|cum_|running|to_date|total_", re.I)


@dataclass(frozen=True)
class ColumnRole:
    """A column, what it is taken for, and some of its values."""

    name: str
    role: str | None
    values: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"column": self.name, "taken_for": self.role, "values": list(self.values)}


@dataclass(frozen=True)
class Look:
    """What a log seems to be."""

    columns: tuple[ColumnRole, ...]
    wide: str | None = None  # each column is a time, or a stakeholder
    time_from_name: bool = False  # the names of the files say when

    def named(self, role: str) -> str | None:
        return next((one.name for one in self.columns if one.role == role), None)

    def options(self, given: Mapping[str, str | None]) -> list[str]:
        """The options to judge it by: those given, and for the rest what columns are taken for."""
        found = {OPTION[role]: self.named(role) for role in OPTION}
        found |= {name: value for name, value in given.items() if value is not None}
        words: list[str] = []
        if self.wide is not None:
            found = {**found, self.wide: given.get(self.wide), "amount": given.get("amount")}
            words = ["--wide", self.wide]
        if self.time_from_name:
            words.append("--time-from-name")
        for name, value in found.items():
            if value is not None:
                words += [f"--{name}", value]
        amount = found.get("amount")
        if amount is not None and CUMULATIVE.search(amount):
            words.append("--cumulative")
        return words

    @property
    def complete(self) -> bool:
        """Whether it is known who received and when."""
        who = self.wide == STAKEHOLDER or self.named(WHO_ROLE) is not None
        return who and (self.wide == TIME or self.time_from_name or self.named(WHEN) is not None)


def look_at(table: LogTable) -> Look:
    """What the columns of a log are probably for, by their names and first values."""
    texts = _first_values(table)
    wide = time_columns(table.columns)
    is_wide = len(wide) > 1
    kinds = {name: _kind(values) for name, values in texts.items()}
    roles: dict[str, str] = dict.fromkeys(wide, HOW_MUCH) if is_wide else {}
    for role, kind in ((WHEN, "time"), (SIZE, "number"), (HOW_MUCH, "number"), (WHO_ROLE, "text")):
        if is_wide and role in (WHEN, HOW_MUCH):
            continue
        free = [name for name in table.columns if name not in roles]
        chosen = _best(role, kind, free, kinds, texts)
        if chosen is not None:
            roles[chosen] = role
    free = [name for name in table.columns if name not in roles and kinds[name] == "text"]
    groups = [name for name in free if _says(GROUP, name)]
    roles |= dict.fromkeys(groups[:1], GROUP)
    columns = [
        ColumnRole(name, roles.get(name), tuple(map(_shown, dict.fromkeys(texts[name])))[:SHOWN])
        for name in table.columns
    ]
    if is_wide:
        return _spread(columns, wide, TIME, "how much at that time")
    by_name = _stakeholder_columns(roles, kinds)
    if by_name:
        return _spread(columns, by_name, STAKEHOLDER, "how much of that stakeholder")
    return Look(tuple(columns), time_from_name=WHEN not in roles.values() and _dated(table))


def _spread(columns: Sequence[ColumnRole], spread: Sequence[str], wide: str, role: str) -> Look:
    """A wide table, some of whose columns are each a time or a stakeholder."""
    found = [replace(one, role=role) if one.name in spread else one for one in columns]
    return Look(tuple(found), wide)


def _stakeholder_columns(roles: Mapping[str, str], kinds: Mapping[str, str]) -> list[str]:
    """The columns that are each a stakeholder, where nothing else makes sense.

    That is: it is known when and nowhere who, and no column of numbers is called like an amount.
    """
    said = {role for role in roles.values() if role != HOW_MUCH}
    numbers = [name for name, kind in kinds.items() if kind == "number" and roles.get(name) != WHEN]
    named = any(_says(role, name) for name in numbers for role in WORDS)
    return numbers if said == {WHEN} and len(numbers) > 1 and not named else []


def _dated(table: LogTable) -> bool:
    """Whether the names of several files say when each is of."""
    times = {time_in_name(path) for path in table.sources}
    return len(times) > 1 and None not in times


def _first_values(table: LogTable) -> dict[str, list[str]]:
    some = table.frame.head(LOOKED_AT)
    found = fetch(some.select(*(nw.col(name).cast(nw.String) for name in table.columns)))

    def texts(name: str) -> list[str]:
        values = found.get(name, ())  # a name with a NUL does not come back as it was
        return [str(value).strip() for value in values if value is not None and str(value).strip()]

    return {name: texts(name) for name in table.columns}


def _shown(text: str) -> str:
    """A value as people write it; numbers of a workbook may come with an exponent."""
    return f"{float(text):g}" if re.fullmatch(r"-?[0-9]+e-?[0-9]+", text) else text


def _kind(values: Sequence[str]) -> str:
    """What most values are: times, numbers (or marks in their place), or text."""
    if not values:
        return "nothing"
    numbers = sum(_is_number(value) for value in values)
    if numbers >= MOSTLY * len(values):
        return "number"
    times = sum(is_time(value) for value in values)
    return "time" if times >= MOSTLY * len(values) else "text"


def _is_number(text: str) -> bool:
    number = WrittenNumber.of(text)
    if number is None:
        return common_mark(text) is not None
    return any(style.parts(number.digits) is not None for style in STYLES)


def _best(
    role: str,
    kind: str,
    names: Sequence[str],
    kinds: Mapping[str, str],
    texts: Mapping[str, Sequence[str]],
) -> str | None:
    """The column that fits a role best, if any does."""
    said = [name for name in names if _says(role, name)]
    fitting = [name for name in said if kinds[name] == kind]
    if role == WHEN:  # years and step numbers are times that are numbers
        fitting += [name for name in names if kinds[name] == "time"]
        fitting += [name for name in said if kinds[name] == "number"]
    elif role == WHO_ROLE:  # names come back; what is never the same twice is a key or a remark
        again = [name for name in names if kinds[name] == kind and len(set(texts[name])) > 1]
        fitting += [name for name in again if len(set(texts[name])) < len(texts[name])] + again
        fitting += [name for name in said if kinds[name] == "number"]
    elif role == HOW_MUCH:
        others = {other for name in names for other in (WHO_ROLE, WHEN, SIZE) if _says(other, name)}
        fitting += [
            name
            for name in names
            if kinds[name] == kind and not any(_says(other, name) for other in others)
        ]
    return fitting[0] if fitting else None


def _says(role: str, name: str) -> bool:
    """Whether a word in a column's name tells its role."""
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()
    end = "$" if role == SIZE else "(?![a-z])"  # people, but not people_vaccinated
    return re.search(rf"(?<![a-z])(?:{WORDS[role]}){end}", plain) is not None


# Names that differ only in capitals, spaces or accents: noticed, and merged where asked for.

INTO = "evenhand: merged name"


def plain_name(name: str) -> str:
    """A name without capitals, accents and spaces that are too many.

    >>> plain_name("  São   PAULO ")
    'sao paulo'
    """
    if name.isascii():  # most names, of which there may be very many
        return " ".join(name.lower().split())
    parts = unicodedata.normalize("NFKD", name.casefold())
    letters = "".join(part for part in parts if not unicodedata.combining(part))
    return " ".join(letters.split())


def alike(names: Iterable[str]) -> list[list[str]]:
    """The names of which several are one when written plainly."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(plain_name(name), []).append(name)
    return [spellings for spellings in found.values() if len(spellings) > 1]


def one_spelling(rows: Mapping[str, int], known: Sequence[str] = ()) -> dict[str, str]:
    """The spelling that each name is to have: that of the roster, or the one of most rows.

    >>> one_spelling({"north": 1, "North": 5, "South": 2})
    {'north': 'North'}
    """
    chosen = {plain_name(name): name for name in reversed(known)}
    for name in sorted(rows, key=lambda name: (-rows[name], name)):
        chosen.setdefault(plain_name(name), name)
    return {name: chosen[plain_name(name)] for name in rows if chosen[plain_name(name)] != name}


def merge_names(frame: Frame, column: str, known: Sequence[str]) -> tuple[Frame, tuple[str, ...]]:
    """The frame with one spelling of each name, and a note on those that were changed.

    Args:
        frame: The log.
        column: The column of names.
        known: Names whose spelling is right, such as those of a roster.
    """
    engine = engine_of(frame)
    if not engine.looks_up:
        raise BadParameter(
            f"{argument('merge_names')} is for files and for tables in memory: fix the names where "
            "they are, or make a view."
        )
    name = nw.col(column).cast(nw.String)
    named = frame.select(name=name).filter(~nw.col("name").is_null())
    found = fetch(named.group_by("name").agg(rows=nw.len()))
    rows = {str(one): int(count) for one, count in zip(found["name"], found["rows"], strict=True)}
    spelt = one_spelling(rows, known)
    if not spelt:
        return frame, ()
    trimmed = {old.strip(" "): new for old, new in spelt.items()}
    frame = engine.looked_up(frame, column, list(trimmed), {INTO: list(trimmed.values())})
    merged = nw.coalesce(nw.col(INTO), name).alias(column)
    shown = [f"{old!r} into {new!r}" for old, new in sorted(spelt.items())]
    note = (
        f"{pluralise(len(spelt), 'name was', 'names were')} merged with others that differ only in "
        f"capitals, spaces or accents ({join_names(shown, 3)})."
    )
    return frame.with_columns(merged).drop(INTO), (note,)


# From a table to events, step by step: load the columns, read values, leave rows out, rename.
#
# Filters apply first; only the rows they leave are looked at. Everything is still a lazy frame.

# Columns beside the amounts: what the argument that names each is called, and our own name for it.
BESIDE = {"out_of": "chances", "asked": "asked", "entitlement": "entitled"}
# Of a suppressed amount: the lowest and the highest it can be, and what stands in its place.
HIDDEN = ("lowest_hidden", "highest_hidden", "hidden_mark")


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
    text_files.refuse_lost_header(table.label, table.csv_paths, table.columns)
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
