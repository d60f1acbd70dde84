"""Logs, rosters and entitlements: sensible ones, ones at the edge, and damaged ones."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import xlsxwriter
from hypothesis import strategies as st

from fuzzing.damage import DEEP, Damage, damaged, damages, rarely
from fuzzing.trial import Content

GOOD_NAMES = ["A", "B", "C", "North", "Süd"]
ODD_NAMES = [
    *(
        "",
        " ",
        "a ",
        "A",
        "a",
        "\0",
        "\x1b[31m",
        "x" * 5000,
        "\u202eevil",
        "👩‍🔬",
        "<script>",
        "=1+1",
    ),
    *('"', "'", ";--", "%s", "{}", "\\N", "NULL", "None", "nan", "total", "\r", "\n", "\ufeffA"),
]
GOOD_TIMES = [f"2021-{month:02}-{day:02}" for month in (1, 2, 3) for day in (1, 9, 28)]
EDGE_TIMES = [
    *("infinity", "-infinity", "inf", "nan", "epoch", "now", "today", "", "NULL", "0", "-1"),
    *("0000-01-01", "0001-01-01", "-0044-03-15", "44-03-15 (BC)", "0044-03-15 (BC)", "9999-12-31"),
    *("10000-01-01", "20210-01-01", "290000-01-01", "294247-01-10 04:00:54.775806", "300000-01-01"),
    *("290309-12-22 (BC)", "99999999-01-01", "5877642-06-25 (BC)", "5881580-07-11"),
    *("2021-02-30", "2021-13-01", "2021-02-29", "21-1-1", "1/2/2021", "31.12.2021", "2021-W05"),
    *("2021-03-28T02:30:00+01:00", "2021-01-01T00:00:00Z", "2021-01-01 00:00:00+25:00"),
    *("2021-01-01 00:00:00 EST", "2021-01-01 00:00 Europe/Berlin", "2021-01-01 00:00 Mars/Base"),
    *("2021-01-01 24:00:00", "2021-01-01 23:59:60", "2021-01-01T00:00:00.123456789", "12:30"),
    *(
        "1e308",
        "1e400",
        "-1e308",
        "9" * 20,
        "9" * 400,
        "9223372036854775807",
        "18446744073709551616",
    ),
    *("1.5", "0x10", "١", "2021-01-01\0", "x" * 5000, "1970-01-01", "-9223372036854775808"),
]
GOOD_AMOUNTS = ["1", "2", "3", "10", "2.5", "0"]
EDGE_AMOUNTS = [
    *("", "-1", "-0.0", "nan", "inf", "-inf", "1e308", "1.7e308", "-1e308", "1e309", "1e-320"),
    *("9" * 20, "9" * 400, "1,5", "1 000", "1_000", "0x10", "١", "€5", "NULL", "true", "\0"),
]
GOOD_TEAMS = ["red", "blue"]

COLUMNS = ("who", "day", "much", "team", "need", "run")
# Types of the time column where a format has types, and what is at the edge of each.
TIME_TYPES = ("VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "BIGINT", "DOUBLE", "TIMESTAMP_NS")
AMOUNT_TYPES = ("VARCHAR", "BIGINT", "DOUBLE", "DECIMAL(38, 2)", "HUGEINT", "UBIGINT", "BOOLEAN")
NEVER = 1000
ODD_CELLS = [ODD_NAMES, EDGE_TIMES, EDGE_AMOUNTS, ODD_NAMES, EDGE_AMOUNTS, ODD_NAMES]
GOOD_CELLS = [GOOD_NAMES, GOOD_TIMES, GOOD_AMOUNTS, GOOD_TEAMS, ["1", "2", "5.5"], ["1", "2"]]
FORMATS = (
    *("csv", "csv", "csv", "jsonl", "parquet", "duckdb", "sqlite", "csv.gz"),
    *("xlsx", "wide.csv", "swf"),
)
# What a database may hold beside, or in place of, the table.
EXTRAS = (
    "",
    "CREATE VIEW seen AS SELECT * FROM log",
    "CREATE TABLE other AS SELECT 1 AS x; CREATE VIEW seen AS SELECT x AS who, x AS day FROM other;"
    " DROP TABLE other",
    "CREATE VIEW seen AS SELECT who, day, error('no') AS much FROM log",
    "CREATE VIEW seen AS SELECT who, CAST(who AS INTEGER) AS day, 1 AS much FROM log",
    "CREATE VIEW seen AS SELECT content AS who, 1 AS day, 1 AS much FROM read_text('secret.txt')",
    "CREATE VIEW seen AS SELECT * FROM read_csv('.secret.csv')",
    "CREATE VIEW seen AS SELECT file AS who, 1 AS day, 1 AS much FROM glob('*')",
    "CREATE MACRO sum(x) AS 1; CREATE MACRO trim(x) AS 'A'; CREATE MACRO lower(x) AS error('no');"
    " CREATE VIEW seen AS SELECT * FROM log",
    "CREATE VIEW seen AS SELECT who, 1/0 AS day, sqrt(-1) AS much FROM log",
    "CREATE VIEW seen AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
    "SELECT 'A' AS who, n AS day, 1 AS much FROM r",
)


@dataclass(frozen=True)
class Table:
    """A table in a format, damaged or not."""

    format: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    time_type: str = "VARCHAR"
    amount_type: str = "VARCHAR"
    zone: str = "UTC"
    extra: str = ""
    damage: Damage = ()

    def content(self) -> bytes:
        try:
            whole = FILES[self.format](self)
        except (duckdb.Error, sqlite3.Error, pyarrow.ArrowException, OverflowError, ValueError):
            whole = _csv(self)  # a cell that the format has no place for
        return damaged(whole, self.damage)

    def smaller(self) -> list[Content]:
        found: list[Content] = []
        if self.damage:
            found += [replace(self, damage=self.damage[:-1])]
        if len(self.rows) > 1:
            found += [
                replace(self, rows=self.rows[:k] + self.rows[k + 1 :])
                for k in range(len(self.rows))
            ]
        if self.format not in ("csv", "parquet") and not self.extra:
            found.append(replace(self, format="csv"))
        return found


def _csv(table: Table) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _json_lines(table: Table) -> bytes:
    lines = [
        json.dumps(dict(zip(table.columns, map(_plain, row), strict=False))) for row in table.rows
    ]
    return "\n".join(lines).encode() + b"\n"


def _plain(text: str) -> Any:
    """A number if it looks like one that JSON has, else the text."""
    try:
        return int(text) if len(text) < 25 else text
    except ValueError:
        return text


def _types(table: Table) -> list[str]:
    types = {"day": table.time_type, "much": table.amount_type, "need": "DOUBLE"}
    return [types.get(name, "VARCHAR") for name in table.columns]


def _filled(connection: Any, table: Table) -> None:
    """The table in DuckDB, cells that do not fit its types being empty."""
    types = _types(table)
    names = _unique(table.columns)
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    connection.execute(f"CREATE TABLE log ({declared})")
    cells = ", ".join(f"TRY_CAST(col{k} AS {kind})" for k, kind in enumerate(types))
    row = f"({', '.join('?' * len(types))})"
    if table.rows:
        connection.execute(
            f"INSERT INTO log SELECT {cells} FROM (VALUES {', '.join([row] * len(table.rows))})",
            [cell for row in table.rows for cell in row],
        )


def _unique(names: tuple[str, ...]) -> list[str]:
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    return [name if quoted.index(name) == k else f'"{k}"' for k, name in enumerate(quoted)]


def _parquet(table: Table) -> bytes:
    """Columns as Arrow has them, so that a name may occur twice and a zone be any text."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        _filled(connection, table)
        # A time beyond what Arrow has is left to the formats that have it.
        found = connection.sql("SELECT * FROM log").to_arrow_table()
    if table.time_type == "TIMESTAMPTZ":
        k = table.columns.index("day")
        kind = pyarrow.timestamp("us", tz=table.zone)
        column = found.column(k).combine_chunks()
        found = found.set_column(k, "day", column.cast(pyarrow.int64()).cast(kind))
    out = io.BytesIO()
    pyarrow.parquet.write_table(found.rename_columns(list(table.columns)), out)
    return out.getvalue()


def _duckdb(table: Table) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.duckdb"
        with duckdb.connect(str(path)) as connection:
            _filled(connection, table)
            if table.extra:
                connection.execute(table.extra)
        return path.read_bytes()


def _sqlite(table: Table) -> bytes:
    connection = sqlite3.connect(":memory:")
    names = _unique(table.columns)
    connection.execute(f"CREATE TABLE log ({', '.join(names)})")
    marks = ", ".join("?" * len(names))
    connection.executemany(
        f"INSERT INTO log VALUES ({marks})",
        [[_plain(cell) if len(cell) < 19 else cell for cell in row] for row in table.rows],
    )
    connection.executescript(
        "CREATE VIEW seen AS SELECT * FROM log; CREATE VIEW broken AS SELECT * FROM gone;"
        "CREATE VIEW endless AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
        "SELECT 'A' AS who, n AS day, 1 AS much FROM r;"
        "CREATE VIEW loads AS SELECT load_extension('x') AS who, 1 AS day, 1 AS much;"
    )
    connection.commit()
    content = connection.serialize()
    connection.close()
    return content


def _xlsx(table: Table) -> bytes:
    """A sheet of which numbers are numbers, and all else is text, formulas among it."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_numbers": True}) as book:
        sheet = book.add_worksheet("Data")
        for place, row in enumerate((table.columns, *table.rows)):
            sheet.write_row(place, 0, [cell[:30_000] for cell in row])
    return out.getvalue()


def _wide(table: Table) -> bytes:
    """A column for each time that occurs, and the last amount of each there."""
    times = list(dict.fromkeys(row[1] for row in table.rows))
    names = list(dict.fromkeys(row[0] for row in table.rows))
    last = {(row[0], row[1]): row[2] for row in table.rows}
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";")
    writer.writerow(["who", *times])
    writer.writerows([[name, *(last.get((name, at), "") for at in times)] for name in names])
    return text.getvalue().encode("utf-8", "surrogatepass")


def _workload(table: Table) -> bytes:
    """Jobs with what stands in the cells where they have numbers."""
    jobs = [
        f"{k} {row[1] or -1} 0 {row[2] or -1} 1 " + "-1 " * 6 + f"{row[4] or 1} " + "-1 " * 6
        for k, row in enumerate(table.rows)
        if len(row) > 4
    ]
    return "\n".join(["; UnixStartTime: 1000000000", *jobs]).encode("utf-8", "surrogatepass")


@cache
def bomb() -> bytes:
    """Four billion zeros, which take four million bytes when they are packed."""
    return gzip.compress(bytes(10**8), mtime=0) * 40


FILES = {
    "csv": _csv,
    "jsonl": _json_lines,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "sqlite": _sqlite,
    "xlsx": _xlsx,
    "wide.csv": _wide,
    "swf": _workload,
    "csv.gz": lambda table: gzip.compress(_csv(table), mtime=0),
}


@dataclass(frozen=True)
class Bomb:
    """A small file that is large when it is unpacked."""

    def content(self) -> bytes:
        return bomb()

    def smaller(self) -> list[Content]:
        return []


def mostly(good: list[str], odd: list[str], one_in: int = 12) -> st.SearchStrategy[str]:
    """Sensible values, and now and then one that is not."""
    if one_in >= NEVER:
        return st.sampled_from(good)
    return st.sampled_from([good] * (one_in - 1) + [odd]).flatmap(st.sampled_from)


@st.composite
def tables(draw: st.DrawFn, formats: tuple[str, ...] = FORMATS, odd: bool = True) -> Table:
    """A table of which something is odd, or one as it should be."""
    if not odd:
        rows = st.lists(st.tuples(*map(st.sampled_from, GOOD_CELLS)), min_size=3, max_size=8)
        return Table(draw(st.sampled_from(formats)), COLUMNS, tuple(draw(rows)))
    return draw(_odd_tables(formats))


@st.composite
def _odd_tables(draw: st.DrawFn, formats: tuple[str, ...]) -> Table:
    odd = draw(st.sampled_from([NEVER, 30, 12, 12, 4]))
    # Mostly one column is odd: what is refused hides what comes after it.
    which = draw(st.sampled_from([*range(6), 1, 1, 1, 1, 2, 2, None, None]))
    row = st.tuples(
        *(
            mostly(good, bad, odd if which in (k, None) else NEVER)
            for k, (good, bad) in enumerate(zip(GOOD_CELLS, ODD_CELLS, strict=True))
        )
    )
    rows = tuple(draw(st.lists(row, min_size=0 if odd < 12 else 1, max_size=8)))
    file = draw(st.sampled_from(formats))
    columns = COLUMNS
    rare = draw(st.integers(0, 29)) - 20
    if rare == 0:
        columns = (*COLUMNS[:5], "who")
    if rare == 1:
        columns = ("", *COLUMNS[1:])
    if rare == 2:
        columns = tuple(draw(st.sampled_from(ODD_NAMES)) + name for name in COLUMNS)
    return Table(
        file,
        tuple(columns),
        rows,
        time_type=draw(st.sampled_from(TIME_TYPES)),
        amount_type=draw(st.sampled_from(AMOUNT_TYPES)),
        zone=draw(st.sampled_from(["UTC", "Europe/Berlin", "EST", "+05:00", "Mars/Base", "UTC+1"])),
        extra=draw(st.sampled_from(EXTRAS)) if file == "duckdb" else "",
        damage=draw(damages) if rarely(draw, 6) else (),
    )


ODD_LINES = [
    *(b"", b"{", b"[]", b"null", b"1", b'"x"', b"{}", b"\0", b"\xff\xfe", b'{"who": "A"}', b"NaN"),
    *(b'{"who": "A", "day": 1e400}', b'{"who": "A", "day": NaN}', b'{"who": [], "day": {}}'),
    *(b'{"who": "A", "day": 1, "who": "B"}', b'{"who": "\\ud800", "day": 1}', b"{" * 3000),
    *(b"[" * DEEP + b"]" * DEEP, b'{"who": "A", "day": ' + b"9" * 5000 + b"}"),
    b'{"who": "A", "day": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    *(
        b'{"who": "A", "day": true}',
        b'{"who": 1, "day": 1}',
        b'{"who": "A", "day": "1", "much": "2"}',
    ),
    *(b'{"who": "A", "day": 9223372036854775808}', b'{"who": null, "day": null, "much": null}'),
]


@st.composite
def json_lines(draw: st.DrawFn, odd: bool = True) -> bytes:
    """Events for a monitor, one per line."""
    if not odd:
        days = sorted(draw(st.lists(st.sampled_from(GOOD_TIMES), max_size=8)))
        who = st.sampled_from(GOOD_NAMES[:2])
        events = [{"who": draw(who), "day": day, "much": 1, "id": k} for k, day in enumerate(days)]
        return b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return draw(_odd_lines())


@st.composite
def _odd_lines(draw: st.DrawFn) -> bytes:
    odd = draw(st.sampled_from([NEVER, NEVER, 10, 3]))
    numbers = draw(st.booleans())
    lines = []
    for k in range(draw(st.integers(0, 8))):
        if odd < NEVER and rarely(draw, odd):
            lines.append(draw(st.sampled_from(ODD_LINES)))
            continue
        event: dict[str, Any] = {"who": draw(mostly(GOOD_NAMES[:3], ODD_NAMES, odd))}
        event["day"] = k if numbers else draw(mostly(GOOD_TIMES, EDGE_TIMES, odd))
        much = draw(mostly(GOOD_AMOUNTS, EDGE_AMOUNTS, odd))
        event["much"] = draw(st.sampled_from([much, 1, 2.5, 10**20, 1e308, True, None, -1, 0]))
        event["id"] = draw(st.sampled_from([k, "x", None, 1.5, [1]]))
        lines.append(json.dumps(event).encode())
    content = b"\n".join(lines) + draw(st.sampled_from([b"\n", b"", b"\r\n"]))
    return damaged(content, draw(damages)) if rarely(draw, 6) else content
