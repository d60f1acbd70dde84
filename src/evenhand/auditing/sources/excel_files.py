"""Workbooks of Excel and LibreOffice: one sheet of them, as a table of text.

A workbook is data: formulas are not worked out (the value they had when it was saved is read), and
it is unpacked and read within limits, in a process of its own.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand._util.files import in_bytes, open_file
from evenhand._util.wording import join_names, nearest
from evenhand.auditing.layout import FileLayout
from evenhand.auditing.sources.gzip_files import ALWAYS_FINE, CHUNK, MOST_TIMES
from evenhand.auditing.sources.header_rows import SEARCHED_ROWS, TableRows, is_table, table_of
from evenhand.auditing.sources.temporary_copies import new_folder
from evenhand.errors import BadFile, BadLog, BadParameter, MissingExtra, argument

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
