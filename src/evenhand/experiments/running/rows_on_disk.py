"""Parts of a table that are kept as they are finished, so that what is stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evenhand._util.files import read_file, write_whole
from evenhand._util.saved_record import SavedRecord, parse_json, reading_saved

Row = dict[str, Any]
MAX_BYTES = 64 << 20
KIND = "result"


def kept_row(
    path: Path,
    settings: Mapping[str, Any],
    make: Callable[[], Row],
    use: Callable[[Row], Any] = lambda _: None,
) -> Row:
    """The row of a file, if it was made with the same settings; otherwise made now and written.

    Args:
        path: Where the row is kept.
        settings: What it depends on.
        make: Makes it.
        use: What is done with it later: a file of whose row that cannot be done is refused.
    """
    if path.exists():
        kept = dict(SavedRecord(read_kept(path), path).values)
        if kept.get("settings") == settings:
            with reading_saved(path, KIND):
                use(kept)
            return kept
    row = {"settings": dict(settings), **make()}
    write_kept(path, row)
    return row


def read_kept(path: Path) -> Any:
    """What a file holds; one that is damaged is refused."""
    return parse_json(read_file(path, MAX_BYTES, f"a {KIND}"), path, KIND)


def write_kept(path: Path, value: Any) -> None:
    """Write what was finished, in a folder that need not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(value, indent=2).encode())
