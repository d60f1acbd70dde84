"""Database files, opened as what a stranger may have made: they are data and reach nothing else.

A view is a program of whoever made the file. It may read the tables beside it, but no other file,
no network and no extension; and functions that we call are never those that the file defines.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from evenhand._util.files import open_file
from evenhand.auditing.sources import view_limits
from evenhand.auditing.sources.addresses import Address
from evenhand.auditing.sources.engines.duckdb import literal
from evenhand.auditing.sources.own_duckdb import connect
from evenhand.errors import BadFile

if TYPE_CHECKING:
    import duckdb

# Where in a file the sign stands by which each kind is known.
SIGNS = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
KINDS = {"sqlite": "an SQLite file", "duckdb": "a DuckDB file"}
BEGINNING = 16  # bytes, in which all the signs stand
LONGEST_VALUE = 1 << 26  # bytes of a text that SQLite may make or hand over

STRANGER = "log"  # what a DuckDB file is called beside our own database


def require_kind(address: Address) -> None:
    """Refuse what is not a file of the kind that the address says, by how such files begin."""
    try:
        with open_file(address.database) as file:
            begins = file.read(BEGINNING)
    except BadFile as error:
        raise BadFile(
            f"{str(error).rstrip('.')}; in an address three slashes come before a path, and a "
            f"fourth where it begins with one ({address.scheme}:////folder/file)."
        ) from None
    kinds = [kind for kind, (where, sign) in SIGNS.items() if begins[where:].startswith(sign)]
    if address.scheme in kinds or (address.scheme == "sqlite" and not begins):
        return  # to SQLite, an empty file is a database without tables
    fix = f"a log in a file of its own is named without {address.scheme}:///"
    if kinds:
        fix = f"its address begins with {kinds[0]}:///, as {kinds[0]}:///{address.database}"
    raise BadFile(f"{address.database} is not {KINDS[address.scheme]}: {fix}.")


def connect_to_duckdb(address: Address) -> duckdb.DuckDBPyConnection:
    """The file beside an empty database of our own, in which our queries run."""
    require_kind(address)
    connection = connect(
        python_enable_replacements=False,  # a view could else name variables of this program
        allow_community_extensions=False,
        allow_persistent_secrets=False,
    )
    connection.execute(f"ATTACH {literal(address.database)} AS {STRANGER} (READ_ONLY)")
    # Its views may name its tables without a schema, but built-in functions come first: a macro
    # called as one of them is not found.
    connection.execute(f"SET search_path = 'system.main,{STRANGER}.main'")
    connection.execute("SET enable_external_access = false")
    return connection


def lock(connection: duckdb.DuckDBPyConnection, view: bool) -> None:
    """From here on nothing can be unlocked; a view has bounds, and no disk to spill to."""
    if view:
        (usual,) = connection.execute(
            "SELECT parse_formatted_bytes(current_setting('memory_limit'))"
        ).fetchall()[0]
        connection.execute(f"SET memory_limit = '{min(int(usual), view_limits.MEMORY) >> 10} KiB'")
        connection.execute("SET max_temp_directory_size = '0 KiB'")
    connection.execute("SET lock_configuration = true")


def connect_to_sqlite(address: Address) -> sqlite3.Connection:
    """The file to be read alone."""
    require_kind(address)
    place = f"file:{quote(str(Path(address.database).absolute()))}?mode=ro"
    connection: Any = sqlite3.connect(place, uri=True, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    # Views may call what SQLite itself calls harmless, and none of the functions we add.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")  # a file cut short meanwhile would end the process
    return connection
