"""Files read by Spark, where that engine is asked for."""

from __future__ import annotations

import contextlib
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
from evenhand.auditing.sources.addresses import shown
from evenhand.auditing.sources.csv_files import separator
from evenhand.auditing.sources.engines.spark import plainly
from evenhand.auditing.sources.file_names import CSV, PARQUET, found_files, kind_of_files
from evenhand.auditing.sources.log_table import LogTable
from evenhand.errors import CannotConnect, MissingExtra


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
