"""Logs from anywhere, behind one interface: a narwhals lazy frame.

Files (CSV, Parquet, JSON lines, globs of them) and tables in memory (pandas, Polars, Arrow) go
through a DuckDB of our own by default. A DuckDB relation, a Spark or an
Ibis table, and a table of a database, stay in their own engine, which does the heavy work there.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import glob
import io
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from evenhand._util.files import require_file
from evenhand.auditing.layout import TIDY, FileLayout
from evenhand.auditing.sources import csv_files, view_limits
from evenhand.auditing.sources.addresses import is_address, shown
from evenhand.auditing.sources.dated_names import times_of, with_times
from evenhand.auditing.sources.engines import engine_of
from evenhand.auditing.sources.engines.duckdb import quoted, reason_of
from evenhand.auditing.sources.gzip_files import is_packed, open_unpacked, require_gzip
from evenhand.auditing.sources.header_rows import table_of
from evenhand.auditing.sources.temporary_copies import DIALECT, new_folder, tidy_copy
from evenhand.auditing.sources.wide_tables import tidy
from evenhand.auditing.sources.workbooks import WORKBOOK, read_workbook
from evenhand.auditing.sources.workload_files import read_workload
from evenhand.auditing.workload_columns import WORKLOAD
from evenhand.errors import BadFile, BadLog, BadParameter, DoubledColumn, argument

if TYPE_CHECKING:
    import duckdb

# Columns we add. What stands in the log can hardly be called so.
ROW = "evenhand: row"
SAME = "evenhand: same"

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
JSON = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
PARQUET = (".parquet", ".pq")

MAX_PATTERN = 4096  # characters of a path, on every system that we know


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
            except csv_files.ShortLines as short:
                whole = _padded(self, short)
                return replace(whole, frame=_held_csv(whole, wanted, text))
        else:
            relation = self.frame.to_native().project(wanted)
            frame = _asked(self, lambda: _materialized(nw.from_native(relation)))
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
                yield from csv_files.header_lines(path)
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


def _tidied(table: LogTable, layout: FileLayout) -> LogTable:
    """A wide table with a row for each of its cells."""
    if table.connection is None:
        raise BadParameter(
            f"{argument('wide')} is for files and for tables in memory: make a tidy view of "
            f"{table.label} where it is."
        )
    relation = table.frame.to_native()
    if table.csv_paths:  # as the text it is, since a column may hold marks in place of numbers
        relation = _asked(table, lambda: _read_csv(table, all_varchar=True))
    found, notes = _asked(table, lambda: tidy(relation, layout, table.label))
    frame: Any = nw.from_native(found)
    return replace(
        table,
        columns=tuple(found.columns),
        frame=frame,
        paths=(),
        is_view=False,
        notes=(*table.notes, *notes),
    )


def _opened(
    source: Any, encoding: str, table: str | None, engine: str | None, layout: FileLayout
) -> LogTable:
    if isinstance(source, str | Path):
        source = [str(source)]
    if not (
        isinstance(source, list | tuple) and all(isinstance(one, str | Path) for one in source)
    ):
        return _open_frame(source)
    patterns = [str(one) for one in source]
    if len(patterns) == 1 and is_address(patterns[0]):
        from evenhand.auditing.sources.databases import open_database

        if engine is not None:
            raise BadParameter(f"{argument('engine')} is for files: a database is its own engine.")
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


@contextlib.contextmanager
def opened(source: Any, *how: Any) -> Iterator[LogTable]:
    """The same for as long as it is needed; a table that was opened here is closed here."""
    table = open_table(source, *how)
    try:
        yield table
    finally:
        if table is not source:
            table.close()


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


def _open_files(patterns: list[str], encoding: str, layout: FileLayout = TIDY) -> LogTable:
    paths, label = found_files(patterns)
    for path in paths:
        if os.path.isdir(path):
            raise BadFile(f"{path} is a folder: name the files in it, such as '{path}/*.csv'.")
        require_file(path)
        _require_unicode(path)
        if os.path.getsize(path) == 0:
            raise BadLog(f"{path} is empty: it has no header and no rows.")
    kind = kind_of_files(paths, label)
    for path in filter(is_packed, paths):
        require_gzip(path)
    connection, sources = connect(), tuple(paths)
    if kind is not PARQUET and encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        paths = [_in_utf_8(path, encoding) for path in paths]
    table = LogTable(label, (), None, tuple(paths), connection)  # type: ignore[arg-type]
    if layout.time_from_name:
        times = dict(zip(paths, times_of(sources), strict=True))
        table = replace(table, times=times, time=layout.time or "time")
    if kind in (WORKBOOK, WORKLOAD) or (kind is CSV and layout.header_row is not None):
        table = _copied(table, kind, layout)
        relation = _asked(table, lambda: _read_csv(table))
    elif kind is CSV:
        quoting = _asked(table, lambda: csv_files.quoting(connection, glob.escape(paths[0])))
        table = replace(table, quoting=quoting)
        try:
            relation = _asked(table, lambda: _read_csv(table))
            csv_files.refuse_wide_column(label, paths, relation.columns)
        except csv_files.ShortLines as short:
            table = _padded(table, short)
            relation = _asked(table, lambda: _read_csv(table))
    else:
        relation = _asked(table, lambda: _with_times(table, _read_other(table, kind)))
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
            found = table_of(csv_files.all_rows(path), layout, path)
        copies.append(tidy_copy((found.header, *found.rows), path))
        notes += found.notes
    label = label if len(copies) == 1 else table.label
    times = dict(zip(copies, table.times.values(), strict=True)) if table.times else {}
    return replace(
        table, label=label, paths=tuple(copies), quoting=DIALECT, notes=tuple(notes), times=times
    )


def _padded(table: LogTable, short: csv_files.ShortLines) -> LogTable:
    """The table with copies in which every line has as many fields as the header."""
    copies = [tidy_copy(csv_files.padded(path), path) for path in table.paths]
    times = dict(zip(copies, table.times.values(), strict=True)) if table.times else {}
    return replace(
        table,
        paths=tuple(copies),
        quoting=DIALECT,
        notes=(*table.notes, short.note()),
        times=times,
    )


def _require_unicode(path: str) -> None:
    """Refuse a name that was written in another encoding, which the engine cannot be told."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BadFile(
            f"the name of the file {path!r} is not valid Unicode: rename the file."
        ) from None


def _in_utf_8(path: str, encoding: str) -> str:
    """A copy of a text file in UTF-8, all that the engine reads, kept until the program ends."""
    folder = new_folder()
    copy = folder / Path(path).name.removesuffix(".gz")
    try:
        with (
            io.TextIOWrapper(open_unpacked(path), encoding=encoding, newline="") as source,
            open(copy, "w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
    except LookupError:
        raise BadParameter(
            f"{argument('encoding')} is {encoding!r}, which is not known: it is a name such as "
            "latin-1, cp1252 or utf-16."
        ) from None
    except UnicodeError as error:
        raise BadFile(f"{path} is not written in {encoding}: {error}.") from None
    return str(copy)


def _read_csv(table: LogTable, **more: Any) -> Any:
    options = {"header": True, "union_by_name": True, **table.quoting, **more}
    if table.times:
        options["filename"] = True
    return _with_times(table, table.connection.read_csv(_literal(table.paths), **options))


def _with_times(table: LogTable, relation: Any) -> Any:
    """The rows with the times of their files, if these are in their names."""
    if not table.times:
        return relation
    return with_times(relation, table.times, table.time, table.label)


def _held_csv(table: LogTable, wanted: str, as_text: list[str]) -> nw.LazyFrame[Any]:
    import duckdb

    def read(**more: Any) -> Any:
        return _materialized(nw.from_native(_read_csv(table, **more).project(wanted)))

    try:
        return _asked(table, lambda: read(dtype=dict.fromkeys(as_text, "VARCHAR")))
    except duckdb.ConversionException:  # a value far down that the first rows did not foretell
        return _asked(table, lambda: read(all_varchar=True))


def _read_other(table: LogTable, kind: tuple[str, ...]) -> Any:
    connection, paths = table.connection, table.paths
    more: dict[str, Any] = {"filename": True} if table.times else {}
    if kind is PARQUET:
        return connection.from_parquet(_literal(paths), union_by_name=True, **more)
    lines = "newline_delimited" if not paths[0].lower().endswith((".json", ".json.gz")) else "auto"
    return connection.read_json(
        _literal(paths), format=lines, sample_size=-1, union_by_name=True, **more
    )


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


def _literal(paths: Sequence[str]) -> list[str]:
    """The files of those names, and not all that they would name as patterns."""
    return [glob.escape(path) for path in paths]


def _asked(table: LogTable, read: Any) -> Any:
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
                f"{table.label} is not UTF-8 text{_undecodable(table.paths)}: save it as UTF-8, or "
                f"say how it is written, such as with {argument('encoding', 'latin-1')}."
            ) from None
        csv_files.refuse_misfits(table.label, table.csv_paths)
        raise BadFile(f"{table.label} cannot be read: {reason_of(error)}.") from None


def _materialized(frame: Any) -> Any:
    return nw.from_native(frame.to_native().materialize())


def _worked_out(table: LogTable, frame: Any) -> Any:
    """The rows of a view, worked out once and within its limits."""
    import duckdb

    over = threading.Event()

    def stop() -> None:
        over.set()
        table.connection.interrupt()

    timer = threading.Timer(view_limits.SECONDS, stop)
    timer.start()
    try:
        return _materialized(frame)
    except duckdb.Error as error:
        if over.is_set() or isinstance(error, duckdb.OutOfMemoryException):
            raise view_limits.endless_view(table.label) from None
        raise BadLog(f"{table.label} cannot be read: {reason_of(error)}.") from None
    finally:
        timer.cancel()


def _undecodable(paths: tuple[str, ...]) -> str:
    """Where the first line is that is not UTF-8, such as " (line 17 of log.csv)"."""
    for path in paths:
        with open_unpacked(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return f" (line {number:,}{f' of {path}' if len(paths) > 1 else ''})"
    return ""


def _open_frame(source: Any) -> LogTable:
    try:
        frame: Any = nw.from_native(source)
    except TypeError:
        raise BadParameter(
            f"a log must be a path or a table (pandas, Polars, Arrow, DuckDB, Spark, Ibis), not a "
            f"{type(source).__name__}."
        ) from None
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        frame = frame.collect()
    if isinstance(frame, nw.LazyFrame):
        _forget_types_at_exit()
        return LogTable("the table", tuple(frame.collect_schema().names()), frame)
    connection = connect()
    in_memory = frame.to_native()  # found by its name in this frame, and held by the relation
    relation = connection.table("in_memory")
    del in_memory
    lazy: Any = nw.from_native(relation)
    return LogTable(
        "the table", tuple(relation.columns), lazy, (), connection, close=connection.close
    )


def connect(**settings: Any) -> duckdb.DuckDBPyConnection:
    """A DuckDB of our own, in memory; it fetches nothing from elsewhere."""
    import duckdb

    _forget_types_at_exit()
    extensions: Any = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    connection = duckdb.connect(config={**extensions, **settings})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _open_with_spark(patterns: list[str], encoding: str, layout: FileLayout = TIDY) -> LogTable:
    from evenhand.auditing.sources.spark_files import open_files

    if layout.sheet is not None or layout.header_row is not None:
        given = argument("header_row" if layout.sheet is None else "sheet")
        raise BadParameter(f"{given} is not for Spark: leave {argument('engine')} out.")

    return open_files(patterns, encoding)


_READERS = {"duckdb": _open_files, "spark": _open_with_spark}


@functools.cache
def _forget_types_at_exit() -> None:
    # narwhals caches objects of DuckDB's, which complain on standard error when Python ends.
    def forget() -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith("narwhals."):
                for value in list(vars(module).values()):
                    getattr(value, "cache_clear", int)()

    atexit.register(forget)
