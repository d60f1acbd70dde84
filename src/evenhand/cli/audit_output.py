"""What `evenhand audit` found, as files and as text in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.output import print_table
from evenhand.errors import visible

if TYPE_CHECKING:
    from evenhand.auditing import Answer, LogComparison


def answers_of(found: Answer | LogComparison) -> tuple[Answer, ...]:
    """The one answer, or those of both logs."""
    from evenhand.auditing.answer import Answer

    return (found,) if isinstance(found, Answer) else (found.first, found.second)


def require_places(csv: Path | None, out: list[Path], read: list[str]) -> None:
    """Refuse to write over what is read, and where nothing can be written."""
    if csv is None and not out:
        return
    from evenhand._util.files import require_apart, require_folder, require_place
    from evenhand.report.formats import format_of
    from evenhand.report.tables import SHEETS

    folders = () if csv is None else (csv, csv / "first", csv / "second")
    require_apart((*out, *(folder / name for folder in folders for name in SHEETS)), read)
    for path in out:
        require_place(path, "out")
        format_of(path)
    if csv is not None:
        require_folder(csv, "csv")


def write_answer(found: Answer | LogComparison, csv: Path | None, out: list[Path]) -> None:
    """Write the tables and the reports that were asked for."""
    if csv is not None:
        from evenhand.report.tables import write_sheets

        write_sheets(found, csv)
    if out:
        import datetime

        from evenhand._util.files import write_whole
        from evenhand.report.formats import format_of

        made = datetime.datetime.now(datetime.UTC)
        for path in out:
            write_whole(path, format_of(path).make(found, made))


def print_answer(found: Answer | LogComparison) -> None:
    """The verdict, the tables and the notes, for a person."""
    from evenhand._util.wording import format_number
    from evenhand.auditing.answer import Answer
    from evenhand.report import text

    answers = answers_of(found)
    print(visible(found.verdict))
    if isinstance(found, Answer):
        _print_chance(found)
    for ask in dict.fromkeys(ask for answer in answers for ask in answer.asks):
        print(f"\nPlease check first: {visible(ask)}")
    if not isinstance(found, Answer):
        _table(text.side_by_side(found))
    for answer in answers:
        overall = answer.overall
        many = "s" if overall.assessments != 1 else ""
        print(
            f"\n{visible(answer.label)}: score {format_number(overall.score)} over "
            f"{format_number(overall.assessments)} assessment{many} ({answer.question}), "
            f"{overall.first} to "
            f"{overall.last}.\n{answer.scheme.describe()}"
        )
        if answer is not found:
            _print_chance(answer)
        for table in text.tables(answer):
            _table(table)
        _print_notes(tuple(note for note in answer.notes if note not in answer.asks))
    if not isinstance(found, Answer):
        _print_notes(found.notes)
    for breach in found.breaches:
        print(f"\nThreshold breached: {visible(breach)}.")


def _print_chance(answer: Answer) -> None:
    from evenhand.report import text

    words = text.chance(answer)
    if words:
        print(f"\nCould it be chance? {visible(words)}")
    if answer.gap_parts is not None and answer.gap_parts.sentence():
        print(f"\nThe gap in three parts: {answer.gap_parts.sentence()}")
    if answer.alarm is not None:
        print(f"\nWatched all along: {visible(answer.alarm.sentence())}")


def _table(table: Any) -> None:
    print()
    print_table(table.title, table.columns, table.rows)


def _print_notes(notes: tuple[str, ...]) -> None:
    if notes:
        print("\nNotes on the data")
        for note in notes:
            print(f"- {visible(note)}")
