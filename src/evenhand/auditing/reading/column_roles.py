"""A look at a log of which no column is named: what each is probably for, and what to ask then.

A guess, shown with some values so that a reader can correct it. Nothing is judged by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw

from evenhand.auditing.hidden_marks import common_mark
from evenhand.auditing.layout import STAKEHOLDER, TIME
from evenhand.auditing.reading.number_texts import STYLES, WrittenNumber
from evenhand.auditing.sources.dated_names import time_in_name
from evenhand.auditing.sources.engines import fetch
from evenhand.auditing.sources.log_table import LogTable
from evenhand.auditing.sources.wide_tables import is_time, time_columns

LOOKED_AT = 1000  # rows
MOSTLY = 0.8  # of the values that must be of a kind
SHOWN = 3  # values of each column
WHO, WHEN, HOW_MUCH, GROUP, SIZE = "who", "when", "how much", "group", "size or population"
OPTION = {WHO: STAKEHOLDER, WHEN: TIME, HOW_MUCH: "amount", GROUP: "group", SIZE: "entitlement"}
# Words in the name of a column that tell what it is for.
WORDS = {
    WHO: "who|name|country|region|state|district|council|area|municipality|county|ward|school|"
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
        who = self.wide == STAKEHOLDER or self.named(WHO) is not None
        return who and (self.wide == TIME or self.time_from_name or self.named(WHEN) is not None)


def look_at(table: LogTable) -> Look:
    """What the columns of a log are probably for, by their names and first values."""
    texts = _first_values(table)
    wide = time_columns(table.columns)
    is_wide = len(wide) > 1
    kinds = {name: _kind(values) for name, values in texts.items()}
    roles: dict[str, str] = dict.fromkeys(wide, HOW_MUCH) if is_wide else {}
    for role, kind in ((WHEN, "time"), (SIZE, "number"), (HOW_MUCH, "number"), (WHO, "text")):
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
    elif role == WHO:  # names come back; what is never the same twice is a key or a remark
        again = [name for name in names if kinds[name] == kind and len(set(texts[name])) > 1]
        fitting += [name for name in again if len(set(texts[name])) < len(texts[name])] + again
        fitting += [name for name in said if kinds[name] == "number"]
    elif role == HOW_MUCH:
        others = {other for name in names for other in (WHO, WHEN, SIZE) if _says(other, name)}
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
