"""Logs that were sent and not yet imported: kept for a while, so that nobody sends one twice."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

from evenhand.auditing.sources.csv_files import header_lines
from evenhand.auditing.sources.header_rows import find_header
from evenhand.errors import BadFile, BadParameter

LASTS = 3600.0  # seconds
MOST = 20  # logs at once; the oldest goes first
PREVIEW = 5  # rows
MARKS = {b"PK\x03\x04": "a workbook", b"PAR1": "a Parquet file", b"\x1f\x8b": "a packed file"}


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
        text, note = _as_text(content)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="evenhand-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        key = secrets.token_urlsafe(16)
        folder = self._folder / key
        folder.mkdir()
        path = folder / "log.csv"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            lines = header_lines(str(path))
            place = find_header(lines)
            columns = tuple(cell.strip() for cell in lines[place]) if lines else ()
            if not any(columns) or len(lines) < place + 2:
                raise BadFile(
                    f"{name!r} has no rows: choose a CSV file whose first row names the columns, "
                    "with a row for each time that somebody received something."
                )
        except BadFile:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        rows = tuple(tuple(row) for row in lines[place + 1 : place + 1 + PREVIEW])
        self._uploads[key] = Upload(path, actor, name, time.time(), columns, rows, place + 1, note)
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


def _as_text(content: bytes) -> tuple[str, str | None]:
    """The text of a file, which spreadsheets do not always write as UTF-8."""
    for mark, kind in MARKS.items():
        if content.startswith(mark):
            raise BadFile(f"this is {kind}: save it as CSV, and choose that file.")
    if not content.strip():
        raise BadFile("the file is empty: choose a CSV file with a row for each decision.")
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace"), None
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        note = "The file is not UTF-8, so it was read as Windows-1252: check names with accents."
        return content.decode("cp1252", "replace"), note
