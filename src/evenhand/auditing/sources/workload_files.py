"""Job logs in the Standard Workload Format: 18 numbers a job, remarks after semicolons.

-1 is unknown. Times are seconds since the log begins, which its header says in `UnixStartTime`;
without it they stay numbers. https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable, Iterator

from evenhand._util.moments import EPOCH
from evenhand.auditing.sources.gzip_files import open_unpacked
from evenhand.errors import BadFile

FIELDS = (
    *("job", "submit", "wait", "run", "processors", "cpu_time", "memory", "processors_requested"),
    *("time_requested", "memory_requested", "status", "user", "group", "executable", "queue"),
    *("partition", "preceding_job", "think_time"),
)
MADE = ("start", "end", "processor_seconds")  # columns more, of what a job used and when
_REMARK = re.compile(r"\s*;\s*(\w+)\s*:\s*(.*?)\s*$")


def read_workload(path: str) -> Iterator[tuple[str, ...]]:
    """The names of the columns, and then a row for each job; what is unknown is empty."""
    yield (*FIELDS, *MADE)
    moment: Callable[[float], str] = _seconds
    with io.TextIOWrapper(open_unpacked(path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if text.startswith(";"):
                remark = _REMARK.match(text)
                if remark is not None and remark[1].lower() == "unixstarttime":
                    moment = _since(remark[2], moment)
            elif text:
                yield _job(text, moment, path, number)


def _job(line: str, moment: Callable[[float], str], path: str, number: int) -> tuple[str, ...]:
    try:
        values = [float(word) for word in line.split()]
    except ValueError:
        values = []
    if len(values) != len(FIELDS) or not all(abs(value) < 1e15 for value in values):
        raise BadFile(
            f"{path} is not in the Standard Workload Format: line {number:,} is not "
            f"{len(FIELDS)} numbers."
        )
    known: dict[str, float | None] = {
        name: None if value == -1 else value for name, value in zip(FIELDS, values, strict=True)
    }
    submit, wait, run = known["submit"], known["wait"], known["run"]
    processors = known["processors"] or known["processors_requested"]
    start = None if submit is None or wait is None else submit + wait
    end = None if start is None or run is None else start + run
    # What never began used nothing, and is no event.
    used = None if processors is None or run is None or start is None else processors * run
    texts = {name: "" if value is None else _seconds(value) for name, value in known.items()}
    texts["submit"] = "" if submit is None else moment(submit)
    made = [*("" if at is None else moment(at) for at in (start, end))]
    return (*texts.values(), *made, "" if used is None else _seconds(used))


def _seconds(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _since(text: str, otherwise: Callable[[float], str]) -> Callable[[float], str]:
    """Moments of seconds since the log began, if its header says when that was."""
    try:
        begin = EPOCH + datetime.timedelta(seconds=int(text.split()[0]))
    except (ValueError, IndexError, OverflowError):
        return otherwise
    if begin <= EPOCH:  # 0 stands for unknown
        return otherwise

    def moment(seconds: float) -> str:
        try:
            return (begin + datetime.timedelta(seconds=seconds)).isoformat(" ")
        except OverflowError:
            return ""

    return moment
