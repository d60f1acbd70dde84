"""What kind of file a log is that somebody sends, by what is in it: names are not to be trusted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from evenhand.errors import EvenhandError

XLS = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIPPED, OPEN_DOCUMENT = b"PK\x03\x04", b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"


def suffix_of(content: bytes) -> str:
    """How the name of a file with such content ends, so that an audit reads it for what it is.

    >>> suffix_of(b"name,date"), suffix_of(b"PAR1..."), suffix_of(b' {"name": "Ann"}')
    ('.csv', '.parquet', '.jsonl')
    """
    if content.startswith(ZIPPED):
        return ".ods" if OPEN_DOCUMENT in content[:200] else ".xlsx"
    if content.startswith(XLS):
        return ".xls"
    if content.startswith(b"PAR1"):
        return ".parquet"
    if content.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    return ".jsonl" if content.lstrip()[:1] == b"{" else ".csv"


@contextlib.contextmanager
def called(name: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors about a file of ours call it by a name, and not by a place that nobody else knows."""
    try:
        yield
    except EvenhandError as error:
        error.args = (str(error).replace(os.fspath(path), name), *error.args[1:])
        raise
