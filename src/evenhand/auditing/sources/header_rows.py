"""Where a table begins and ends on a sheet: titles above its header, remarks below its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evenhand._util.wording import pluralise
from evenhand.auditing.layout import FileLayout
from evenhand.errors import BadLog, argument

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
