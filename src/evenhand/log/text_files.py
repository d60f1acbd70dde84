"""CSV and workload files as people have them: compressed, quoted, encoded, wide."""

from __future__ import annotations

import atexit
import csv
import datetime
import functools
import gzip
import io
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

import narwhals as nw

from evenhand._util.files import in_bytes, open_file
from evenhand._util.numbers import EPOCH
from evenhand._util.wording import join_names, short_repr
from evenhand.errors import BadFile, BadParameter, argument
from evenhand.log.engines import literal, quoted
from evenhand.log.layout import TIME, FileLayout, common_mark
from evenhand.log.times import MONTHS, WRITINGS

if TYPE_CHECKING:
    import duckdb


# CSV and workload files as people have them: compressed, quoted, encoded, copied.

# Files packed with gzip: read through once before anything else is, so that a file that is cut
# short, damaged, or made to fill the disk is met here.

# A log is packed to a tenth or a fiftieth. What unpacks to this many times its size, and to more
# than a log of some million rows, was made to do so.
MOST_TIMES = 200
ALWAYS_FINE = 1 << 28  # bytes
CHUNK = 1 << 20


def is_packed(path: str) -> bool:
    """Whether a file is packed with gzip, by the end of its name."""
    return path.lower().endswith(".gz")


def open_unpacked(path: str) -> BinaryIO:
    """The bytes of a file, unpacked if it is packed."""
    return cast(BinaryIO, gzip.open(path, "rb")) if is_packed(path) else open_file(path)


def require_gzip(path: str) -> None:
    """Refuse what is not gzip, is damaged, or grows beyond all measure; a chunk is held at a time.

    What the file itself says of its size is not believed.
    """
    with open_file(path) as packed:
        size, unpacked = os.fstat(packed.fileno()).st_size, 0
        most = max(ALWAYS_FINE, MOST_TIMES * size)
        try:
            with gzip.GzipFile(fileobj=packed) as file:
                while chunk := file.read(CHUNK):
                    unpacked += len(chunk)
                    if unpacked > most:
                        raise BadFile(
                            f"{path} has {in_bytes(size)} and unpacks to more than "
                            f"{in_bytes(most)}: if you trust it, unpack it with gunzip and name "
                            "the file that comes out."
                        )
        except EOFError:
            raise BadFile(
                f"{path} ends in the middle: it was cut short, so copy or download it again."
            ) from None
        except (OSError, zlib.error):
            if not unpacked and not _begins_as_gzip(path):
                raise BadFile(
                    f"{path} is not packed with gzip, though its name ends in .gz: name it by what "
                    "it is, such as log.csv."
                ) from None
            raise BadFile(f"{path} is damaged: copy or download it again.") from None


def _begins_as_gzip(path: str) -> bool:
    with open_file(path) as file:
        return file.read(2) == b"\x1f\x8b"


# A DuckDB of our own, in memory, that reads files and tables.
#
# To make one takes longer than to judge a small log, so that the connections of a process share it;
# whoever needs other settings, such as no access to files, has one of its own.

# It fetches nothing from elsewhere, and looks into a file again that has changed since.
SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_file_cache": False,
    "allocator_background_threads": True,  # memory that is no longer used is given back
}


def connect(**settings: Any) -> duckdb.DuckDBPyConnection:
    """A connection to a DuckDB of our own, with settings of its own if there are any."""
    import duckdb

    forget_types_at_exit()
    if settings:
        connection = duckdb.connect(config={**SETTINGS, **settings})
    else:
        connection = _shared(os.getpid()).cursor()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@functools.cache
def _shared(process: int) -> duckdb.DuckDBPyConnection:
    """The database of this process: one that was forked does not inherit its threads."""
    import duckdb

    connection = duckdb.connect(config=SETTINGS)
    atexit.register(connection.close)
    return connection


def materialized(frame: Any) -> Any:
    """The rows of a frame, worked out now and kept in memory."""
    return nw.from_native(frame.to_native().materialize())


@functools.cache
def forget_types_at_exit() -> None:
    """Empty narwhals' caches before Python ends: DuckDB's objects in them would complain then."""

    def forget() -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith("narwhals."):
                for value in list(vars(module).values()):
                    getattr(value, "cache_clear", int)()

    atexit.register(forget)


# Copies of files in the one form that the engine reads, kept until the program ends.

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


# CSV files as people have them: how they quote, and where one is not the table it should be.
#
# The engine guesses how a file is written from its first rows, and where they do not fit together
# it guesses something else, such as one wide column. So what it found is held against the file
# itself.

SEPARATORS = (",", ";", "\t", "|")
HEADER_LINES = 20  # among the first of these is the header: a title or remarks may stand above it
LONGEST_LINE = 1 << 22  # characters; the engine takes no longer ones


def quoting(connection: Any, path: str) -> dict[str, str]:
    """The quotes that the engine is to expect: double ones, unless the file uses others.

    Left to itself it takes a file without any in its first rows for one that knows none, and what
    is quoted further down would be another name than the same without quotes.
    """
    found = connection.execute("SELECT Quote FROM sniff_csv(?)", [path]).fetchall()
    return {} if found == [("'",)] else {"quotechar": '"'}


def separator(path: str) -> str:
    """What stands between the names in the header: the first line, unless a title is above it."""
    with _text(path) as file:
        lines = [file.readline(LONGEST_LINE) for _ in range(HEADER_LINES)]
    first = lines[0]
    counts = {mark: first.count(mark) for mark in SEPARATORS}
    if not any(counts.values()):
        counts = {mark: max(line.count(mark) for line in lines) for mark in SEPARATORS}
    return max(SEPARATORS, key=lambda mark: counts[mark])


def refuse_wide_column(label: str, paths: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse files of which one was read as a single column, as its rows do not fit its header."""
    wide = {name for name in columns if any(mark in name for mark in SEPARATORS)}
    if wide:
        refuse_misfits(label, [path for path in paths if _first_line(path).strip() in wide])


def refuse_lost_header(label: str, paths: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse files of which the header was passed over, as more rows fit to another line."""
    known = {name.strip() for name in columns}
    lost = [path for path in paths if {name.strip() for name in _first_row(path)} - known - {""}]
    refuse_misfits(label, lost)


def refuse_misfits(label: str, paths: Sequence[str]) -> None:
    """Refuse files of which a line has more or fewer fields than the header, or a lone quote."""
    short: list[str] = []
    for path in paths:
        of_which = f" of {path}" if len(paths) > 1 else ""
        header = 0
        try:
            for line, fields in _records(path):
                header = header or len(fields)
                if header < 2 or (len(fields) >= header and not any(fields[header:])):
                    continue
                wrong = f"line {line:,}{of_which} has {_several(len(fields))}"
                if 1 < len(fields) < header:
                    short.append(f"{wrong} where the header has {header}")
                    continue
                raise BadFile(_misfit(label, f"{wrong} where the header has {header}"))
        except _LoneQuote as error:
            raise BadFile(
                f"{label} cannot be read: in line {error.line:,}{of_which} a double quote is not "
                "closed, or not followed by the end of its field: take it out, or close it; inside "
                "a quoted field it is written twice."
            ) from None
    if short:
        raise ShortLines(_misfit(label, short[0]), short)


def _misfit(label: str, line: str) -> str:
    return (
        f"{label} cannot be read: {line}: fix the line, and put a field that holds the separator "
        "in double quotes."
    )


class ShortLines(BadFile):
    """Lines with fewer fields than the header, and nothing else wrong.

    Where rows are read, what is missing in them is empty, as in pandas; elsewhere this is refused.
    """

    def __init__(self, sentence: str, lines: Sequence[str]) -> None:
        super().__init__(sentence)
        self.lines = tuple(lines)

    def note(self) -> str:
        """What was done about them."""
        more = len(self.lines) - 1
        others = f", and {more:,} more have too few" if more else ""
        line = self.lines[0].capitalize()
        return f"{line}{others}: what is missing was taken as empty. Is the file whole?"


def padded(path: str) -> Iterator[list[str]]:
    """The rows of a file, each with as many fields as the header."""
    header = 0
    for _, fields in _records(path):
        header = header or len(fields)
        yield fields[:header] + [""] * (header - len(fields))


class _LoneQuote(Exception):
    """A quote that does not end where a field does, in the record that begins at a line."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def header_lines(path: str) -> list[list[str]]:
    """The first lines, of which one is the header."""
    found = []
    try:
        for line, fields in _records(path):
            found.append(fields)
            if line >= HEADER_LINES:
                break
    except _LoneQuote:
        pass  # which is reported where the rows are read
    return found


def all_rows(path: str) -> list[list[str]]:
    """The rows of a file, empty ones too, so that they can be counted."""
    with _text(path) as file:
        lines = iter(lambda: file.readline(LONGEST_LINE), "")
        try:
            return list(csv.reader(lines, delimiter=separator(path)))
        except csv.Error as error:
            raise BadFile(f"{path} cannot be read: {error}.") from None


def _records(path: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file that are not empty, each with the line at which it begins."""
    with _text(path) as file:
        lines = iter(lambda: file.readline(LONGEST_LINE), "")
        rows = csv.reader(lines, delimiter=separator(path), strict=True)
        begins = 1
        while True:
            try:
                fields = next(rows, None)
            except csv.Error as error:
                if "field limit" in str(error):  # too long for us, if not for the engine
                    return
                raise _LoneQuote(begins) from None
            if fields is None:
                return
            if fields:
                yield begins, fields
            begins = rows.line_num + 1


def _first_row(path: str) -> list[str]:
    return next(iter(header_lines(path)), [])


def _first_line(path: str) -> str:
    with _text(path) as file:
        return file.readline(LONGEST_LINE)


def _text(path: str) -> IO[str]:
    return io.TextIOWrapper(open_unpacked(path), encoding="utf-8-sig", errors="replace", newline="")


def _several(count: int) -> str:
    return "1 field" if count == 1 else f"{count:,} fields"


# Text files that are not written in UTF-8, all that the engine reads.


def copied_in_utf_8(path: str, encoding: str) -> str:
    """A copy of a text file in UTF-8, all that the engine reads, kept until the program ends."""
    _require_known(encoding)
    folder = new_folder()
    copy = folder / Path(path).name.removesuffix(".gz")
    try:
        with (
            io.TextIOWrapper(open_unpacked(path), encoding=encoding, newline="") as source,
            open(copy, "w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
    except UnicodeError as error:
        raise BadFile(f"{path} is not written in {encoding}: {error}.") from None
    return str(copy)


def _require_known(encoding: str) -> None:
    """Refuse what is not the name of an encoding of text."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):  # the latter for names that no name can be, with a NUL say
        raise BadParameter(
            f"{argument('encoding')} is {short_repr(encoding)}, which is not known: it is a name "
            "such as latin-1, cp1252 or utf-16."
        ) from None


def where_not_utf_8(paths: tuple[str, ...]) -> str:
    """Where the first line is that is not UTF-8, such as " (line 17 of log.csv)"."""
    for path in paths:
        with open_unpacked(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return f" (line {number:,}{f' of {path}' if len(paths) > 1 else ''})"
    return ""


# Job logs in the Standard Workload Format: 18 numbers a job, remarks after semicolons.
#
# -1 is unknown. Times are seconds since the log begins, which its header says in `UnixStartTime`;
# without it they stay numbers. https://www.cs.huji.ac.il/labs/parallel/workload/swf.html

FIELDS = (
    *("job", "submit", "wait", "run", "processors", "cpu_time", "memory", "processors_requested"),
    *("time_requested", "memory_requested", "status", "user", "group", "executable", "queue"),
    *("partition", "preceding_job", "think_time"),
)
MADE = ("start", "end", "processor_seconds")  # columns more, of what a job used and when
_REMARK = re.compile(r"\s*;\s*(\w+)\s*:\s*(.*?)\s*$")


def read_workload(path: str) -> Iterator[tuple[str, ...]]:
    """The names of the columns, and then a row for each job; what is unknown is empty."""
    yield (*FIELDS, *MADE)
    moment: Callable[[float], str] = _seconds
    with io.TextIOWrapper(open_unpacked(path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if text.startswith(";"):
                remark = _REMARK.match(text)
                if remark is not None and remark[1].lower() == "unixstarttime":
                    moment = _since(remark[2], moment)
            elif text:
                yield _job(text, moment, path, number)


def _job(line: str, moment: Callable[[float], str], path: str, number: int) -> tuple[str, ...]:
    try:
        values = [float(word) for word in line.split()]
    except ValueError:
        values = []
    if len(values) != len(FIELDS) or not all(abs(value) < 1e15 for value in values):
        raise BadFile(
            f"{path} is not in the Standard Workload Format: line {number:,} is not "
            f"{len(FIELDS)} numbers."
        )
    known: dict[str, float | None] = {
        name: None if value == -1 else value for name, value in zip(FIELDS, values, strict=True)
    }
    submit, wait, run = known["submit"], known["wait"], known["run"]
    processors = known["processors"] or known["processors_requested"]
    start = None if submit is None or wait is None else submit + wait
    end = None if start is None or run is None else start + run
    # What never began used nothing, and is no event.
    used = None if processors is None or run is None or start is None else processors * run
    texts = {name: "" if value is None else _seconds(value) for name, value in known.items()}
    texts["submit"] = "" if submit is None else moment(submit)
    made = [*("" if at is None else moment(at) for at in (start, end))]
    return (*texts.values(), *made, "" if used is None else _seconds(used))


def _seconds(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _since(text: str, otherwise: Callable[[float], str]) -> Callable[[float], str]:
    """Moments of seconds since the log began, if its header says when that was."""
    try:
        begin = EPOCH + datetime.timedelta(seconds=int(text.split()[0]))
    except (ValueError, IndexError, OverflowError):
        return otherwise
    if begin <= EPOCH:  # 0 stands for unknown
        return otherwise

    def moment(seconds: float) -> str:
        try:
            return (begin + datetime.timedelta(seconds=seconds)).isoformat(" ")
        except OverflowError:
            return ""

    return moment


# Tables with a column for each time or stakeholder, and names of columns that are dates.

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
