"""Rows of a table that are kept as they are finished, so that what is stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand._util.files import write_whole

Row = dict[str, Any]


def kept_row(path: Path, settings: Row, make: Callable[[], Row]) -> Row:
    """The row of a file, if it was made with the same settings; otherwise made now and written.

    Args:
        path: Where the row is kept.
        settings: What it depends on.
        make: Makes it.
    """
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept.get("settings") == settings:
            return kept
    row = {"settings": settings, **make()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(row, indent=2).encode())
    return row
