"""Which files a name or a pattern means, and how they are written, by the ends of their names."""

from __future__ import annotations

import glob
import os

from evenhand.auditing.sources.addresses import shown
from evenhand.auditing.sources.excel_files import WORKBOOK
from evenhand.auditing.workload_columns import WORKLOAD
from evenhand.errors import BadFile

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
JSON = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
PARQUET = (".parquet", ".pq")

MAX_PATTERN = 4096  # characters of a path, on every system that we know


def found_files(patterns: list[str]) -> tuple[list[str], str]:
    """The files that patterns name, of which there must be some, and what to call them."""
    paths = []
    for pattern in patterns:
        found = matching_files(pattern)
        if not found:
            raise BadFile(f"there is no file {shown(pattern)!r}: check the name and the folder.")
        paths += found
    more = f" and {len(patterns) - 1} more" if len(patterns) > 1 else ""
    return paths, shown(patterns[0]) + more


def matching_files(pattern: str) -> list[str]:
    """The files of a name or of a glob; a name that no system has is not searched for."""
    if os.path.exists(pattern):
        return [pattern]
    if len(pattern) > MAX_PATTERN:
        raise BadFile(
            f"the log's name has {len(pattern):,} characters, and no file has more than "
            f"{MAX_PATTERN:,}: check what was put in its place."
        )
    return sorted(glob.glob(pattern, recursive=True))


def kind_of_files(paths: list[str], label: str) -> tuple[str, ...]:
    """How all of the files are written (CSV, JSON or PARQUET), by the ends of their names."""
    known = (CSV, JSON, PARQUET, WORKBOOK, WORKLOAD)
    kinds = {kind for path in paths for kind in known if path.lower().endswith(kind)}
    if len(kinds) != 1 or not all(path.lower().endswith(next(iter(kinds))) for path in paths):
        raise BadFile(
            f"{label} is not a log we know by its name: use files that all end in .csv, .tsv, "
            ".parquet, .jsonl, .ndjson, .json, .xlsx, .xls, .ods or .swf."
        )
    return next(iter(kinds))


def require_unicode(path: str) -> None:
    """Refuse a name that was written in another encoding, which the engine cannot be told."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise BadFile(
            f"the name of the file {path!r} is not valid Unicode: rename the file."
        ) from None
