"""An answer as CSV files in a folder, one table each, written whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from evenhand._util.files import write_whole
from evenhand.auditing.answer.answer import Answer, StakeholderAnswer
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
    columns = [spec.name for spec in fields(StakeholderAnswer)]
    people = ([getattr(one, name) for name in columns] for one in answer.by_stakeholder)
    yield "stakeholders.csv", _sheet(columns, people)
    table = answer.over_time
    welfare = [None] * len(table.times) if table.welfare is None else table.welfare.tolist()
    rows = (
        (time, value, *deviation)
        for time, value, deviation in zip(
            table.times, welfare, table.unfairness.tolist(), strict=True
        )
    )
    yield "over_time.csv", _sheet(("time", "welfare", *table.names), rows)
    yield (
        "questions.csv",
        _sheet(
            (
                *("question", "asked", "assessments", "unequal_assessments", "treated_worst"),
                *("overall_unfairness", "turns", "welfare", "score", "even_score", "welfare_turns"),
                "all_treated_worst",
            ),
            (
                (
                    *(row.question, row.asked, row.assessments, row.unequal, row.worst),
                    *(row.worst_unfairness, row.turns, reading.welfare, reading.score),
                    *(reading.even_score, reading.turns, "; ".join(row.all_worst)),
                )
                for row in answer.questions
                for reading in row.readings
            ),
        ),
    )
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
