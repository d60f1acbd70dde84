"""A DuckDB of our own, in memory, that reads files and tables.

To make one takes longer than to judge a small log, so that the connections of a process share it;
whoever needs other settings, such as no access to files, has one of its own.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from typing import TYPE_CHECKING, Any

import narwhals as nw

if TYPE_CHECKING:
    import duckdb


# It fetches nothing from elsewhere, and looks into a file again that has changed since.
SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_file_cache": False,
    "allocator_background_threads": True,  # memory that is no longer used is given back
}


def connect(**settings: Any) -> duckdb.DuckDBPyConnection:
    """A connection to a DuckDB of our own, with settings of its own if there are any."""
    import duckdb

    forget_types_at_exit()
    if settings:
        connection = duckdb.connect(config={**SETTINGS, **settings})
    else:
        connection = _shared(os.getpid()).cursor()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


@functools.cache
def _shared(process: int) -> duckdb.DuckDBPyConnection:
    """The database of this process: one that was forked does not inherit its threads."""
    import duckdb

    connection = duckdb.connect(config=SETTINGS)
    atexit.register(connection.close)
    return connection


def materialized(frame: Any) -> Any:
    """The rows of a frame, worked out now and kept in memory."""
    return nw.from_native(frame.to_native().materialize())


@functools.cache
def forget_types_at_exit() -> None:
    """Empty narwhals' caches before Python ends: DuckDB's objects in them would complain then."""

    def forget() -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith("narwhals."):
                for value in list(vars(module).values()):
                    getattr(value, "cache_clear", int)()

    atexit.register(forget)
