"""A source opened: a file, several, a table in memory or a database, as one table of a log."""

from __future__ import annotations

import contextlib
import glob
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from evenhand._util.checks import first_repeated
from evenhand._util.files import require_file
from evenhand.errors import BadFile, BadLog, BadParameter, DoubledColumn, argument
from evenhand.log import layout, text_files
from evenhand.log.engines import engine_of, quoted, reason_of
from evenhand.log.layout import TIDY, WORKLOAD, FileLayout, is_address, shown
from evenhand.log.options import AuditOptions
from evenhand.log.text_files import (
    DIALECT,
    connect,
    copied_in_utf_8,
    forget_types_at_exit,
    is_packed,
    materialized,
    read_workload,
    require_gzip,
    tidy,
    tidy_copy,
    times_of,
    where_not_utf_8,
    with_times,
)
from evenhand.log.workbooks import WORKBOOK, read_workbook, table_of

# Which files a name or a pattern means, and how they are written, by the ends of their names.

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
JSON = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
PARQUET = (".parquet", ".pq")

MAX_PATTERN = 4096  # characters of a path, on every system that we know


def found_files(patterns: list[str]) -> tuple[list[str], str]:
    """The files that patterns name, of which there must be some, and what to call them."""
    paths = []
    for pattern in patterns:
        found = matching_files(pattern)
        if not found:
            raise BadFile(f"there is no file {shown(pattern)!r}: check the name and the folder.")
        paths += found
    more = f" and {len(patterns) - 1} more" if len(patterns) > 1 else ""
    return paths, shown(patterns[0]) + more


def matching_files(pattern: str) -> list[str]:
    """The files of a name or of a glob; a name that no system has is not searched for."""
    if os.path.exists(pattern):
        return [pattern]
    if len(pattern) > MAX_PATTERN:
        raise BadFile(
            f"the log's name has {len(pattern):,} characters, and no file has more than "
            f"{MAX_PATTERN:,}: check what was put in its place."
        )
    return sorted(glob.glob(pattern, recursive=True))


def kind_of_files(paths: list[str], label: str) -> tuple[str, ...]:
    """How all of the files are written (CSV, JSON or PARQUET), by the ends of their names."""
    known = (CSV, JSON, PARQUET, WORKBOOK, WORKLOAD)
    kinds = {kind for path in paths for kind in known if path.lower().endswith(kind)}
    if len(kinds) != 1 or not all(path.lower().endswith(next(iter(kinds))) for path in paths):
        raise BadFile(
            f"{label} is not a log we know by its name: use files that all end in .csv, .tsv, "
            ".parquet, .jsonl, .ndjson, .json, .xlsx, .xls, .ods or .swf."
        )
    return next(iter(kinds))


def require_unicode(path: str) -> None:
    """Refuse a name that was written in another encoding, which the engine cannot be told."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BadFile(
            f"the name of the file {path!r} is not valid Unicode: rename the file."
        ) from None


# A log before anything is read of it, and the reading of what is needed.

# Columns we add. What stands in the log can hardly be called so.
ROW = "evenhand: row"
SAME = "evenhand: same"


@dataclass(frozen=True, eq=False)
class LogTable:
    """A table somewhere, before anything is read of it."""

    label: str  # what it is called in messages
    columns: tuple[str, ...]
    frame: nw.LazyFrame[Any]
    paths: tuple[str, ...] = ()
    connection: Any = None  # our own DuckDB, where it is one
    sources: tuple[str, ...] = ()  # the files as they were named
    close: Callable[[], None] = lambda: None  # when nothing is to be read of it any more
    quoting: Mapping[str, Any] = field(
        default_factory=dict
    )  # of CSV files, passed on to the engine
    is_view: bool = False  # a view of a DuckDB file, which is a program of a stranger
    notes: tuple[str, ...] = ()  # on how it was read, where it was not a tidy table
    times: Mapping[str, str] = field(default_factory=dict)  # of each file, if its name says it
    time: str = ""  # the column that holds them

    def load(self, needed: Sequence[str], as_text: Sequence[str]) -> LogTable:
        """The columns needed; of a text file held in memory, with some left as the text they are.

        So a date or a number that cannot be read is met later, by us, and its row is named.
        """
        if self.connection is None:
            return replace(self, frame=self.frame.select(*dict.fromkeys(needed)))
        everything = ", ".join(quoted(name) for name in self.columns)
        chosen = ", ".join(quoted(name) for name in dict.fromkeys(needed))
        wanted = (
            f"row_number() OVER () AS {quoted(ROW)}, hash({everything}) AS {quoted(SAME)}, {chosen}"
        )
        if self.is_view:
            frame: Any = nw.from_native(self.frame.to_native().project(wanted))
            return replace(self, frame=_worked_out(self, frame), is_view=False)
        if not self.is_text:
            frame = nw.from_native(self.frame.to_native().project(wanted))
        elif self.csv_paths:
            made = {self.time} if self.times else set()
            text = [name for name in as_text if name in self.columns and name not in made]
            try:
                frame = _held_csv(self, wanted, text)
            except text_files.ShortLines as short:
                whole = padded_copies(self, short)
                return replace(whole, frame=_held_csv(whole, wanted, text))
        else:
            relation = self.frame.to_native().project(wanted)
            frame = ask(self, lambda: materialized(nw.from_native(relation)))
        return LogTable(self.label, self.columns, frame, self.paths)

    def refuse_doubled(self, name: str, given: str) -> None:
        """Refuse a column's name that stands there twice: the engine renames the second.

        `given` is the argument that names the column.
        """
        same = name.strip().lower()
        if not any(column.lower() == f"{same}_1" for column in self.columns):
            return
        for header in self._headers():
            alike = [column for column in header if column.strip().lower() == same]
            if len(alike) > 1:
                names = " and ".join(repr(column) for column in dict.fromkeys(alike))
                raise DoubledColumn(
                    f"{self.label} has {len(alike)} columns called {names}, and {argument(given)} "
                    "must name one: give each a name of its own in the header."
                )

    def _headers(self) -> Iterator[list[str]]:
        """What may be the names of the columns, as the files themselves have them."""
        if self.csv_paths:
            for path in self.csv_paths:
                yield from text_files.header_lines(path)
        elif self.connection is not None and not self.is_text:
            for path in self.paths:
                yield _parquet_columns(self.connection, path)

    def hold(self) -> LogTable:
        """The same in memory, where it would be read or worked out anew at every look."""
        if self.is_view:
            return replace(self, frame=_worked_out(self, self.frame), is_view=False)
        if self.is_text:
            return replace(self, frame=engine_of(self.frame).hold(self.frame), paths=())
        return self

    @property
    def is_text(self) -> bool:
        """Whether it is parsed anew at every look, so that it is better held in memory."""
        return bool(self.paths) and not self.paths[0].lower().endswith(PARQUET)

    @property
    def csv_paths(self) -> tuple[str, ...]:
        """The CSV files that we read ourselves, if it is a table of such."""
        ours = self.connection is not None and bool(self.paths)
        return self.paths if ours and self.paths[0].lower().endswith(CSV) else ()


def padded_copies(table: LogTable, short: text_files.ShortLines) -> LogTable:
    """The table with copies in which every line has as many fields as the header."""
    copies = [tidy_copy(text_files.padded(path), path) for path in table.paths]
    times = dict(zip(copies, table.times.values(), strict=True)) if table.times else {}
    return replace(
        table,
        paths=tuple(copies),
        quoting=DIALECT,
        notes=(*table.notes, short.note()),
        times=times,
    )


def read_csv(table: LogTable, **more: Any) -> Any:
    """The CSV files of a table as one relation; `more` are options of DuckDB's reader."""
    options = {"header": True, "union_by_name": True, **table.quoting, **more}
    if table.times:
        options["filename"] = True
    return with_file_times(table, table.connection.read_csv(literal_names(table.paths), **options))


def with_file_times(table: LogTable, relation: Any) -> Any:
    """The rows with the times of their files, if these are in their names."""
    if not table.times:
        return relation
    return with_times(relation, table.times, table.time, table.label)


def _held_csv(table: LogTable, wanted: str, as_text: list[str]) -> nw.LazyFrame[Any]:
    import duckdb

    def read(**more: Any) -> Any:
        return materialized(nw.from_native(read_csv(table, **more).project(wanted)))

    try:
        return ask(table, lambda: read(dtype=dict.fromkeys(as_text, "VARCHAR")))
    except duckdb.ConversionException:  # a value far down that the first rows did not foretell
        return ask(table, lambda: read(all_varchar=True))


def _parquet_columns(connection: Any, path: str) -> list[str]:
    """The names of the columns as the file has them, without what is nested in them."""
    query = "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)"
    names, nested = [], 0
    for name, children in connection.execute(query, [glob.escape(path)]).fetchall()[1:]:
        if nested:
            nested -= 1
        else:
            names.append(name)
        nested += children
    return names


def literal_names(paths: Sequence[str]) -> list[str]:
    """The files of those names, and not all that they would name as patterns."""
    return [glob.escape(path) for path in paths]


def ask(table: LogTable, read: Any) -> Any:
    """What DuckDB answers, or one sentence in place of its page of advice."""
    import duckdb

    try:
        return read()
    except duckdb.ConversionException:
        raise
    except duckdb.Error as error:
        text = str(error)
        if "utf-8" in text.lower() or "unicode" in text.lower():
            raise BadFile(
                f"{table.label} is not UTF-8 text{where_not_utf_8(table.paths)}: save it as UTF-8, "
                f"or say how it is written, such as with {argument('encoding', 'latin-1')}."
            ) from None
        text_files.refuse_misfits(table.label, table.csv_paths)
        raise BadFile(f"{table.label} cannot be read: {reason_of(error)}.") from None


def _worked_out(table: LogTable, frame: Any) -> Any:
    """The rows of a view, worked out once and within its limits."""
    import duckdb

    over = threading.Event()

    def stop() -> None:
        over.set()
        table.connection.interrupt()

    timer = threading.Timer(layout.SECONDS, stop)
    timer.start()
    try:
        return materialized(frame)
    except duckdb.Error as error:
        if over.is_set() or isinstance(error, duckdb.OutOfMemoryException):
            raise layout.endless_view(table.label) from None
        raise BadLog(f"{table.label} cannot be read: {reason_of(error)}.") from None
    finally:
        timer.cancel()


# Logs in files: CSV, Parquet, JSON lines, workbooks, job logs, and globs of them.


def open_files(patterns: list[str], encoding: str, layout: FileLayout = TIDY) -> LogTable:
    """The files that patterns name, all of one kind, as one table."""
    paths, label = found_files(patterns)
    for path in paths:
        if os.path.isdir(path):
            raise BadFile(f"{path} is a folder: name the files in it, such as '{path}/*.csv'.")
        require_file(path)
        require_unicode(path)
        if os.path.getsize(path) == 0:
            raise BadLog(f"{path} is empty: it has no header and no rows.")
    kind = kind_of_files(paths, label)
    if kind is CSV:
        layout.refuse_sheet(label)
    elif kind is not WORKBOOK:
        layout.refuse_rows(label)
    for path in filter(is_packed, paths):
        require_gzip(path)
    connection, sources = connect(), tuple(paths)
    if kind is not PARQUET and encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        paths = [copied_in_utf_8(path, encoding) for path in paths]
    table = LogTable(label, (), None, tuple(paths), connection)  # type: ignore[arg-type]
    if layout.time_from_name:
        times = dict(zip(paths, times_of(sources), strict=True))
        table = replace(table, times=times, time=layout.time or "time")
    if kind in (WORKBOOK, WORKLOAD) or (kind is CSV and layout.header_row is not None):
        table = _copied(table, kind, layout)
        relation = ask(table, lambda: read_csv(table))
    elif kind is CSV:
        quoting = ask(table, lambda: text_files.quoting(connection, glob.escape(paths[0])))
        table = replace(table, quoting=quoting)
        try:
            relation = ask(table, lambda: read_csv(table))
            text_files.refuse_wide_column(label, paths, relation.columns)
        except text_files.ShortLines as short:
            table = padded_copies(table, short)
            relation = ask(table, lambda: read_csv(table))
    else:
        relation = ask(table, lambda: with_file_times(table, _read_other(table, kind)))
    frame: Any = nw.from_native(relation)
    return replace(
        table,
        columns=tuple(relation.columns),
        frame=frame,
        sources=sources,
        close=connection.close,  # which gives back the memory that reading took
    )


def _copied(table: LogTable, kind: tuple[str, ...], layout: FileLayout) -> LogTable:
    """The table with a tidy copy in place of each file that is not one."""
    copies: list[str] = []
    notes: list[str] = []
    label = table.label
    for path in table.paths:
        if kind is WORKLOAD:
            copies.append(tidy_copy(read_workload(path), path))
            continue
        if kind is WORKBOOK:
            found, label = read_workbook(path, layout)
        else:
            found = table_of(text_files.all_rows(path), layout, path)
        copies.append(tidy_copy((found.header, *found.rows), path))
        notes += found.notes
    label = label if len(copies) == 1 else table.label
    times = dict(zip(copies, table.times.values(), strict=True)) if table.times else {}
    return replace(
        table, label=label, paths=tuple(copies), quoting=DIALECT, notes=tuple(notes), times=times
    )


def _read_other(table: LogTable, kind: tuple[str, ...]) -> Any:
    connection, paths = table.connection, table.paths
    more: dict[str, Any] = {"filename": True} if table.times else {}
    if kind is PARQUET:
        return connection.from_parquet(literal_names(paths), union_by_name=True, **more)
    lines = "newline_delimited" if not paths[0].lower().endswith((".json", ".json.gz")) else "auto"
    return connection.read_json(
        literal_names(paths), format=lines, sample_size=-1, union_by_name=True, **more
    )


# Logs from anywhere, behind one interface: a narwhals lazy frame.
#
# Files (CSV, Parquet, JSON lines, globs of them) and tables in memory (pandas, Polars, Arrow) go
# through a DuckDB of our own by default. A DuckDB relation, a Spark or an
# Ibis table, and a table of a database, stay in their own engine, which does the heavy work there.


def open_table(
    source: Any,
    encoding: str = "utf-8",
    table: str | None = None,
    engine: str | None = None,
    layout: FileLayout = TIDY,
) -> LogTable:
    """A table from a path or several, a glob, the address of a database, or any data frame.

    Args:
        source: Where it is.
        encoding: How text files are written.
        table: The name of a table in a database.
        engine: What reads files: duckdb, the default, or spark.
        layout: How the file is laid out, if it is not a tidy table.
    """
    if isinstance(source, LogTable):
        return source
    found = _opened(source, encoding, table, engine, layout)
    return found if layout.wide is None else _tidied(found, layout)


@contextlib.contextmanager
def opened(source: Any, *how: Any) -> Iterator[LogTable]:
    """The same for as long as it is needed; a table that was opened here is closed here."""
    table = open_table(source, *how)
    try:
        yield table
    finally:
        if table is not source:
            table.close()


def opened_log(log: Any, options: AuditOptions) -> AbstractContextManager[LogTable]:
    """The log of an audit as its options say: encoding, table, engine and layout, none forgotten.

    Whoever reads the log that options speak of opens it here, so that an audit, the best there was,
    a replay and an import all read the same table.

    Args:
        log: As for `audit`; a table that was opened already stays as it is, and open.
        options: Which say how it is read.
    """
    return opened(log, options.encoding, options.table, options.engine, options.layout)


def _opened(
    source: Any, encoding: str, table: str | None, engine: str | None, layout: FileLayout
) -> LogTable:
    if isinstance(source, str | Path):
        source = [str(source)]
    if not (
        isinstance(source, list | tuple) and all(isinstance(one, str | Path) for one in source)
    ):
        layout.refuse_rows("a table in memory")
        return _open_frame(source)
    patterns = [str(one) for one in source]
    if not patterns:
        raise BadParameter("the list of files is empty: name at least one file.")
    if len(patterns) == 1 and is_address(patterns[0]):
        from evenhand.log.databases import open_database

        if engine is not None:
            raise BadParameter(f"{argument('engine')} is for files: a database is its own engine.")
        layout.refuse_rows("a database")
        return open_database(patterns[0], table)
    if table is not None:
        raise BadParameter(
            f"{argument('table')} names a table of a database, and {shown(patterns[0])} is not "
            "one: its address would begin with postgresql://, duckdb:/// or sqlite:///."
        )
    if engine is not None and engine not in _READERS:
        raise BadParameter(
            f"{argument('engine')} is {engine!r}: it must be {' or '.join(_READERS)}."
        )
    return _READERS[engine or "duckdb"](patterns, encoding, layout)


def _tidied(table: LogTable, layout: FileLayout) -> LogTable:
    """A wide table with a row for each of its cells."""
    if table.connection is None:
        raise BadParameter(
            f"{argument('wide')} is for files and for tables in memory: make a tidy view of "
            f"{table.label} where it is."
        )
    relation = table.frame.to_native()
    if table.csv_paths:  # as the text it is, since a column may hold marks in place of numbers
        relation = ask(table, lambda: read_csv(table, all_varchar=True))
    found, notes = ask(table, lambda: tidy(relation, layout, table.label))
    frame: Any = nw.from_native(found)
    return replace(
        table,
        columns=tuple(found.columns),
        frame=frame,
        paths=(),
        is_view=False,
        notes=(*table.notes, *notes),
    )


def _open_frame(source: Any) -> LogTable:
    try:
        frame: Any = nw.from_native(source)
    except TypeError:
        raise BadParameter(
            f"a log must be a path or a table (pandas, Polars, Arrow, DuckDB, Spark, Ibis), not a "
            f"{type(source).__name__}."
        ) from None
    except DuplicateError:
        names = getattr(source, "column_names", None) or source.columns  # of Arrow, or pandas
        twice = first_repeated(map(str, names))
        raise DoubledColumn(
            f"the table has more than one column called {twice!r}: give each a name of its own."
        ) from None
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        frame = frame.collect()
    if isinstance(frame, nw.LazyFrame):
        forget_types_at_exit()
        return LogTable("the table", tuple(frame.collect_schema().names()), frame)
    connection = connect()
    relation = _relation(connection, frame)
    lazy: Any = nw.from_native(relation)
    return LogTable(
        "the table", tuple(relation.columns), lazy, (), connection, close=connection.close
    )


def _relation(connection: Any, frame: Any) -> Any:
    """A table in memory as DuckDB sees it; a column of a type that it does not know is named."""
    import duckdb

    in_memory = frame.to_native()  # found by its name in this frame, and held by the relation
    try:
        return connection.table("in_memory")
    except (duckdb.NotImplementedException, duckdb.InvalidInputException) as error:
        kinds = {str(name): _kind(in_memory[name]) for name in frame.columns}
        odd = [n for n, kind in kinds.items() if repr(kind) in str(error) or repr(n) in str(error)]
        if not odd:
            raise
        raise BadParameter(
            f"column {odd[0]!r} of the table is of the type {kinds[odd[0]]}, which cannot be read: "
            "make it dates, numbers or text, or leave it out."
        ) from None
    finally:
        del in_memory


def _kind(column: Any) -> str:
    return str(column.dtype if hasattr(column, "dtype") else column.type)  # Arrow has the latter


def _open_with_spark(patterns: list[str], encoding: str, layout: FileLayout = TIDY) -> LogTable:
    from evenhand.log.spark import open_with_spark

    if layout.sheet is not None or layout.header_row is not None:
        given = argument("header_row" if layout.sheet is None else "sheet")
        raise BadParameter(f"{given} is not for Spark: leave {argument('engine')} out.")

    return open_with_spark(patterns, encoding)


_READERS = {"duckdb": open_files, "spark": _open_with_spark}
