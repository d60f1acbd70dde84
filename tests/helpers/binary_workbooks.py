"""A workbook in Excel's binary format (.xlsb), which no library for Python writes."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
SHEET = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
# The records of [MS-XLSB] that a sheet of texts and numbers needs, by their numbers there.
ROW, NUMBER, TEXT = 0, 5, 6
BEGIN_SHEET, END_SHEET, BEGIN_BOOK, END_BOOK = 129, 130, 131, 132
BEGIN_SHEETS, END_SHEETS, BEGIN_ROWS, END_ROWS, SIZE, ONE_SHEET = 143, 144, 145, 146, 148, 156


def write_xlsb(path: Path, rows: list[list[str | float]]) -> str:
    """One sheet of texts and numbers."""
    sheet = _record(BEGIN_SHEET)
    sheet += _record(SIZE, struct.pack("<4I", 0, len(rows) - 1, 0, len(rows[0]) - 1))
    sheet += _record(BEGIN_ROWS)
    for place, row in enumerate(rows):
        sheet += _record(ROW, struct.pack("<I", place) + bytes(13))
        for column, cell in enumerate(row):
            at = struct.pack("<II", column, 0)
            if isinstance(cell, str):
                sheet += _record(TEXT, at + _text(cell))
            else:
                sheet += _record(NUMBER, at + struct.pack("<d", cell))
    sheet += _record(END_ROWS) + _record(END_SHEET)
    named = struct.pack("<II", 0, 1) + _text("rId1") + _text("Data")
    book = _record(BEGIN_BOOK) + _record(BEGIN_SHEETS) + _record(ONE_SHEET, named)
    book += _record(END_SHEETS) + _record(END_BOOK)
    link = f'<Relationship Id="rId1" Type="{SHEET}" Target="worksheets/sheet1.bin"/>'
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("xl/workbook.bin", book)
        packed.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{RELATIONS}">{link}</Relationships>',
        )
        packed.writestr("xl/worksheets/sheet1.bin", sheet)
    return str(path)


def _record(kind: int, data: bytes = b"") -> bytes:
    return _seven_bits(kind) + _seven_bits(len(data)) + data


def _seven_bits(number: int) -> bytes:
    """Seven bits in each byte, the eighth saying that more follow."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _seven_bits(high) if high else bytes([low])


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")
