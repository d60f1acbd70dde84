"""Logs in databases and database files, read without running what a stranger put there."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import narwhals as nw

from evenhand._util.files import open_file
from evenhand._util.wording import nearest
from evenhand.errors import BadFile, BadLog, BadParameter, CannotConnect, MissingExtra, argument
from evenhand.log import layout
from evenhand.log.engines import literal, quoted, reason_of
from evenhand.log.files import LogTable
from evenhand.log.layout import Address, read_address
from evenhand.log.text_files import connect

if TYPE_CHECKING:
    import duckdb


# Database files, opened as what a stranger may have made: they are data and reach nothing else.
#
# A view is a program of whoever made the file. It may read the tables beside it, but no other file,
# no network and no extension; and functions that we call are never those that the file defines.

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
        connection.execute(f"SET memory_limit = '{min(int(usual), layout.MEMORY) >> 10} KiB'")
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


# A table of a database, read where it stands: Postgres, DuckDB and SQLite.
#
# Nothing is written there, so a user who may only read suffices. All queries of an audit see one
# state of the table.

# Tables, views, materialized views, foreign and partitioned tables of Postgres.
TABLES = """
SELECT nspname, relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace
ON relnamespace = pg_namespace.oid
WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND nspname <> 'information_schema'
AND nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(pg_namespace.oid, 'USAGE')
ORDER BY nspname, relname
"""
SQLITE_TABLES = """
SELECT name FROM sqlite_master
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
"""
PATIENCE = "10"  # seconds to wait for a server's answer; an address may say otherwise


def open_database(text: str, table: str | None) -> LogTable:
    """A table of the database at an address."""
    address = read_address(text)
    connect, find = _KINDS[address.scheme]
    connection = connect(address)
    try:
        return find(connection, address, table)
    except BaseException:
        connection.close()
        raise


def _connect_to_duckdb(address: Address) -> Any:
    import duckdb

    try:
        return connect_to_duckdb(address)
    except duckdb.Error as error:
        raise BadFile(f"{address} cannot be opened: {reason_of(error)}.") from None


def _find_in_duckdb(connection: Any, address: Address, table: str | None) -> LogTable:
    import duckdb

    listed = connection.execute(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables "
        "WHERE table_catalog = ? ORDER BY ALL",
        [STRANGER],
    ).fetchall()
    kinds = {(schema, name): kind for schema, name, kind in listed}
    schema, name = _chosen(address, table, list(kinds), "main")
    label, is_view = f"{name} in {address}", kinds[schema, name] == "VIEW"
    lock(connection, is_view)
    place = ".".join(map(quoted, (STRANGER, schema, name)))
    try:
        relation = connection.table(place)
    except duckdb.Error as error:  # a view of what is not there, or of what is out of its reach
        raise BadLog(f"{label} cannot be read: {reason_of(error)}.") from None
    frame: Any = nw.from_native(relation)
    return LogTable(
        label,
        tuple(relation.columns),
        frame,
        connection=connection,
        sources=(address.database,),
        close=connection.close,
        is_view=is_view,
    )


def _connect_to_sqlite(address: Address) -> Any:
    _ibis()
    try:
        return connect_to_sqlite(address)
    except sqlite3.Error as error:
        raise BadFile(f"{address} cannot be opened: {error}.") from None


def _find_in_sqlite(connection: Any, address: Address, table: str | None) -> LogTable:
    ibis = _ibis()
    from evenhand.log.ibis_engine import SQLite

    try:
        backend = ibis.sqlite.from_connection(connection)
        # Ibis would have SQLite look into every view, also into those that nobody asks for.
        listed = [("main", str(name)) for (name,) in connection.execute(SQLITE_TABLES)]
    except sqlite3.Error as error:
        raise BadFile(f"{address} cannot be opened: {error}.") from None
    _, name = _chosen(address, table, listed, "main")
    with SQLite().plainly(f"{name} in {address}"):
        SQLite.bound_if_view(backend, name)
        found = backend.table(name)
        connection.execute("BEGIN")  # until the end, others' changes are not seen
    return _as_table(found, backend, name, address, (address.database,))


def _find_in_postgres(connection: Any, address: Address, table: str | None) -> LogTable:
    ibis = _ibis()
    from evenhand.log.ibis_engine import Postgres

    with Postgres().plainly(str(address)):
        backend = ibis.postgres.from_connection(connection)
        connection.execute("SELECT 1")  # begins the one transaction in which everything is read
        listed = connection.execute(TABLES).fetchall()
        schema, name = _chosen(address, table, listed, backend.current_database)
        # Ibis would take a schema's name apart at its dots and quotes; so it is set beforehand.
        connection.execute("SELECT set_config('search_path', quote_ident(%s), false)", (schema,))
        return _as_table(backend.table(name), backend, name, address)


def _connect_to_postgres(address: Address) -> Any:
    _ibis()
    psycopg = _psycopg()
    said = {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "password": address.password,
        "dbname": address.database,
    }
    settings = {"connect_timeout": PATIENCE, **dict(address.options)}
    settings |= {name: value for name, value in said.items() if value}
    try:
        connection: Any = psycopg.connect(**settings)
    except psycopg.Error as error:
        raise CannotConnect(_why_not(address, str(error))) from None
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    return connection


def _why_not(address: Address, message: str) -> str:
    """What to fix, from what the server or the network said."""
    if "password" in message or "authentication" in message:
        return (
            f"{address} does not let us in: check the user and the password, which may stand in "
            "PGPASSWORD or ~/.pgpass."
        )
    if re.search(r'database ".*" does not exist', message):
        return f"there is no database {address.database!r} at {address}: check its name."
    reasons = {
        "refused": "nothing listens there",
        "timeout": "there is no answer",
        "timed out": "there is no answer",
        "resolve": "there is no such host",
        "translate host": "there is no such host",
        "invalid connection option": "an option after the ? is not known",
    }
    reason = next((why for sign, why in reasons.items() if sign in message), None)
    if reason is None:
        reason = " ".join(message.split())
        if address.password:
            reason = reason.replace(address.password, "…")
    return f"{address} cannot be reached: {reason.rstrip('.')}. Check the address."


def _as_table(
    found: Any, backend: Any, name: str, address: Address, sources: tuple[str, ...] = ()
) -> LogTable:
    from evenhand.log.ibis_engine import LABELS

    label = f"{name} in {address}"
    LABELS[backend] = label
    frame: Any = nw.from_native(found)
    close = backend.con.close
    return LogTable(label, tuple(found.columns), frame, sources=sources, close=close)


def _chosen(
    address: Address, table: str | None, listed: Sequence[tuple[str, str]], own: str
) -> tuple[str, str]:
    """The schema and name of the table that is meant, out of those that are there."""
    named = {
        name if schema == own else f"{schema}.{name}": (schema, name) for schema, name in listed
    }
    some = ", ".join(repr(name) for name in list(named)[:12])
    if table is None:
        offered = f": it has {some}" if named else ", of which it has none"
        raise BadParameter(
            f"say with {argument('table')} which table of {address} holds the log{offered}."
        )
    if table in named:
        return named[table]
    if table.count('"') % 2:
        raise BadParameter(
            f"{argument('table')} is {table!r}, in which a double quote is not closed: close it, "
            "or write it twice inside a quoted name."
        )
    parts = tuple(_unquoted(part) for part in re.findall(r'"(?:[^"]|"")*"|[^."]+', table))
    wanted = parts if len(parts) == 2 else (own, *parts)
    if wanted in listed:
        return wanted[0], wanted[1]
    near = nearest(table, named)
    hint = f"it has {some}." if named else "it has no table that we may see."
    if near is not None:
        hint = f"did you mean {near!r}?"
    raise BadLog(f"{address} has no table {table!r} ({argument('table')}): {hint}")


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def _ibis() -> Any:
    try:
        import ibis

        return ibis
    except ImportError:
        raise _missing("a database", "Ibis") from None


def _psycopg() -> Any:
    """Ibis can be there without it: each of its databases has a driver of its own."""
    try:
        import psycopg

        return psycopg
    except ImportError:
        raise _missing("a Postgres database", "psycopg") from None


def _missing(what: str, package: str) -> MissingExtra:
    return MissingExtra(
        f"auditing {what} needs {package}, which is not installed: pip install 'evenhand[sql]' "
        "brings it."
    )


_KINDS: dict[
    str, tuple[Callable[[Address], Any], Callable[[Any, Address, str | None], LogTable]]
] = {
    "postgresql": (_connect_to_postgres, _find_in_postgres),
    "duckdb": (_connect_to_duckdb, _find_in_duckdb),
    "sqlite": (_connect_to_sqlite, _find_in_sqlite),
}
