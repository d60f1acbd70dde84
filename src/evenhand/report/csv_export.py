"""An answer as CSV files in a folder, one table each, written whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evenhand._util.files import write_whole
from evenhand.auditing.answer import TABLES, Answer
from evenhand.auditing.compare_logs import LogComparison
from evenhand.errors import CannotWrite

SHEETS = ("stakeholders.csv", "over_time.csv", "questions.csv", "notes.csv", "side_by_side.csv")


def write_sheets(found: Answer | LogComparison, folder: Path) -> None:
    """The tables of an answer, or of both answers in folders of their own."""
    if isinstance(found, LogComparison):
        write_sheets(found.first, folder / "first")
        write_sheets(found.second, folder / "second")
        rows = [(m.question, m.welfare, *m.scores, m.fairer, m.turns) for m in found.questions]
        columns = ("question", "welfare", "first", "second", "fairer", "turns")
        write_whole(folder / "side_by_side.csv", _sheet(columns, rows))
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"the folder {folder} cannot be made: {error.strerror}.") from None
    for name, content in sheets(found):
        write_whole(folder / name, content)


def sheets(answer: Answer) -> Iterator[tuple[str, bytes]]:
    """Each file's name and content."""
    for name in ("stakeholders", "questions"):
        table = TABLES[name](answer)
        yield f"{name}.csv", _sheet(list(table.columns), table.rows())
    course = answer.over_time  # one column per stakeholder, as a spreadsheet draws charts
    welfare = [None] * len(course.times) if course.welfare is None else course.welfare.tolist()
    rows = (
        (time, value, *deviation)
        for time, value, deviation in zip(
            course.times, welfare, course.unfairness.tolist(), strict=True
        )
    )
    yield "over_time.csv", _sheet(("time", "welfare", *course.names), rows)
    yield "notes.csv", _sheet(("note",), ((note,) for note in answer.notes))


def _sheet(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _cell(value: Any) -> Any:
    """NaN is an empty cell; a name that a spreadsheet would run as a formula stays text."""
    if isinstance(value, float) and value != value:
        return ""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
