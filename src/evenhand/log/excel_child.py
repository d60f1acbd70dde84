"""Reads a workbook in a process of its own, so that none can take this one down with it.

Run as a script, with what is asked as JSON: it writes each sheet as CSV and says as JSON what it
found. It knows nothing of the rest of the package.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import json
import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree

COMMA_NUMBER = re.compile(r"\s*[^\w]*\d[\d.' \u00a0\u202f]*,\d+.*")
ERROR_CELL = re.compile(  # in the XML of a sheet, with its place and what it shows
    rb'<(?:\w+:)?c\b(?=[^>]*\bt="e")[^>]*\br="([A-Z]{1,3})([0-9]{1,7})"[^>]*(?<!/)>'
    rb"(?:(?!</(?:\w+:)?c>).)*?<(?:\w+:)?v>([^<]*)<",
    re.S,
)
THREE_DIGITS = re.compile(r"-?[0-9]{1,3}\.[0-9]{3}")


def main() -> None:
    """Read what the first argument asks for, and print it as one JSON object."""
    asked = json.loads(sys.argv[1])
    _limit(asked["bytes"], asked["seconds"])
    try:
        found = _read(asked)
    except MemoryError:
        found = {"error": "large"}
    except BaseException as error:  # a panic of the reader is not an Exception
        kind = type(error).__name__
        found = {"error": "password" if "Password" in kind else "damaged", "reason": str(error)}
    print(json.dumps(found))


def _limit(most_bytes: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # on Windows, where the one who asks waits no longer than so
        return
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    workbook = CalamineWorkbook.from_path(asked["path"])
    sheets = [one for one in workbook.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    names = [one.name for one in sheets]
    wanted = asked["sheet"]
    if wanted is None:
        chosen = [one.name for one in sheets if one.visible == SheetVisibleEnum.Visible]
    elif isinstance(wanted, int):
        chosen = names[wanted - 1 : wanted] if wanted > 0 else []
    else:
        plain = wanted.strip().casefold()
        chosen = [name for name in names if name.strip().casefold() == plain]
    found = []
    for number, name in enumerate(chosen):
        path = f"{asked['folder']}/{number}.csv"
        errors = _error_cells(asked["path"], name)
        width, height = _written(workbook.get_sheet_by_name(name), errors, path)
        found.append({"name": name, "path": path, "rows": height, "columns": width})
    return {"sheets": found, "names": names}


def _written(sheet: Any, errors: Sequence[tuple[int, int, str]], path: str) -> tuple[int, int]:
    """A sheet as CSV, every row where it stands; its width and height."""
    rows = sheet.to_python(skip_empty_area=False)
    _put_errors(rows, errors)
    _fill_merged(rows, getattr(sheet, "merged_cell_ranges", None) or [])
    number = _number_in(rows)
    with open(path, "w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.writer(file)
        for row in rows:
            writer.writerow([_text(cell, number) for cell in row])
    return max(map(len, rows), default=0), len(rows)


def _error_cells(path: str, name: str) -> list[tuple[int, int, str]]:
    """The errors on a sheet of a packed workbook, as (row, column, such as #N/A)."""
    try:
        with zipfile.ZipFile(path) as packed:
            book = ElementTree.fromstring(packed.read("xl/workbook.xml"))
            links = ElementTree.fromstring(packed.read("xl/_rels/workbook.xml.rels"))
            sheet = next(one for one in book.iter() if one.get("name") == name and _link(one))
            target = next(one.get("Target", "") for one in links if one.get("Id") == _link(sheet))
            part = target[1:] if target.startswith("/") else f"xl/{target}"
            found = ERROR_CELL.findall(packed.read(part))
    except (zipfile.BadZipFile, KeyError, StopIteration, ElementTree.ParseError):
        return []  # not a workbook of this kind
    return [(int(row) - 1, _column(letters), text.decode()) for letters, row, text in found]


def _link(sheet: ElementTree.Element) -> str | None:
    return next((text for key, text in sheet.attrib.items() if key.endswith("}id")), None)


def _column(letters: bytes) -> int:
    """The place of a column from 0: A is 0, Z 25, AA 26."""
    place = 0
    for letter in letters:
        place = 26 * place + letter - ord("A") + 1
    return place - 1


def _put_errors(rows: list[list[Any]], errors: Sequence[tuple[int, int, str]]) -> None:
    """Errors among numbers, which the reader leaves empty: a number that is not known.

    Among names and dates they stay empty, so that #N/A is nobody's name.
    """
    numbers = (
        {k for row in rows for k, cell in enumerate(row) if isinstance(cell, float | int)}
        if errors
        else set()
    )
    for row, column, text in errors:
        if column in numbers and row < len(rows) and rows[row][column] == "":
            rows[row][column] = text


def _fill_merged(rows: list[list[Any]], ranges: Sequence[Any]) -> None:
    """What stands in a merged cell holds for all that it covers."""
    for (top, left), (bottom, right) in ranges:
        if top >= len(rows) or left >= len(rows[top]):
            continue
        value = rows[top][left]
        for row in rows[top : bottom + 1]:
            for k in range(left, min(right + 1, len(row))):
                row[k] = value


def _number_in(rows: Sequence[Sequence[Any]]) -> Callable[[float], str]:
    """How numbers are written that are numbers: as plainly as the texts of the sheet allow.

    Beside texts with decimal commas a point would be taken for one that separates thousands.
    """
    commas = any(
        isinstance(cell, str) and COMMA_NUMBER.fullmatch(cell) for row in rows for cell in row
    )
    return _with_exponent if commas else _plainly


def _plainly(number: float) -> str:
    text = repr(number)
    return f"{text}0" if THREE_DIGITS.fullmatch(text) else text


def _with_exponent(number: float) -> str:
    sign, digits, exponent = decimal.Decimal(repr(number)).as_tuple()
    return f"{'-' if sign else ''}{''.join(map(str, digits))}e{exponent}"


def _text(cell: Any, number: Callable[[float], str]) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        whole = cell == cell and abs(cell) < 1e15 and cell == int(cell)
        return str(int(cell)) if whole else number(cell)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ")
    if isinstance(cell, datetime.timedelta):
        return str(cell.total_seconds())
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)


if __name__ == "__main__":
    main()
