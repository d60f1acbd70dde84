"""Logs in files: CSV, Parquet, JSON lines, workbooks, job logs, and globs of them."""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from typing import Any

import narwhals as nw

from evenhand._util.files import require_file
from evenhand.auditing.layout import TIDY, FileLayout
from evenhand.auditing.sources import csv_files
from evenhand.auditing.sources.dated_names import times_of
from evenhand.auditing.sources.encodings import copied_in_utf_8
from evenhand.auditing.sources.excel_files import WORKBOOK, read_workbook
from evenhand.auditing.sources.file_names import (
    CSV,
    PARQUET,
    found_files,
    kind_of_files,
    require_unicode,
)
from evenhand.auditing.sources.gzip_files import is_packed, require_gzip
from evenhand.auditing.sources.header_rows import table_of
from evenhand.auditing.sources.log_table import (
    LogTable,
    ask,
    literal_names,
    padded_copies,
    read_csv,
    with_file_times,
)
from evenhand.auditing.sources.own_duckdb import connect
from evenhand.auditing.sources.temporary_copies import DIALECT, tidy_copy
from evenhand.auditing.sources.workload_files import read_workload
from evenhand.auditing.workload_columns import WORKLOAD
from evenhand.errors import BadFile, BadLog


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
        quoting = ask(table, lambda: csv_files.quoting(connection, glob.escape(paths[0])))
        table = replace(table, quoting=quoting)
        try:
            relation = ask(table, lambda: read_csv(table))
            csv_files.refuse_wide_column(label, paths, relation.columns)
        except csv_files.ShortLines as short:
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
            found = table_of(csv_files.all_rows(path), layout, path)
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
