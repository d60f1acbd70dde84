"""Logs in Spark: its files, and the engine that works on its data frames."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw

from evenhand._util.registry import naming_the_extra
from evenhand.errors import BadLog, BadParameter, CannotConnect, MissingExtra, argument
from evenhand.log.engines import BLOCK_ROWS, MOMENT, NUMBER, ZONE, Arrays, Engine, Frame, as_arrays
from evenhand.log.files import CSV, PARQUET, LogTable, found_files, kind_of_files
from evenhand.log.layout import shown
from evenhand.log.text_files import separator

# Spark: tables in a cluster, or on all cores of this machine.

PART_ROWS = 1 << 18  # rows of a part of a table that Spark hands over
# How Spark says, in one way or another, that there was not enough memory.
NO_MEMORY = ("OutOfMemory", "Java heap space", "maxResultSize", "Cannot allocate memory")


class Spark(Engine):
    """Frames are Spark's data frames."""

    def fetch(self, frame: Frame) -> Arrays:
        with plainly():
            return as_arrays(frame.to_native().toArrow())

    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        if most <= BLOCK_ROWS:
            yield self.fetch(frame.sort(*by))
            return
        import pyarrow

        native = frame.to_native()
        _use_this_python(native)
        # Each batch travels as one row of bytes, and one part of the table is here at a time.
        with plainly(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on versions of pandas, which is not used here
            keys = [_column(name) for name in by]
            # Parts of a known size, so that what is here at a time is bounded.
            parts = native.repartitionByRange(-(-most // PART_ROWS), *keys)
            packed = parts.sortWithinPartitions(*keys).mapInArrow(_packing(), "batch binary")
            for row in packed.toLocalIterator(prefetchPartitions=True):
                with pyarrow.ipc.open_stream(bytes(row.batch)) as stream:
                    yield as_arrays(stream.read_all())

    def hold(self, frame: Frame) -> Frame:
        held: Any = nw.from_native(frame.to_native().persist())
        return held

    def release(self, frame: Frame) -> None:
        with contextlib.suppress(Exception):  # a lost session has nothing to give back
            frame.to_native().unpersist()

    def moment(self, value: datetime.datetime) -> nw.Expr:
        # Spark would take a moment of Python's for one in this computer's zone.
        return nw.lit(str(value)).cast(nw.Datetime("us"))

    def in_utc(self, frame: Frame, column: str) -> Frame:
        native = frame.to_native()
        kind, value = native.schema[column].dataType.typeName(), _column(column)
        moment = _utc(value) if kind == "timestamp" else value.cast("timestamp_ntz")
        return _added(native, column, moment)

    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        from pyspark.sql import functions

        if time_format is not None:
            raise BadParameter(
                f"{argument('time_format')} is not for Spark: make a table whose times are "
                f"timestamps, or audit the files without {argument('engine', 'spark')}."
            )
        text = _text(column)
        zoned = functions.when(text.rlike(ZONE), _utc(text.try_cast("timestamp")))
        moment = zoned.otherwise(text.try_cast("timestamp_ntz"))
        return _added(frame.to_native(), into, functions.when(text.rlike(MOMENT), moment))

    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        from pyspark.sql import functions

        text = _text(column)
        number = functions.when(text.rlike(NUMBER), text.try_cast("double"))
        return _added(frame.to_native(), into, number)

    def zones(self, frame: Frame, column: str, into: str) -> Frame:
        from pyspark.sql import functions

        zone = functions.regexp_extract(_text(column), ZONE, 1)
        return _added(frame.to_native(), into, zone)


def _use_this_python(native: Any) -> None:
    """Where Spark runs on this machine, its workers are this Python, not any on the path."""
    if "PYSPARK_PYTHON" in os.environ:
        return
    with contextlib.suppress(Exception):  # a session of Spark Connect has no context
        context = native.sparkSession.sparkContext
        if context.master.startswith("local"):
            context.pythonExec = sys.executable


def _packing() -> Any:
    def pack(batches: Any) -> Any:
        """Runs where the rows are, where this package need not be installed."""
        import pyarrow

        for batch in batches:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pyarrow.RecordBatch.from_pydict(
                {"batch": pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())}
            )

    return pack


def _column(name: str) -> Any:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")  # Spark's way to quote a name


def _text(name: str) -> Any:
    from pyspark.sql import functions

    return functions.trim(_column(name).cast("string"))


def _utc(moment: Any) -> Any:
    """A moment as UTC shows it, whatever the zone in which the session shows its times."""
    from pyspark.sql import functions

    start = functions.to_timestamp_ntz(functions.lit("1970-01-01 00:00:00"))
    return start + functions.unix_micros(moment) * functions.expr("INTERVAL '0.000001' SECOND")


def _added(native: Any, name: str, value: Any) -> Frame:
    added: Any = nw.from_native(native.withColumn(name, value))
    return added


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """What Spark complains of in pages, in one sentence."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JNetworkError, ConnectionError):
        raise CannotConnect(
            "the connection to Spark was lost before the audit was done: nothing was written, so "
            "run it again."
        ) from None
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if any(sign in text for sign in NO_MEMORY):
            raise CannotConnect(
                "Spark ran out of memory: give it more (spark.driver.memory, "
                "spark.executor.memory), or ask a coarser question, such as "
                f"{argument('every', 'month')}."
            ) from None
        if "No module named 'pyarrow'" in text:
            raise MissingExtra(
                "Spark's workers need pyarrow, which is not installed there: install it, or say "
                "with PYSPARK_PYTHON which Python has it."
            ) from None
        raise BadLog(f"Spark cannot read the log: {_reason(text)}.") from None


def _reason(text: str) -> str:
    """What it all began with, out of pages that begin with what it led to."""
    causes = re.findall(r"^Caused by: (.*)$", text, re.M)
    said = causes[-1] if causes else text.strip().split("\n")[0]
    said = re.sub(r"^(?:[\w.$]+(?:Exception|Error): )+", "", said).split(" SQLSTATE")[0]
    return shown(said.rstrip(" ."))


# Files read by Spark, where that engine is asked for.


@dataclass(frozen=True, eq=False)
class SparkCsv(LogTable):
    """CSV files, of which a column is typed only if a condition looks at it."""

    reader: Any = None

    def load(self, needed: Sequence[str], as_text: Sequence[str]) -> LogTable:
        native = self.frame.to_native()
        if set(needed) - set(as_text):
            from pyspark.sql.types import StringType, StructField, StructType

            with plainly():
                guessed = self.reader.option("inferSchema", True).csv(list(self.paths)).schema
            kinds = [
                StructField(kind.name, StringType()) if kind.name in as_text else kind
                for kind in guessed
            ]
            native = self.reader.schema(StructType(kinds)).csv(list(self.paths))
        frame: Any = nw.from_native(native)
        return replace(self, frame=frame.select(*dict.fromkeys(needed)))


def open_with_spark(patterns: list[str], encoding: str) -> LogTable:
    """A table of files; those with a scheme, such as s3a://, are found by Spark itself."""
    session = _session()
    if any("://" in pattern for pattern in patterns):
        paths, label, local = patterns, ", ".join(map(shown, patterns)), False
    else:
        paths, label = found_files(patterns)
        local = True
    folders = local and all(Path(path).is_dir() for path in paths)
    kind = PARQUET if folders else kind_of_files(paths, label)
    absolute = tuple(_literal(str(Path(path).absolute())) if local else path for path in paths)
    files = tuple(paths) if local and not folders else ()
    with plainly():
        if kind is CSV:
            # A quote in a quoted text is doubled, and line ends may stand there too (RFC 4180).
            reader = session.read.options(
                header=True,
                sep=separator(paths[0]) if local else ",",
                quote='"',
                escape='"',
                multiLine=True,
                enforceSchema=False,
                mode="FAILFAST",
                encoding=encoding,
            )
            native = reader.csv(list(absolute))
            frame: Any = nw.from_native(native)
            columns = tuple(native.columns)
            return SparkCsv(label, columns, frame, absolute, sources=files, reader=reader)
        if kind is PARQUET:
            native = session.read.option("mergeSchema", len(paths) > 1).parquet(*absolute)
        else:
            many = not paths[0].lower().endswith((".json", ".json.gz"))
            native = session.read.option("multiLine", not many).json(list(absolute))
    frame = nw.from_native(native)
    return LogTable(label, tuple(native.columns), frame, sources=files)


def _literal(path: str) -> str:
    """The file of that name, and not all that it would name as a pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def _session() -> Any:
    """The session there is, or one as Spark's own settings say; on this machine by default."""
    with naming_the_extra(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on versions of pandas, which we do not use here
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "SPARK_REMOTE" not in os.environ and not _java():
        raise MissingExtra(
            "Spark needs Java, which is not installed: install it (on Debian, openjdk-17-jre-"
            "headless), or say where it is with JAVA_HOME."
        )
    settings = {"spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}
    builder: Any = SparkSession.builder.appName("evenhand").config(map=settings)
    with _hushed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return builder.getOrCreate()
        except (PySparkException, RuntimeError, OSError) as error:
            reason = shown(str(error).strip().split("\n")[0].rstrip("."))
            raise CannotConnect(f"Spark does not start: {reason}.") from None


def _java() -> bool:
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which("java", path=str(Path(home) / "bin")) is not None
    return shutil.which("java") is not None


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Spark's many lines go to a file without a name, for errors reach us in another way."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as aside:
        kept = os.dup(2)
        os.dup2(aside.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
