"""DuckDB: files, tables in memory and database files, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
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


class DuckDB(Engine):
    """Frames are DuckDB relations."""

    knows_formats = True

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
