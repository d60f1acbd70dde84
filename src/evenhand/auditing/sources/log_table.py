"""A log before anything is read of it, and the reading of what is needed."""

from __future__ import annotations

import glob
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw

from evenhand.auditing.sources import csv_files, view_limits
from evenhand.auditing.sources.dated_names import with_times
from evenhand.auditing.sources.encodings import where_not_utf_8
from evenhand.auditing.sources.engines import engine_of
from evenhand.auditing.sources.engines.duckdb import quoted, reason_of
from evenhand.auditing.sources.file_names import CSV, PARQUET
from evenhand.auditing.sources.own_duckdb import materialized
from evenhand.auditing.sources.temporary_copies import DIALECT, tidy_copy
from evenhand.errors import BadFile, BadLog, DoubledColumn, argument

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
            except csv_files.ShortLines as short:
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


def padded_copies(table: LogTable, short: csv_files.ShortLines) -> LogTable:
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
        csv_files.refuse_misfits(table.label, table.csv_paths)
        raise BadFile(f"{table.label} cannot be read: {reason_of(error)}.") from None


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
        return materialized(frame)
    except duckdb.Error as error:
        if over.is_set() or isinstance(error, duckdb.OutOfMemoryException):
            raise view_limits.endless_view(table.label) from None
        raise BadLog(f"{table.label} cannot be read: {reason_of(error)}.") from None
    finally:
        timer.cancel()
