"""A store in Postgres, for teams that outgrow a file."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.errors import MissingExtra, StoreConflict, StoreUnavailable
from evenhand.serve.store.store import DecisionStore

WAIT = 10  # seconds for a server to answer


class PostgresStore(DecisionStore):
    """A connection per thread, made anew when it was lost; one more that writes."""

    blob = "BYTEA"

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra(
                "a store in Postgres needs psycopg: pip install 'evenhand[serve,sql]'."
            ) from None
        self._psycopg: Any = psycopg
        self._address = address
        self._writing = threading.Lock()
        self._own = threading.local()
        self._open: list[Any] = []
        self._writer = self._connect()

    def _connect(self) -> Any:
        try:
            connection = self._psycopg.connect(
                self._address, autocommit=True, connect_timeout=WAIT, application_name="evenhand"
            )
        except self._psycopg.Error as error:
            raise StoreUnavailable(_why_not(error)) from None
        self._open = [one for one in self._open if not one.closed] + [connection]
        return connection

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        connection = getattr(self._own, "connection", None)
        if connection is None or connection.closed:
            connection = self._own.connection = self._connect()
        try:
            found: list[tuple[Any, ...]] = connection.execute(_placed(statement), values).fetchall()
            return found
        except self._psycopg.Error as error:
            raise StoreUnavailable(_why_not(error)) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        with self._writing:
            if self._writer.closed:
                self._writer = self._connect()
            try:
                with self._writer.transaction(), self._writer.cursor() as cursor:
                    yield cursor
            except self._psycopg.Error as error:
                raise StoreUnavailable(_why_not(error)) from None

    def insert(self, cursor: Any, table: str, rows: Sequence[Sequence[Any]]) -> None:
        places = ", ".join(["%s"] * len(rows[0]))
        try:
            cursor.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        except self._psycopg.errors.UniqueViolation:
            raise StoreConflict(table) from None

    def run(self, cursor: Any, statement: str, values: Sequence[Any]) -> None:
        cursor.execute(_placed(statement), values)

    def version(self) -> int:
        ((there,),) = self.query("SELECT to_regclass('evenhand_version')")
        rows = [] if there is None else self.query("SELECT version FROM evenhand_version")
        return int(rows[0][0]) if rows else 0

    def set_version(self, cursor: Any, version: int) -> None:
        cursor.execute("CREATE TABLE IF NOT EXISTS evenhand_version (version INTEGER NOT NULL)")
        cursor.execute("DELETE FROM evenhand_version")
        cursor.execute("INSERT INTO evenhand_version VALUES (%s)", (version,))

    def close(self) -> None:
        for connection in self._open:
            connection.close()
        self._open.clear()


def _placed(statement: str) -> str:
    return statement.replace("?", "%s")


def _why_not(error: Exception) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return f"the store cannot be used ({words}): check that Postgres runs and lets you in."
