"""DuckDB: files, tables in memory and database files, in this process."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from evenhand.auditing.sources.engines.engine import (
    BLANKS,
    BLOCK_ROWS,
    PLAIN,
    ZONE,
    Arrays,
    Engine,
    Frame,
)
from evenhand.errors import BadLog, BadParameter, argument

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
