"""Engines: the same few operations on tables in DuckDB, Arrow and other data frames."""

from __future__ import annotations

import contextlib
import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from evenhand.errors import BadLog, BadParameter, argument

# Where a table lives, and what an audit asks of that place beyond what narwhals can say.
#
# Filters, groups and running totals are said once, in narwhals, and run in the engine. What engines
# do each in their own way stands here: reading text, holding a result, and handing rows over.

Frame = nw.LazyFrame[Any]
Arrays = dict[str, np.ndarray]

BLOCK_ROWS = 1 << 20  # rows that leave an engine at a time
# A time of day followed by a zone: "10:00Z", "10:00:00+02:00", "10:00 Europe/Paris". Letters such
# as EST are not among them, as they mean one zone here and another there.
_ZONE = r"(Z|z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?|[A-Za-z]+(?:/[A-Za-z0-9_+-]+)+|UTC|GMT)"
ZONE = rf"\d:\d\d[0-9:.]*\s*{_ZONE}$"
# A day, or a day and a time of day, with nothing after it that would have to be understood.
PLAIN = r"^[+-]?\d{4,}[-/ ]\d{1,2}[-/ ]\d{1,2}(?: \(BC\))?(?:(?:T| +)[0-9:.]+)?$"
BLANKS = ("", "nan", "na", "n/a", "null", "none")  # no number, as many programs write it

# Text that every engine can read as a moment or a number; anything else would stop some of them.
_DAY = (
    r"(?:[1-9]\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
    r"|(?:[1-9]\d(?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)-02-29)"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?"
_OFFSET = r"(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)"
MOMENT = rf"^{_DAY}(?:[T ]{_TIME}{_OFFSET}?)?$"
NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?[12]?\d{1,2})?$"


def as_it_is(moment: datetime.datetime) -> nw.Expr:
    """A moment as most engines take it."""
    return nw.lit(moment, dtype=nw.Datetime("us"))


class Engine(ABC):
    """A place where tables live. Frames go in and come out; only blocks of arrays leave it."""

    typed = True  # whether a column's values are of the type that it is declared with
    has_nan = True  # whether a number may be NaN, apart from being empty
    knows_formats = False  # whether it can read dates in a format that is given
    looks_up = False  # whether texts can be replaced by what we say they mean

    @abstractmethod
    def fetch(self, frame: Frame) -> Arrays:
        """All rows at once, as columns; an empty place is NaN, NaT or None."""

    @abstractmethod
    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        """The same in order of some columns, some rows at a time, of at most so many in all."""

    def hold(self, frame: Frame) -> Frame:
        """The same rows worked out once, where the engine has a place for them."""
        return frame

    def is_short(self, frame: Frame) -> bool:
        """Whether it has so few rows that to ask for them takes longer than to hold them."""
        return False

    def release(self, frame: Frame) -> None:
        """Give back what `hold` took."""

    def moment(self, value: datetime.datetime) -> nw.Expr:
        """A moment in UTC, to compare a column of moments with."""
        return as_it_is(value)

    @abstractmethod
    def in_utc(self, frame: Frame, column: str) -> Frame:
        """A column of dates or timestamps, of any zone, as timestamps in UTC without a zone."""

    @abstractmethod
    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        """A column more: the moments that a column says in text, empty where it says none."""

    @abstractmethod
    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        """A column more: the numbers that a column says in text, empty where it says none."""

    def odd_numbers(self, frame: Frame, column: str) -> bool:
        """Whether a column of text holds what is not plainly a number, or may be another one."""
        return False

    def texts(self, frame: Frame, column: str) -> list[str]:
        """The texts of a column, each once, without the spaces around them."""
        raise NotImplementedError

    def looked_up(
        self, frame: Frame, column: str, texts: Sequence[str], meanings: Mapping[str, Sequence[Any]]
    ) -> Frame:
        """Columns more: what each text of a column means, numbers or moments, or nothing."""
        raise NotImplementedError

    def counted_from(self, frame: Frame, column: str, sql: Callable[[str], str]) -> Frame:
        """The column with the timestamps that its numbers stand for."""
        raise NotImplementedError

    @abstractmethod
    def zones(self, frame: Frame, column: str, into: str) -> Frame:
        """A column more: the zone that a text names, such as "+02:00", or an empty text."""


# DuckDB: files, tables in memory and database files, in this process.

SAMPLE = 2048  # rows that are looked at first
SHORT = 100_000  # rows that are held as soon as they are read


class DuckDB(Engine):
    """Frames are DuckDB relations."""

    knows_formats = True
    looks_up = True

    def fetch(self, frame: Frame) -> Arrays:
        with plainly("the log"):
            columns = frame.to_native().fetchnumpy()  # needs no other package, unlike collect()
        return {name: _filled(values) for name, values in columns.items()}

    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        if most <= BLOCK_ROWS:
            yield self.fetch(frame.sort(*by))
            return
        with plainly("the log"):
            held = frame.sort(*by).to_native().materialize()
        for start in range(0, len(held), BLOCK_ROWS):
            part: Any = nw.from_native(held.limit(BLOCK_ROWS, start))
            yield self.fetch(part)

    def hold(self, frame: Frame) -> Frame:
        with plainly("the log"):
            held: Any = nw.from_native(frame.to_native().materialize())
        return held

    def is_short(self, frame: Frame) -> bool:
        with plainly("the log"):
            return len(frame.to_native().limit(SHORT + 1)) <= SHORT

    def in_utc(self, frame: Frame, column: str) -> Frame:
        dtype, given = frame.collect_schema()[column], quoted(column)
        utc = f"timezone('UTC', {given})"
        if getattr(dtype, "time_zone", None) is None:
            # A time too far away for microseconds is as good as infinite, and refused like it.
            far = f"CASE WHEN {given} IS NOT NULL THEN TIMESTAMP 'infinity' END"
            utc = f"coalesce(TRY_CAST({given} AS TIMESTAMP), {far})"
        relation = frame.to_native()
        parts = [
            f"{utc} AS {given}" if name == column else quoted(name) for name in relation.columns
        ]
        replaced: Any = nw.from_native(relation.project(", ".join(parts)))
        return replaced

    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        text = _text(column)
        if time_format is not None:
            moment = f"CAST(try_strptime({text}, {literal(time_format)}) AS TIMESTAMP)"
            return _formatted(frame, moment, into, time_format)
        zoned = f"regexp_matches({text}, {literal(ZONE)})"
        plain = f"regexp_matches({text}, {literal(PLAIN)})"
        moment = (  # of a text that is neither, DuckDB would read the day and pass over the rest
            f"CASE WHEN {zoned} THEN timezone('UTC', TRY_CAST({text} AS TIMESTAMPTZ)) "
            f"WHEN {plain} THEN TRY_CAST({text} AS TIMESTAMP) END"
        )
        return _added(frame, moment, into)

    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        text = _text(column)
        blank = f"lower({text}) IN ({', '.join(map(literal, BLANKS))})"
        return _added(frame, f"CASE WHEN NOT {blank} THEN TRY_CAST({text} AS DOUBLE) END", into)

    def odd_numbers(self, frame: Frame, column: str) -> bool:
        relation, given = frame.to_native(), quoted(column)
        other = f"bool_or(contains({given}, '.') AND NOT {given} LIKE '%.___')"
        with plainly("the log"):
            # Points that all stand before three digits may separate thousands; the first rows
            # mostly show that they do not, and then no further row is looked at for it.
            plain = relation.limit(SAMPLE).aggregate(other).fetchall()[0][0]
            asked = f"count({given}), count(TRY_CAST({given} AS DOUBLE))"
            if not plain:
                asked += f", bool_or({given} LIKE '%.___')"
            texts, numbers, *threes = relation.aggregate(asked).fetchall()[0]
            if texts != numbers:
                text = _text(column)
                blank = f"lower({text}) IN ({', '.join(map(literal, BLANKS))})"
                unread = f"TRY_CAST({text} AS DOUBLE) IS NULL AND NOT {blank}"
                if relation.filter(unread).limit(1).fetchall():
                    return True
            return any(threes) and not relation.aggregate(other).fetchall()[0][0]

    def texts(self, frame: Frame, column: str) -> list[str]:
        with plainly("the log"):
            found = frame.to_native().project(f"{_text(column)} AS text").distinct().fetchall()
        return sorted(text for (text,) in found if text is not None)

    def looked_up(
        self, frame: Frame, column: str, texts: Sequence[str], meanings: Mapping[str, Sequence[Any]]
    ) -> Frame:
        kept = [k for k, text in enumerate(texts) if not {_END, "\0"} & set(text)]
        columns = [f"{_listed([texts[k] for k in kept])} AS key"]
        for into, values in meanings.items():
            said = ["" if values[k] is None else str(values[k]) for k in kept]
            known = next((value for value in values if value is not None), None)
            kind = {datetime.datetime: "TIMESTAMP", str: "VARCHAR"}.get(type(known), "DOUBLE")
            columns.append(f"TRY_CAST({_listed(said)} AS {kind}) AS {quoted(into)}")
        names = ", ".join(f"meaning.{quoted(into)}" for into in meanings)
        query = (
            f"SELECT evenhand_log.*, {names} FROM evenhand_log LEFT JOIN "
            f"(SELECT {', '.join(columns)}) AS meaning "
            f"ON trim(CAST(evenhand_log.{quoted(column)} AS VARCHAR)) = meaning.key"
        )
        with plainly("the log"):
            found: Any = nw.from_native(
                frame.to_native().query("evenhand_log", query).materialize()
            )
        return found

    def counted_from(self, frame: Frame, column: str, sql: Callable[[str], str]) -> Frame:
        relation = frame.to_native()
        moment = sql(f"CAST({quoted(column)} AS DOUBLE)")
        parts = [
            f"{moment} AS {quoted(name)}" if name == column else quoted(name)
            for name in relation.columns
        ]
        found: Any = nw.from_native(relation.project(", ".join(parts)))
        return found

    def zones(self, frame: Frame, column: str, into: str) -> Frame:
        return _added(frame, f"regexp_extract({_text(column)}, {literal(ZONE)}, 1)", into)


@contextlib.contextmanager
def plainly(label: str) -> Iterator[None]:
    """A context in which DuckDB's complaints become one sentence each.

    Such as on a damaged file, of which more is read at each step.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise BadLog(f"{label} cannot be read: {reason_of(error)}.") from None


def reason_of(error: Exception) -> str:
    """The first line of what DuckDB says, without the page of advice after it."""
    return str(error).strip().split("\n")[0].split("Error: ")[-1].rstrip(".")


def quoted(name: str) -> str:
    """A column's name as SQL writes it: the only way a name from a log enters a query."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it: the only way a value enters a query."""
    return "'" + text.replace("'", "''") + "'"


_END = "\x1f"  # stands between texts where many are handed over at once


def _listed(texts: Sequence[str]) -> str:
    """Many texts as rows: one literal, where a literal for each would take the engine long."""
    return f"unnest(string_split({literal(_END.join(texts))}, chr({ord(_END)})))"


def _text(column: str) -> str:
    return f"trim(CAST({quoted(column)} AS VARCHAR))"


def _added(frame: Frame, expression: str, into: str) -> Frame:
    added: Any = nw.from_native(frame.to_native().project(f"*, {expression} AS {quoted(into)}"))
    return added


def _formatted(frame: Frame, moment: str, into: str, time_format: str) -> Frame:
    import duckdb

    try:
        return _added(frame, moment, into)
    except duckdb.InvalidInputException:
        raise BadParameter(
            f"{argument('time_format')} is {time_format!r}, which is not a way to write a date: "
            "use codes such as %d/%m/%Y or '%Y-%m-%d %H:%M'."
        ) from None


def _filled(values: Any) -> np.ndarray:
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    if values.dtype.kind in "iub":
        values = values.astype(np.float64)
    plain = np.array(values.data)
    plain[np.ma.getmaskarray(values)] = {"f": np.nan, "M": np.datetime64("NaT")}.get(
        values.dtype.kind
    )
    return plain


# Engines: where tables live. Each frame is asked of the engine that holds it.

__all__ = ["Arrays", "Engine", "Frame", "engine_of", "fetch"]


def engine_of(frame: Frame) -> Engine:
    """The engine in which a frame lives; a package is loaded only where its frames are met."""
    kind = frame.implementation
    if kind.is_duckdb():
        return DuckDB()
    if kind.is_ibis():
        from evenhand.log.ibis_engine import of_table

        return of_table(frame.to_native())
    if kind.is_spark_like():
        from evenhand.log.spark import Spark

        return Spark()

    return Other()


def fetch(frame: Frame) -> Arrays:
    """What an engine worked out, as NumPy arrays; an empty place is NaN, NaT or None."""
    return engine_of(frame).fetch(frame)


# Arrow's columns as NumPy arrays: how most engines hand rows over.


def as_arrays(table: Any) -> Arrays:
    """The columns of an Arrow table or batch; an empty place is NaN, NaT or None."""
    return {name: as_array(table.column(name)) for name in table.schema.names}


def as_array(column: Any) -> np.ndarray:
    """One of them, which may be one piece or many."""
    if hasattr(column, "chunks"):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


# Any other engine that narwhals knows: its tables are read if their columns have types.


class Other(Engine):
    """Frames of whatever kind, in the words that all share."""

    def fetch(self, frame: Frame) -> Arrays:
        eager = frame.collect()
        return {name: np.asarray(eager[name].to_numpy()) for name in eager.columns}

    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        yield self.fetch(frame.sort(*by))

    def in_utc(self, frame: Frame, column: str) -> Frame:
        utc = nw.col(column)
        if getattr(frame.collect_schema()[column], "time_zone", None) is not None:
            utc = utc.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return frame.with_columns(utc.cast(nw.Datetime("us")))

    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        raise BadLog("the times are text: make them timestamps in their engine.")

    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        raise BadLog("the amounts are text: make them numbers in their engine.")

    def zones(self, frame: Frame, column: str, into: str) -> Frame:
        return frame.with_columns(nw.lit("").alias(into))
