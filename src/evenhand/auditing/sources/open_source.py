"""Logs from anywhere, behind one interface: a narwhals lazy frame.

Files (CSV, Parquet, JSON lines, globs of them) and tables in memory (pandas, Polars, Arrow) go
through a DuckDB of our own by default. A DuckDB relation, a Spark or an
Ibis table, and a table of a database, stay in their own engine, which does the heavy work there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from evenhand._util.checks import first_repeated
from evenhand.auditing.layout import TIDY, FileLayout
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.sources.addresses import is_address, shown
from evenhand.auditing.sources.log_table import LogTable, ask, read_csv
from evenhand.auditing.sources.open_files import open_files
from evenhand.auditing.sources.own_duckdb import connect, forget_types_at_exit
from evenhand.auditing.sources.wide_tables import tidy
from evenhand.errors import BadParameter, DoubledColumn, argument


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
        from evenhand.auditing.sources.databases import open_database

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
    from evenhand.auditing.sources.spark_files import open_with_spark

    if layout.sheet is not None or layout.header_row is not None:
        given = argument("header_row" if layout.sheet is None else "sheet")
        raise BadParameter(f"{given} is not for Spark: leave {argument('engine')} out.")

    return open_with_spark(patterns, encoding)


_READERS = {"duckdb": open_files, "spark": _open_with_spark}
