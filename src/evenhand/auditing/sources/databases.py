"""A table of a database, read where it stands: Postgres, DuckDB and SQLite.

Nothing is written there, so a user who may only read suffices. All queries of an audit see one
state of the table.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import narwhals as nw

from evenhand._util.wording import nearest
from evenhand.auditing.sources.addresses import Address, read_address
from evenhand.auditing.sources.engines.duckdb import quoted
from evenhand.auditing.sources.open_source import LogTable, connect
from evenhand.errors import (
    BadFile,
    BadLog,
    BadParameter,
    CannotConnect,
    MissingExtra,
    argument,
)

# Tables, views, materialized views, foreign and partitioned tables of Postgres.
TABLES = """
SELECT nspname, relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace
ON relnamespace = pg_namespace.oid
WHERE relkind IN ('r', 'v', 'm', 'f', 'p') AND nspname <> 'information_schema'
AND nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(pg_namespace.oid, 'USAGE')
ORDER BY nspname, relname
"""
# Where in a file the sign stands by which each kind is known.
SIGNS = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
KINDS = {"sqlite": "an SQLite file", "duckdb": "a DuckDB file"}
BEGINNING = 16  # bytes, in which all the signs stand
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

    _require_file(address)
    try:
        return connect(address.database)
    except duckdb.Error as error:
        reason = str(error).split("\n")[0].split("Error: ")[-1].rstrip(".")
        raise BadFile(f"{address} cannot be opened: {reason}.") from None


def _find_in_duckdb(connection: Any, address: Address, table: str | None) -> LogTable:
    listed = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
    ).fetchall()
    schema, name = _chosen(address, table, listed, "main")
    relation = connection.table(f"{quoted(schema)}.{quoted(name)}")
    frame: Any = nw.from_native(relation)
    columns, label = tuple(relation.columns), f"{name} in {address}"
    sources = (address.database,)
    return LogTable(label, columns, frame, (), connection, sources, connection.close)


def _connect_to_sqlite(address: Address) -> Any:
    _ibis()
    _require_file(address)
    place = f"file:{quote(str(Path(address.database).absolute()))}?mode=ro"
    try:
        return sqlite3.connect(place, uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise BadFile(f"{address} cannot be opened: {error}.") from None


def _find_in_sqlite(connection: Any, address: Address, table: str | None) -> LogTable:
    ibis = _ibis()
    try:
        backend = ibis.sqlite.from_connection(connection)
        listed = [("main", name) for name in backend.list_tables()]
        _, name = _chosen(address, table, listed, "main")
        found = backend.table(name)
        connection.execute("BEGIN")  # until the end, others' changes are not seen
    except sqlite3.Error as error:
        raise BadFile(f"{address} cannot be opened: {error}.") from None
    return _as_table(found, backend, name, address, (address.database,))


def _find_in_postgres(connection: Any, address: Address, table: str | None) -> LogTable:
    ibis = _ibis()
    from evenhand.auditing.sources.engines.ibis import Postgres

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
    import psycopg

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
    from evenhand.auditing.sources.engines.ibis import LABELS

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


def _require_file(address: Address) -> None:
    """A file of the kind that the address says, known by how such files begin."""
    if not os.path.isfile(address.database):
        raise BadFile(
            f"there is no file {address.database!r}: check the address; three slashes come before "
            f"a path, and a fourth where it begins with one ({address.scheme}:////folder/file)."
        )
    try:
        with open(address.database, "rb") as file:
            begins = file.read(BEGINNING)
    except OSError as error:
        raise BadFile(f"{address} cannot be opened: {error.strerror}.") from None
    kinds = [kind for kind, (where, sign) in SIGNS.items() if begins[where:].startswith(sign)]
    if address.scheme in kinds or (address.scheme == "sqlite" and not begins):
        return  # to SQLite, an empty file is a database without tables
    fix = f"a log in a file of its own is named without {address.scheme}:///"
    if kinds:
        fix = f"its address begins with {kinds[0]}:///, as {kinds[0]}:///{address.database}"
    raise BadFile(f"{address.database} is not {KINDS[address.scheme]}: {fix}.")


def _ibis() -> Any:
    try:
        import ibis

        return ibis
    except ImportError:
        raise MissingExtra(
            "auditing a database needs Ibis, which is not installed: pip install 'evenhand[sql]' "
            "brings it."
        ) from None


_KINDS: dict[
    str, tuple[Callable[[Address], Any], Callable[[Any, Address, str | None], LogTable]]
] = {
    "postgresql": (_connect_to_postgres, _find_in_postgres),
    "duckdb": (_connect_to_duckdb, _find_in_duckdb),
    "sqlite": (_connect_to_sqlite, _find_in_sqlite),
}
