"""What is said of a source before it is read: its address, its layout, its marks; and notes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from evenhand._util.files import in_bytes
from evenhand.errors import BadLog, BadParameter, argument

# How the file of a log is laid out, as far as the user says it: what a tidy file needs none of.

TIME, STAKEHOLDER = "time", "stakeholder"  # what the columns of a wide table may each be


@dataclass(frozen=True)
class FileLayout:
    """Which sheet and row to begin with, and what the names of columns and files mean."""

    sheet: str | int | None = None  # of a workbook, by its name or its number from 1
    header_row: int | str | None = None  # the row of the columns' names from 1, or two such as 3-4
    wide: str | None = None  # each column is a time, or a stakeholder
    time_from_name: bool = False  # the time of a file's rows stands in its name
    stakeholder: str = ""  # what the columns of the tidy table are called
    time: str = ""
    amount: str = ""
    named: tuple[str, ...] = ()  # columns that must be there, by which the header is found
    can_name_sheet: bool = True  # whether the user could have said which sheet is meant

    def __post_init__(self) -> None:
        if self.wide not in (None, TIME, STAKEHOLDER):
            raise BadParameter(
                f"{argument('wide')} is {self.wide!r}: it must be {TIME}, if each column is a "
                f"time, or {STAKEHOLDER}, if each column is a stakeholder."
            )
        if self.header_row is not None:
            first, last = self.header_rows
            if not 1 <= first <= last <= first + 3:
                raise BadParameter(
                    f"{argument('header_row')} is {self.header_row!r}: it must be the number of a "
                    "row, counted from 1, or of the rows of a header such as 3-4."
                )

    @property
    def header_rows(self) -> tuple[int, int]:
        """The first and the last row of the header that is named."""
        first, _, last = str(self.header_row).partition("-")
        try:
            return int(first), int(last or first)
        except ValueError:
            return 0, 0

    def refuse_rows(self, label: str) -> None:
        """Refuse to name a sheet or a row of what has no sheets, or whose columns have names."""
        self.refuse_sheet(label)
        if self.header_row is not None:
            raise BadParameter(
                f"{argument('header_row')} is for workbooks and text files, and {label} is "
                "neither: leave it out."
            )

    def refuse_sheet(self, label: str) -> None:
        """Refuse to name a sheet of what is not a workbook."""
        if self.sheet is not None:
            raise BadParameter(
                f"{argument('sheet')} names a sheet of a workbook, and {label} is not one: leave "
                "it out."
            )


# Of a table beside the log, such as a roster: the options about a layout are of the log alone.
TIDY = FileLayout(can_name_sheet=False)


# What an audit of a job log looks at by default: such logs all have the same columns.

WORKLOAD = (".swf", ".swf.gz")
# What an audit looks at if nothing else is said: what each user's jobs were given, when they began.
DEFAULTS = {"stakeholder": "user", "time": "start", "amount": "processor_seconds"}
OTHERWISE = ("wide", "wait_from", "wait_to")  # arguments that ask for something else


def is_workload(path: str) -> bool:
    """Whether a file is a job log, by the end of its name."""
    return path.lower().endswith(WORKLOAD)


def default_columns(logs: Sequence[Any], given: Mapping[str, Any]) -> dict[str, str]:
    """The columns that an audit of job logs looks at, as far as nothing else is given.

    Args:
        logs: What is audited: paths, lists of paths, or anything else.
        given: What is said of it, by argument.
    """
    paths = [one for log in logs for one in (log if isinstance(log, list | tuple) else [log])]
    workload = [isinstance(one, str | Path) and is_workload(str(one)) for one in paths]
    if not paths or not all(workload) or any(given.get(name) for name in OTHERWISE):
        return {}
    return {name: column for name, column in DEFAULTS.items() if not given.get(name)}


# What was met in a log and is not an error: counted, said in words, never lost.


@dataclass
class Notes:
    """Sentences for the reader, in the order in which they were found."""

    sentences: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)  # those that the reader should answer

    def copy(self) -> Notes:
        """As many sentences, to which others may be added."""
        return Notes(list(self.sentences), list(self.questions))

    def add(self, sentence: str) -> None:
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def ask(self, sentence: str) -> None:
        """A note that is a question: it is shown first, since the answer may change everything."""
        self.questions.append(sentence)
        self.add(sentence)


# Marks that offices put where they do not tell a number: `*`, `..`, `c`, `<5`. Unknown, not zero.
#
# A mark may say, or be said to hide, a range: `<5` hides 0 to 4 where numbers are whole.

# What stands for a suppressed number in the tables of statistical offices and in spreadsheets.
COMMON = frozenset(
    [
        *("*", "**", "***", ".", "..", "...", "…", ":", "-", "--", "–", "—", "−", "/", "†", "‡"),
        *("c", "x", "s", "u", "[c]", "[x]", "[s]", "[u]", "[w]", "[low]", "(c)", "(x)", "(s)"),
        *("suppressed", "confidential", "redacted", "withheld", "masked", "n.a.", "n/d", "nd"),
        *("#n/a", "#value!", "#ref!", "#div/0!", "#name?", "#num!", "#null!", "#getting_data"),
    ]
)
_NUMBER = r"\d+(?:\.\d+)?"
_BELOW = re.compile(rf"(<|fewer than|less than|under|below)\s*({_NUMBER})", re.I)
_AT_MOST = re.compile(rf"(≤|<=|up to|at most)\s*({_NUMBER})", re.I)
_ABOVE = re.compile(rf"(?:>|≥|>=|more than|over|above|at least)\s*({_NUMBER})", re.I)
_RANGE = re.compile(rf"({_NUMBER})\s*(?:-|–|—|to)\s*({_NUMBER})", re.I)


@dataclass(frozen=True)
class HiddenMark:
    """A text in place of a number, and between which values that number lies, where that is known.

    `below` says that the highest value itself is not among them, as in `<5`.
    """

    text: str
    lowest: float | None = None
    highest: float | None = None
    below: bool = False

    def __post_init__(self) -> None:
        ends = [end for end in (self.lowest, self.highest) if end is not None]
        if not self.text.strip() or not all(map(math.isfinite, ends)) or ends != sorted(ends):
            raise BadParameter(
                f"{argument('missing')} is {self.text!r}: write a mark such as '*', or a mark and "
                "what it can hide, such as '*=1-4'."
            )

    def fits(self, text: str) -> bool:
        """Whether a cell is this mark; a number such as -1 may be one however it is written."""
        if text.strip().casefold() == self.text.strip().casefold():
            return True
        try:
            return float(text) == float(self.text)
        except ValueError:
            return False

    def most(self, whole: bool) -> float | None:
        """The highest value it can hide, among whole numbers or among all."""
        if self.highest is None or not self.below or not whole:
            return self.highest
        return max(math.ceil(self.highest) - 1.0, self.lowest or 0.0)


def read_marks(given: Any) -> tuple[HiddenMark, ...]:
    """The marks that a user names: texts such as "*" or "*=1-4", or a mapping to pairs.

    >>> read_marks(["*", "x=1-4"])[1]
    HiddenMark(text='x', lowest=1.0, highest=4.0, below=False)
    """
    if isinstance(given, str | HiddenMark):
        given = [given]
    if isinstance(given, Mapping):
        try:
            return tuple(
                HiddenMark(str(text), float(low), float(high))
                for text, (low, high) in given.items()
            )
        except (TypeError, ValueError) as error:
            if isinstance(error, BadParameter):
                raise
            raise BadParameter(
                f"{argument('missing')} is {given!r}: it must say between which two numbers each "
                "mark lies, such as {'*': (1, 4)}."
            ) from None
    if not isinstance(given, Iterable):
        raise BadParameter(f"{argument('missing')} is {given!r}: it must be a mark such as '*'.")
    return tuple(one if isinstance(one, HiddenMark) else _named(str(one)) for one in given)


def _named(text: str) -> HiddenMark:
    mark, equals, hides = text.rpartition("=")
    ends = _RANGE.fullmatch(hides.strip()) if equals and mark.strip() else None
    if ends is not None:
        return HiddenMark(mark, float(ends[1]), float(ends[2]))
    return common_mark(text) or HiddenMark(text)


def common_mark(text: str) -> HiddenMark | None:
    """A text as a mark that everybody knows, if it is one.

    >>> common_mark("<5").most(whole=True), common_mark("five")
    (4.0, None)
    """
    plain = text.strip()
    if plain.casefold() in COMMON:
        return HiddenMark(plain)
    if (found := _BELOW.fullmatch(plain)) is not None:
        return HiddenMark(plain, 0.0, float(found[2]), below=True)
    if (found := _AT_MOST.fullmatch(plain)) is not None:
        return HiddenMark(plain, 0.0, float(found[2]))
    if (found := _ABOVE.fullmatch(plain)) is not None:
        return HiddenMark(plain, float(found[1]))
    if (found := _RANGE.fullmatch(plain)) is not None and float(found[1]) <= float(found[2]):
        return HiddenMark(plain, float(found[1]), float(found[2]))
    return None


def mark_of(text: str, named: Sequence[HiddenMark]) -> HiddenMark | None:
    """The mark that a text is: one that the user named, or one that everybody knows."""
    for mark in named:
        if mark.fits(text):
            return mark
    return common_mark(text)


# Addresses of databases, such as postgresql://user@host/db, and how to show them: no secrets.

SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql"}
FILES = ("duckdb", "sqlite")
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.S)
OPTION = re.compile(r"[\w.-]+=")
# What may be shown of an address's options: of any other, who knows what is a secret?
HARMLESS = ("application_name", "connect_timeout", "sslmode", "target_session_attrs")
EXAMPLE = "it looks like postgresql://user@host:5432/database, duckdb:///file or sqlite:///file"


@dataclass(frozen=True)
class Address:
    """The parts of an address; what was not said is left to the database's own settings."""

    scheme: str
    database: str = ""  # or the path of a file
    user: str = ""
    password: str = field(default="", repr=False)
    host: str = ""
    port: str = ""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """Without password and options, for people to read."""
        if self.scheme in FILES:
            return f"{self.scheme}:///{self.database}"
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{user}{self.host}{port}/{self.database}"


def is_address(text: str) -> bool:
    """Whether a text is meant as the address of a database."""
    match = ADDRESS.fullmatch(text)
    return match is not None and match[1].lower() in (*SCHEMES, *FILES)


def read_address(text: str) -> Address:
    """The parts of an address, or an error that does not repeat them, as one may be a password."""
    match = ADDRESS.fullmatch(text)
    assert match is not None
    scheme, rest = match[1].lower(), match[2]
    if scheme in FILES:
        if not rest.startswith("/") or len(rest) < 2:
            raise BadParameter(
                f"the address of a {scheme} file has three slashes before a path, and a fourth if "
                f"the path begins with one: {scheme}:///folder/file."
            )
        return Address(scheme, rest[1:])
    rest, _, query = rest.partition("?")
    place, _, database = rest.partition("/")
    user, _, place = place.rpartition("@")
    host, port = _host_and_port(place)
    if "@" in user or "@" in database or (port and not port.isdigit()):
        raise BadParameter(
            f"the address of the database cannot be read: {EXAMPLE}. In a password, write @ as "
            "%40, / as %2F, : as %3A and ? as %3F, or leave it out and set PGPASSWORD."
        )
    name, _, password = user.partition(":")
    return Address(
        SCHEMES[scheme],
        unquote(database),
        unquote(name),
        unquote(password),
        unquote(host),
        port,
        tuple(parse_qsl(query, keep_blank_values=True)),
    )


def _host_and_port(place: str) -> tuple[str, str]:
    if place.startswith("["):  # an IPv6 address
        host, _, port = place[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = place.partition(":")
    return host, port


def shown(text: str) -> str:
    """A text, such as an argument, without the secrets of an address in it.

    >>> shown("postgresql://ann:s3cret@host/db?password=x&sslmode=require")
    'postgresql://ann@host/db?sslmode=require'
    """
    before, scheme, rest = text.partition("://")  # to the end: a password may have spaces in it
    place, mark, query = rest.partition("?")
    if mark and not OPTION.match(query):  # part of a password, not the beginning of options
        place, query = rest, ""
    if "@" in place:
        user, _, place = place.rpartition("@")
        place = f"{user.split(':')[0]}@{place}"
    options = "&".join(one for one in query.split("&") if one.split("=")[0].lower() in HARMLESS)
    return f"{before}{scheme}{place}{'?' if options else ''}{options}"


# How much work a view of somebody else's file may cause: it is a program, and might never end.

SECONDS = 30.0  # for each query of a view
MEMORY = 4 << 30  # bytes
VIEWS = 1000  # that a view may be made of, each counted as often as it is named
AS = re.compile(r"\bas\b", re.IGNORECASE)  # after which the query of a view begins
NAME = re.compile(r'"[^"]+"|\[[^]]+\]|`[^`]+`|\w+')


def endless_view(label: str) -> BadLog:
    """What to say of a view that goes beyond these limits."""
    return BadLog(
        f"{label} is a view that takes more than {SECONDS:g} seconds or {in_bytes(MEMORY)}: make "
        "it a table (CREATE TABLE … AS SELECT …), and audit that."
    )


def too_many_views(views: Mapping[str, str], name: str) -> bool:
    """Whether a view, given the SQL of each, is made of too many for a query even to be planned.

    A view of a view twice, of which there is a view twice, and so on, is soon of billions.

    >>> twice = {f"v{k}": f"… AS FROM v{k - 1} UNION ALL FROM v{k - 1}" for k in range(20)}
    >>> too_many_views(twice, "v5"), too_many_views(twice, "v15")
    (False, True)
    """
    inside = {
        view.lower(): [word.strip('"[]`').lower() for word in NAME.findall(AS.split(sql, 1)[-1])]
        for view, sql in views.items()
    }
    rest, count = [name.lower()], 0
    while rest and count <= VIEWS:
        count += 1
        rest += [word for word in inside.get(rest.pop(), ()) if word in inside]
    return count > VIEWS
