"""A DuckDB of our own, in memory, that reads files and tables."""

from __future__ import annotations

import atexit
import functools
import sys
from typing import TYPE_CHECKING, Any

import narwhals as nw

if TYPE_CHECKING:
    import duckdb


def connect(**settings: Any) -> duckdb.DuckDBPyConnection:
    """A DuckDB of our own, in memory; it fetches nothing from elsewhere."""
    import duckdb

    forget_types_at_exit()
    extensions: Any = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    connection = duckdb.connect(config={**extensions, **settings})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def materialized(frame: Any) -> Any:
    return nw.from_native(frame.to_native().materialize())


@functools.cache
def forget_types_at_exit() -> None:
    # narwhals caches objects of DuckDB's, which complain on standard error when Python ends.
    def forget() -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith("narwhals."):
                for value in list(vars(module).values()):
                    getattr(value, "cache_clear", int)()

    atexit.register(forget)
