"""Where `evenhand audit` reads and writes: which tables, and that nothing is written over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def tables_of(logs: Sequence[str], given: list[str]) -> list[str | None]:
    """The table of each log that is in a database: one for all of them, or one each."""
    from evenhand.auditing.sources.addresses import is_address

    stored = [is_address(log) for log in logs]
    if not any(stored):
        return [*given, None, None][: len(logs)]  # refused where the log is opened
    rest = iter(given * sum(stored) if len(given) == 1 else given)
    return [next(rest, None) if inside else None for inside in stored]


def require_places(
    logs: list[str], files: Iterable[Any], csv: Path | None, out: list[Path]
) -> None:
    """Refuse to write over what is read, and where nothing can be written."""
    from evenhand._util.files import require_apart, require_folder, require_place
    from evenhand.auditing.sources.addresses import FILES, is_address, read_address
    from evenhand.auditing.sources.file_names import matching_files
    from evenhand.report.csv_export import SHEETS
    from evenhand.report.formats import format_of

    read = [str(file) for file in files if file is not None]
    for log in logs:
        if is_address(log):
            address = read_address(log)
            read += [address.database] if address.scheme in FILES else []
        else:
            read += [log, *matching_files(log)]
    folders = () if csv is None else (csv, csv / "first", csv / "second")
    require_apart((*out, *(folder / name for folder in folders for name in SHEETS)), read)
    for path in out:
        require_place(path, "out")
        format_of(path)
    if csv is not None:
        require_folder(csv, "csv")
