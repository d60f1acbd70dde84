"""Excel and OpenDocument workbooks: their sheets, and where the header row is."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand._util.files import in_bytes, open_file
from evenhand._util.wording import join_names, nearest, pluralise
from evenhand.errors import BadFile, BadLog, BadParameter, MissingExtra, argument
from evenhand.log.layout import FileLayout
from evenhand.log.text_files import ALWAYS_FINE, CHUNK, MOST_TIMES, new_folder

# Where a table begins and ends on a sheet: titles above its header, remarks below its rows.

SEARCHED_ROWS = 60  # among the first of these is the header
MOSTLY = 0.6  # of the width of the table that a header fills
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,' ]*(?:e[+-]?[0-9]+)?%?", re.I)
_YEAR = re.compile(r"[12][0-9]{3}")

Row = Sequence[str]


@dataclass(frozen=True)
class TableRows:
    """The names of columns and the rows of a table, and what was left out around them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def table_of(rows: Sequence[Row], layout: FileLayout, label: str) -> TableRows:
    """The table among the rows of a sheet.

    Args:
        rows: All rows, empty ones too, so that they can be counted.
        layout: What the user says of it.
        label: What the sheet is called.
    """
    if layout.header_row is None:
        first = last = find_header(rows, layout.named)
    else:
        first, last = (row - 1 for row in layout.header_rows)
        if last >= len(rows) or not _filled(rows[last]):
            raise BadLog(
                f"{label} has nothing in row {last + 1:,}, which {argument('header_row')} says "
                "holds the names of the columns: give the row in which they stand."
            )
    names = _joined(rows[first : last + 1])
    body = [row for row in rows[last + 1 :] if _filled(row)]
    end = len(body)
    several = sum(1 for name in names if name) > 1
    while several and end and _filled(body[end - 1]) < 2:  # sources and footnotes below
        end -= 1
    notes = []
    if end < len(body):
        text = next(cell for cell in body[end] if cell.strip()).strip()
        notes.append(
            f"{pluralise(len(body) - end, 'row')} below the table of {label} "
            f"{'was' if len(body) - end == 1 else 'were'} left out ({text[:60]!r})."
        )
    if first and layout.header_row is None and sum(map(_filled, rows[:first])):
        notes.append(
            f"The names of the columns of {label} were taken from row {first + 1:,}: say otherwise "
            f"with {argument('header_row')}."
        )
    kept = [k for k, name in enumerate(names) if name or any(_cell(row, k) for row in body[:end])]
    header = tuple(names[k] or f"column {k + 1}" for k in kept)
    return TableRows(
        header, tuple(tuple(_cell(row, k) for k in kept) for row in body[:end]), tuple(notes)
    )


def find_header(rows: Sequence[Row], named: Sequence[str] = ()) -> int:
    """The row with the names of the columns: the one with all that are named, or the likeliest."""
    some = list(rows[:SEARCHED_ROWS])
    wanted = {name.strip() for name in named}
    for place, row in enumerate(some):
        if wanted and wanted <= {cell.strip() for cell in row}:
            return place
    width = max(map(_filled, some), default=0)
    for place, row in enumerate(some):
        if _filled(row) >= max(min(2, width), MOSTLY * width) and _names(row):
            return place
    return next((place for place, row in enumerate(some) if _filled(row)), 0)


def is_table(rows: Sequence[Row]) -> bool:
    """Whether rows look like a table with numbers, and not like a cover or remarks."""
    begin = find_header(rows)
    below = [row for row in rows[begin + 1 : begin + 1 + SEARCHED_ROWS] if _filled(row) > 1]
    numbers = any(_NUMBER.fullmatch(cell.strip()) for row in below for cell in row)
    return bool(below) and numbers


def _names(row: Row) -> bool:
    """Whether cells can be the names of columns: most are not numbers, years aside, and differ."""
    cells = [cell.strip() for cell in row if cell.strip()]
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell) and not _YEAR.fullmatch(cell)]
    most = Counter(cells).most_common(1)[0][1]
    return len(numbers) <= len(cells) / 4 and most <= max(1, len(cells) // 2)


def _joined(rows: Sequence[Row]) -> list[str]:
    """The names of columns, of several rows joined, such as 2023 above Q1."""
    width = max(map(len, rows))
    return [
        " ".join(dict.fromkeys(text for row in rows if (text := _cell(row, k))))
        for k in range(width)
    ]


def _cell(row: Row, place: int) -> str:
    return row[place].strip() if place < len(row) else ""


def _filled(row: Row) -> int:
    return sum(1 for cell in row if cell.strip())


def cells(table: TableRows) -> Iterator[tuple[str, ...]]:
    """Header and rows, as they are written."""
    yield table.header
    yield from table.rows


# Workbooks of Excel and LibreOffice: one sheet of them, as a table of text.
#
# A workbook is data: formulas are not worked out (the value they had when it was saved is read),
# and it is unpacked and read within limits, in a process of its own.

WORKBOOK = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
MOST_BYTES = 4 << 30  # of memory that reading may take
MOST_SECONDS = 120
CHILD = Path(__file__).with_name("excel_child.py")


def is_workbook(source: Any) -> bool:
    """Whether a log is the file of a workbook, by its name."""
    return isinstance(source, str | Path) and str(source).lower().endswith(WORKBOOK)


def read_workbook(path: str, layout: FileLayout) -> tuple[TableRows, str]:
    """The table of a workbook, and what to call it."""
    _require_sane(path)
    folder = new_folder()
    found = _asked(path, layout.sheet, str(folder))
    sheets = [one for one in found["sheets"] if one["rows"]]
    if layout.sheet is not None:
        _require_sheet(path, layout.sheet, found["sheets"], found["names"])
    if not sheets:
        raise BadLog(f"{path} is empty: no sheet that is shown has anything in it.")
    sheet = _chosen(path, sheets, layout)
    label = f"{path} (sheet {sheet['name']!r})" if len(found["names"]) > 1 else path
    return table_of(_rows(sheet["path"]), layout, label), label


def _rows(path: str, most: int | None = None) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        csv.field_size_limit(1 << 24)
        return [row for _, row in zip(range(most), rows, strict=False)] if most else list(rows)


def _chosen(path: str, sheets: Sequence[dict], layout: FileLayout) -> dict:
    """The only sheet, the only one with the columns named, or the only one with a table."""
    if len(sheets) == 1:
        return sheets[0]
    begins = {one["name"]: _rows(one["path"], SEARCHED_ROWS) for one in sheets}
    wanted = {name.strip() for name in layout.named}
    fitting = [
        one
        for one in sheets
        if wanted and any(wanted <= {c.strip() for c in row} for row in begins[one["name"]])
    ]
    tables = fitting or [one for one in sheets if is_table(begins[one["name"]])]
    if len(tables) == 1:
        return tables[0]
    names = [repr(one["name"]) for one in tables or sheets]
    how = "save the one that is meant as a file of its own."
    if layout.can_name_sheet:
        how = f"say which, such as with {argument('sheet', (tables or sheets)[0]['name'])}."
    raise BadParameter(
        f"{path} has {len(names)} sheets that may be meant ({join_names(names, 4)}): {how}"
    )


def _require_sheet(
    path: str, sheet: str | int, found: Sequence[dict], names: Sequence[str]
) -> None:
    if found:
        return
    near = nearest(str(sheet), names)
    hint = f"it has {join_names([repr(name) for name in names], 6)}."
    raise BadParameter(
        f"{path} has no sheet {sheet!r} ({argument('sheet')}): "
        + (hint if near is None else f"did you mean {near!r}?")
    )


def _asked(path: str, sheet: str | int | None, folder: str) -> dict:
    """What the process that reads it answers."""
    asked = {
        "path": path,
        "sheet": sheet,
        "folder": folder,
        "bytes": MOST_BYTES,
        "seconds": MOST_SECONDS,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(CHILD), json.dumps(asked)],
            capture_output=True,
            timeout=3 * MOST_SECONDS,
            check=False,
        )
        found = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        found = {"error": "large"}  # it was ended, or ran out of memory in the middle
    error = found.get("error")
    if error is None:
        return found
    if error == "password":
        raise BadFile(f"{path} is protected by a password: save a copy without one.")
    if error == "large":
        raise BadFile(
            f"{path} is damaged, or takes more than {in_bytes(MOST_BYTES)} or {MOST_SECONDS} "
            "seconds to read: save the sheet as CSV."
        )
    if "python_calamine" in found["reason"]:
        raise MissingExtra(
            f"{path} is a workbook, which needs python-calamine: pip install python-calamine."
        )
    raise BadFile(
        f"{path} is not a workbook that can be read, or is damaged: save it again, or save the "
        "sheet as CSV."
    )


def _require_sane(path: str) -> None:
    """Refuse a packed workbook that grows beyond all measure; a chunk is held at a time."""
    with open_file(path) as file:
        if not zipfile.is_zipfile(file):
            return  # a workbook of the old kind is not packed, and anything else is refused later
        file.seek(0, 2)
        size, unpacked = file.tell(), 0
        most = max(ALWAYS_FINE, MOST_TIMES * size)
        try:
            with zipfile.ZipFile(file) as packed:
                for part in packed.infolist():
                    with packed.open(part) as stream:
                        while chunk := stream.read(CHUNK):
                            unpacked += len(chunk)
                            if unpacked > most:
                                raise BadFile(
                                    f"{path} has {in_bytes(size)} and unpacks to more than "
                                    f"{in_bytes(most)}: if you trust it, save the sheet as CSV."
                                )
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OSError,
        ):
            raise BadFile(
                f"{path} is damaged, or protected by a password: save it again."
            ) from None
