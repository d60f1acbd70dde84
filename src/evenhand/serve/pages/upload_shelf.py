"""Logs that were sent and not yet imported: kept for a while, so that nobody sends one twice."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evenhand.errors import BadFile, BadParameter, EvenhandError
from evenhand.log.engines import fetch
from evenhand.log.files import opened
from evenhand.log.text_files import header_lines
from evenhand.log.workbooks import find_header
from evenhand.serve.pools.log_kinds import suffix_of

LASTS = 3600.0  # seconds
MOST = 20  # logs at once; the oldest goes first
PREVIEW = 5  # rows


@dataclass(frozen=True)
class Upload:
    """A log that somebody sent.

    Args:
        path: Where it is.
        actor: Who sent it; nobody else can import it.
        name: What its file was called.
        sent: When.
        columns: The names of its columns.
        rows: Its first rows.
        header_row: The row of the names, from 1.
        note: What had to be done to read it, if anything.
    """

    path: Path
    actor: str
    name: str
    sent: float
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    header_row: int
    note: str | None = None


class UploadShelf:
    """Where these logs are; they are gone with the process at the latest."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._uploads: dict[str, Upload] = {}

    def put(self, content: bytes, name: str, actor: str) -> str:
        """Keep a log: the key by which it is found."""
        self._forget_old()
        if not content.strip():
            raise BadFile("the file is empty: choose one with a row for each decision.")
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="evenhand-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        key = secrets.token_urlsafe(16)
        folder = self._folder / key
        folder.mkdir()
        path = folder / f"log{suffix_of(content)}"
        try:
            read = _text_rows if path.suffix == ".csv" else _table_rows
            first = read(path, content)
            if not any(first.columns) or not first.rows:
                raise BadFile(
                    f"{name!r} has no rows: choose a file whose first row names the columns, with "
                    "a row for each time that somebody received something."
                )
        except EvenhandError as error:
            shutil.rmtree(folder, ignore_errors=True)
            error.args = (str(error).replace(str(path), name), *error.args[1:])
            raise
        self._uploads[key] = Upload(path, actor, name, time.time(), *first)
        return key

    def get(self, key: str, actor: str) -> Upload:
        """A log that somebody sent before."""
        self._forget_old()
        found = self._uploads.get(key)
        if found is None or found.actor != actor:
            raise BadParameter("this file is not kept any more: choose it again.")
        return found

    def drop(self, key: str) -> None:
        upload = self._uploads.pop(key, None)
        if upload is not None:
            shutil.rmtree(upload.path.parent, ignore_errors=True)

    def _forget_old(self) -> None:
        now = time.time()
        for key, upload in list(self._uploads.items()):
            if now - upload.sent > LASTS or len(self._uploads) >= MOST:
                self.drop(key)


class _FirstRows(NamedTuple):
    """How a file begins (see `Upload`)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    header_row: int = 1
    note: str | None = None


def _text_rows(path: Path, content: bytes) -> _FirstRows:
    """How a text file begins, once it is kept as UTF-8."""
    text, note = _as_text(content)
    path.write_text(text, encoding="utf-8", newline="")
    lines = header_lines(str(path))
    place = find_header(lines)
    columns = tuple(cell.strip() for cell in lines[place]) if lines else ()
    rows = tuple(tuple(row) for row in lines[place + 1 : place + 1 + PREVIEW])
    return _FirstRows(columns, rows, place + 1, note)


def _table_rows(path: Path, content: bytes) -> _FirstRows:
    """How a workbook, a Parquet file or any other that an audit reads begins."""
    path.write_bytes(content)
    with opened(str(path)) as table:
        columns = table.columns
        found = fetch(table.load(columns, as_text=columns).frame.select(*columns).head(PREVIEW))
        cells = [["" if one is None else str(one) for one in found[name]] for name in columns]
        note = " ".join(table.notes) or None
    return _FirstRows(columns, tuple(zip(*cells, strict=True)), note=note)


def _as_text(content: bytes) -> tuple[str, str | None]:
    """The text of a file, which spreadsheets do not always write as UTF-8."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace"), None
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        note = "The file is not UTF-8, so it was read as Windows-1252: check names with accents."
        return content.decode("cp1252", "replace"), note
