"""Ibis: tables in a database. Postgres and SQLite are known in detail, others at one go.

Expressions become SQL in Ibis, which quotes every name and value; no text is put together here.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sqlite3
import time
import weakref
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from evenhand._util.numbers import parse_moment
from evenhand.errors import BadLog, BadParameter, CannotConnect, argument
from evenhand.log import layout
from evenhand.log.engines import (
    BLOCK_ROWS,
    MOMENT,
    NUMBER,
    ZONE,
    Arrays,
    Engine,
    Frame,
    as_array,
    as_arrays,
)

# What the databases that we opened are called in messages: their addresses, without secrets.
LABELS: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
VIEWS: weakref.WeakSet[Any] = weakref.WeakSet()  # those of SQLite, of which we read a view
BETWEEN_LOOKS = 100_000  # steps of SQLite's machine, after which we look at the time


def of_table(table: Any) -> Engine:
    """The engine of an Ibis table, by the database it stands in."""
    backend = table.get_backend()
    return {"postgres": Postgres, "sqlite": SQLite}.get(backend.name, Database)()


class Database(Engine):
    """Frames are Ibis tables."""

    def fetch(self, frame: Frame) -> Arrays:
        return as_arrays(frame.to_native().to_pyarrow())

    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        yield self.fetch(
            frame.sort(*by)
        )  # Ibis' batches do not work with every database, DuckDB for one

    def in_utc(self, frame: Frame, column: str) -> Frame:
        # Ibis keeps its sessions in UTC, so leaving out the zone leaves the moment in UTC.
        return frame.with_columns(nw.col(column).cast(nw.Datetime("us")))

    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        if time_format is not None:
            raise BadParameter(
                f"{argument('time_format')} is for files: in a database, make a view whose times "
                "are timestamps."
            )
        import ibis

        table = frame.to_native()
        trimmed = _text(table[column])
        moment = trimmed.cast("timestamp('UTC', 6)").cast("timestamp(6)")
        return _added(table, into, ibis.cases((trimmed.re_search(MOMENT), moment)))

    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        import ibis

        table = frame.to_native()
        trimmed = _text(table[column])
        return _added(table, into, ibis.cases((trimmed.re_search(NUMBER), trimmed.cast("float64"))))

    def zones(self, frame: Frame, column: str, into: str) -> Frame:
        table = frame.to_native()
        return _added(table, into, _text(table[column]).re_extract(ZONE, 1))


def _text(column: Any) -> Any:
    return column.cast("string").strip()


def _added(table: Any, name: str, value: Any) -> Frame:
    added: Any = nw.from_native(table.mutate(**{name: value}))
    return added


class _Cursors(Database):
    """Databases whose cursors we read ourselves, so that an error is the database's own."""

    def fetch(self, frame: Frame) -> Arrays:
        schema = frame.to_native().schema()
        empty = {name: self._array((), kind) for name, kind in schema.items()}
        parts = [empty, *self._rows(frame)]
        return {name: np.concatenate([part[name] for part in parts]) for name in empty}

    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        return self._rows(frame.sort(*by))

    def _rows(self, frame: Frame) -> Iterator[Arrays]:
        table = frame.to_native()
        backend, schema = table.get_backend(), table.schema()
        query = backend.compile(table)
        with self.plainly(LABELS.get(backend, "the database")), self._cursor(backend) as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(BLOCK_ROWS):
                columns = zip(*rows, strict=True)
                yield {
                    name: self._array(column, schema[name])
                    for name, column in zip(schema.names, columns, strict=True)
                }

    @abstractmethod
    def _cursor(self, backend: Any) -> Any: ...

    @abstractmethod
    def plainly(self, label: str) -> Any:
        """A context in which the database's complaints become one sentence each."""

    def _array(self, values: Sequence[Any], kind: Any) -> np.ndarray:
        import pyarrow

        if kind.is_floating():  # also of a numeric, which is what a sum may be
            return np.array(values, dtype=np.float64)
        return as_array(pyarrow.array(values, type=kind.to_pyarrow()))


class Postgres(_Cursors):
    """A cursor on the server hands rows over, so that few are here at a time."""

    @contextlib.contextmanager
    def _cursor(self, backend: Any) -> Iterator[Any]:
        connection = backend.con
        with connection.transaction(), connection.cursor(name="evenhand", binary=True) as cursor:
            yield cursor

    @contextlib.contextmanager
    def plainly(self, label: str) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            what = error.diag.message_primary
            raise CannotConnect(
                f"{label} does not let us read ({what}): ask its owner to GRANT SELECT."
            ) from None
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, psycopg.errors.QueryCanceled | psycopg.errors.LockNotAvailable):
                what = error.diag.message_primary
                raise CannotConnect(f"{label} stopped the query: {what}.") from None
            raise CannotConnect(
                f"the connection to {label} was lost before the audit was done: nothing was "
                "written, so run it again."
            ) from None
        except psycopg.Error as error:
            what = error.diag.message_primary or str(error).split("\n")[0].rstrip(".")
            raise BadLog(f"{label} cannot be read: {what}.") from None


@functools.cache
def _reader(name: str, gives: str) -> Any:
    """A function of ours as Ibis calls it; it takes whatever stands in a column, of any type."""
    import ibis

    def read(value): ...  # type: ignore[no-untyped-def]

    return ibis.udf.scalar.builtin(read, name=name, signature=((None,), gives))


def _moment(column: Any) -> Any:
    return _reader("evenhand_moment", "timestamp(6)")(column)


def _number(column: Any) -> Any:
    return _reader("evenhand_number", "float64")(column)


class SQLite(_Cursors):
    """SQLite has no type for times, and any value may stand in any column: each is read anew."""

    typed = False
    has_nan = False

    @contextlib.contextmanager
    def _cursor(self, backend: Any) -> Iterator[Any]:
        backend.con.create_function("evenhand_moment", 1, read_moment, deterministic=True)
        backend.con.create_function("evenhand_number", 1, read_number, deterministic=True)
        self._begin(backend)
        with contextlib.closing(backend.con.cursor()) as cursor:
            yield cursor

    @staticmethod
    def bound_if_view(backend: Any, name: str) -> None:
        """From here on queries end in time, if what they are about is a view."""
        views = dict(backend.con.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
        if name in views:
            if layout.too_many_views(views, name):  # no time counts while a query is planned
                raise layout.endless_view(name)
            VIEWS.add(backend)
            SQLite._begin(backend)

    @staticmethod
    def _begin(backend: Any) -> None:
        """The time for a query runs from here, if it is about a view."""
        if backend in VIEWS:
            end = time.monotonic() + layout.SECONDS
            backend.con.set_progress_handler(lambda: time.monotonic() > end, BETWEEN_LOOKS)

    @contextlib.contextmanager
    def plainly(self, label: str) -> Iterator[None]:
        from ibis.common.exceptions import IbisError

        try:
            yield
        except (sqlite3.Error, IbisError, UnicodeDecodeError) as error:
            if str(error) == "interrupted":  # which not every version tells by a code
                raise layout.endless_view(label) from None
            raise BadLog(f"{label} cannot be read: {error}.") from None

    def _array(self, values: Sequence[Any], kind: Any) -> np.ndarray:
        if kind.is_timestamp():
            return np.array(values, dtype="datetime64[us]")
        if kind.is_date():
            return np.array(values, dtype="datetime64[D]")
        if kind.is_numeric() or kind.is_boolean():
            return np.array(values, dtype=np.float64)
        return np.array(values, dtype=object)

    def in_utc(self, frame: Frame, column: str) -> Frame:
        table = frame.to_native()
        return _added(table, column, _moment(table[column]))

    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        if time_format is not None:
            return super().moments(frame, column, into, time_format)
        table = frame.to_native()
        return _added(table, into, _moment(table[column]))

    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        table = frame.to_native()
        return _added(table, into, _number(table[column]))


def read_moment(value: Any) -> str | None:
    """A moment in the one form in which SQLite compares times, which is as text.

    >>> read_moment("2021-03-31T10:00:00+02:00"), read_moment("2021-02-30")
    ('2021-03-31 08:00:00', None)
    """
    text = str(value).strip()
    if value is None or not re.match(MOMENT, text):
        return None
    with contextlib.suppress(ValueError):  # where its zone takes it out of the calendar
        return str(parse_moment(text))
    return None


def read_number(value: Any) -> float | None:
    """A number as it is or as a text says it; anything else is none.

    >>> read_number(" 2e3 "), read_number("many"), read_number("n/a")
    (2000.0, None, None)
    """
    text = str(value).strip()
    if value is None or not re.match(NUMBER, text):
        return None
    return float(value)
