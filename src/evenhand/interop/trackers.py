"""Where the numbers of a run go: files always, TensorBoard and MLflow where they are installed.

A sink takes named numbers at a step. Closing it, or leaving its `with` block, finishes it.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from evenhand._util.files import require_regular
from evenhand.errors import BadParameter, CannotConnect, CannotWrite, MissingExtra


class Sink(ABC):
    """Something that keeps the numbers of a run."""

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Named numbers at a step."""

    def close(self) -> None:
        """Nothing more will come."""

    def __enter__(self) -> Sink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()


class FileSink(Sink):
    """A text file, of which a run that is killed keeps what it had."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        require_regular(path)
        with self._plainly(path):
            self._file = Path(path).open("w", newline="", encoding="utf-8")  # noqa: SIM115

    @contextlib.contextmanager
    def _writing(self) -> Iterator[TextIO]:
        """The file to write something to, which is there afterwards."""
        with self._plainly(self._file.name):
            yield self._file
            self._file.flush()

    @contextlib.contextmanager
    def _plainly(self, path: str | os.PathLike[str]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CannotWrite(
                f"{path} cannot be written ({error.strerror}): choose a folder that exists, that "
                "you may write to, and that has room."
            ) from None

    def close(self) -> None:
        with contextlib.suppress(OSError):  # of what could not be written before, and was told
            self._file.close()


class CsvSink(FileSink):
    """One row per step, with the columns of the first one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._columns: tuple[str, ...] | None = None

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if self._columns is None:
            self._columns = tuple(values)
            self._write("step", *self._columns)
        if set(values) != set(self._columns):
            raise BadParameter(
                f"step {step} has {', '.join(values)} where the file has "
                f"{', '.join(self._columns)}: log the same names at every step, or use JSON lines."
            )
        self._write(step, *(values[name] for name in self._columns))

    def _write(self, *row: Any) -> None:
        with self._writing() as file:
            csv.writer(file).writerow(row)


class JsonLinesSink(FileSink):
    """One JSON object per line, each with whatever names it has."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        with self._writing() as file:
            file.write(json.dumps({"step": step, **values}) + "\n")


class TensorBoardSink(Sink):
    """Event files that TensorBoard shows. Needs tensorboard."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from tensorboard.summary import Writer
        except ImportError:
            raise MissingExtra("tensorboard is not installed: pip install tensorboard.") from None
        self._folder = folder
        with self._plainly():
            self._writer = Writer(os.fspath(folder))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            with self._plainly():
                self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        with self._plainly():
            self._writer.close()

    @contextlib.contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CannotWrite(
                f"{self._folder} cannot be written ({error.strerror}): choose another folder."
            ) from None


class MLflowSink(Sink):
    """Metrics of an MLflow run, which is begun here and ended by `close`. Needs mlflow."""

    def __init__(self, **settings: Any) -> None:
        # Its own patience with a server that does not answer is minutes.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        try:
            import mlflow
        except ImportError:
            raise MissingExtra("mlflow is not installed: pip install mlflow.") from None
        self._mlflow = mlflow
        with self._plainly():
            self._run = mlflow.start_run(**settings)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        with self._plainly():
            self._mlflow.log_metrics(dict(values), step=step, run_id=self._run.info.run_id)

    def close(self) -> None:
        with self._plainly():
            self._mlflow.end_run()

    @contextlib.contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except (self._mlflow.exceptions.MlflowException, ImportError) as error:
            reason = str(error).strip().split("\n")[0].rstrip(".")[:200]
            raise CannotConnect(
                f"MLflow does not take the numbers ({reason}): set MLFLOW_TRACKING_URI to a server "
                "that answers, or install all of it (pip install mlflow) to keep them in a file."
            ) from None


def open_sink(where: str) -> Sink:
    """A sink as the command line names it: curve.csv, curve.jsonl, tensorboard:FOLDER, mlflow."""
    kind, _, rest = where.partition(":")
    if kind == "tensorboard" and rest:
        return TensorBoardSink(rest)
    if kind == "mlflow" and where != "mlflow:":
        return MLflowSink(**({"run_name": rest} if rest else {}))
    if where.endswith(".csv"):
        return CsvSink(where)
    if where.endswith(".jsonl"):
        return JsonLinesSink(where)
    raise BadParameter(
        f"numbers cannot be tracked in {where!r}: name a .csv or .jsonl file, tensorboard:FOLDER, "
        "mlflow or mlflow:RUN_NAME."
    )
