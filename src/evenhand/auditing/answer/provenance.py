"""How an answer came about: what was read, with digests that others can check."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from evenhand import __version__
from evenhand.auditing.reading.history import History
from evenhand.auditing.sources.open_source import LogTable

HASHED_BYTES = 256 * 1024 * 1024  # files larger than this are known by their size alone


def origin(table: LogTable, history: History) -> dict[str, Any]:
    """Version, files with size and sha256, and a digest of the history that was judged."""
    return {
        "version": __version__,
        "files": [_file(path) for path in table.sources],
        "rows": history.rows,
        "events": history.events,
        "time_points": len(history.slots) if history.exact else None,
        "fingerprint": history.fingerprint(),
    }


def _file(path: str) -> dict[str, Any]:
    size = os.path.getsize(path)
    digest = None
    if size <= HASHED_BYTES:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path, "bytes": size, "sha256": digest}
