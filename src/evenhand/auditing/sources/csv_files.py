"""CSV files as people have them: how they quote, and where one is not the table it should be.

The engine guesses how a file is written from its first rows, and where they do not fit together it
guesses something else, such as one wide column. So what it found is held against the file itself.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import IO, Any

from evenhand.auditing.sources.gzip_files import open_unpacked
from evenhand.errors import BadFile

SEPARATORS = (",", ";", "\t", "|")
HEADER_LINES = 20  # among the first of these is the header: a title or remarks may stand above it
LONGEST_LINE = 1 << 22  # characters; the engine takes no longer ones


def quoting(connection: Any, path: str) -> dict[str, str]:
    """The quotes that the engine is to expect: double ones, unless the file uses others.

    Left to itself it takes a file without any in its first rows for one that knows none, and what
    is quoted further down would be another name than the same without quotes.
    """
    found = connection.execute("SELECT Quote FROM sniff_csv(?)", [path]).fetchall()
    return {} if found == [("'",)] else {"quotechar": '"'}


def separator(path: str) -> str:
    """What stands between the names in the header: the first line, unless a title is above it."""
    with _text(path) as file:
        lines = [file.readline(LONGEST_LINE) for _ in range(HEADER_LINES)]
    first = lines[0]
    counts = {mark: first.count(mark) for mark in SEPARATORS}
    if not any(counts.values()):
        counts = {mark: max(line.count(mark) for line in lines) for mark in SEPARATORS}
    return max(SEPARATORS, key=lambda mark: counts[mark])


def refuse_wide_column(label: str, paths: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse files of which one was read as a single column, as its rows do not fit its header."""
    wide = {name for name in columns if any(mark in name for mark in SEPARATORS)}
    if wide:
        refuse_misfits(label, [path for path in paths if _first_line(path).strip() in wide])


def refuse_lost_header(label: str, paths: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse files of which the header was passed over, as more rows fit to another line."""
    known = {name.strip() for name in columns}
    lost = [path for path in paths if {name.strip() for name in _first_row(path)} - known - {""}]
    refuse_misfits(label, lost)


def refuse_misfits(label: str, paths: Sequence[str]) -> None:
    """Refuse files of which a line has more or fewer fields than the header, or a lone quote."""
    short: list[str] = []
    for path in paths:
        of_which = f" of {path}" if len(paths) > 1 else ""
        header = 0
        try:
            for line, fields in _records(path):
                header = header or len(fields)
                if header < 2 or (len(fields) >= header and not any(fields[header:])):
                    continue
                wrong = f"line {line:,}{of_which} has {_several(len(fields))}"
                if 1 < len(fields) < header:
                    short.append(f"{wrong} where the header has {header}")
                    continue
                raise BadFile(_misfit(label, f"{wrong} where the header has {header}"))
        except _LoneQuote as error:
            raise BadFile(
                f"{label} cannot be read: in line {error.line:,}{of_which} a double quote is not "
                "closed, or not followed by the end of its field: take it out, or close it; inside "
                "a quoted field it is written twice."
            ) from None
    if short:
        raise ShortLines(_misfit(label, short[0]), short)


def _misfit(label: str, line: str) -> str:
    return (
        f"{label} cannot be read: {line}: fix the line, and put a field that holds the separator "
        "in double quotes."
    )


class ShortLines(BadFile):
    """Lines with fewer fields than the header, and nothing else wrong.

    Where rows are read, what is missing in them is empty, as in pandas; elsewhere this is refused.
    """

    def __init__(self, sentence: str, lines: Sequence[str]) -> None:
        super().__init__(sentence)
        self.lines = tuple(lines)

    def note(self) -> str:
        """What was done about them."""
        more = len(self.lines) - 1
        others = f", and {more:,} more have too few" if more else ""
        line = self.lines[0].capitalize()
        return f"{line}{others}: what is missing was taken as empty. Is the file whole?"


def padded(path: str) -> Iterator[list[str]]:
    """The rows of a file, each with as many fields as the header."""
    header = 0
    for _, fields in _records(path):
        header = header or len(fields)
        yield fields[:header] + [""] * (header - len(fields))


class _LoneQuote(Exception):
    """A quote that does not end where a field does, in the record that begins at a line."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def header_lines(path: str) -> list[list[str]]:
    """The first lines, of which one is the header."""
    found = []
    try:
        for line, fields in _records(path):
            found.append(fields)
            if line >= HEADER_LINES:
                break
    except _LoneQuote:
        pass  # which is reported where the rows are read
    return found


def all_rows(path: str) -> list[list[str]]:
    """The rows of a file, empty ones too, so that they can be counted."""
    with _text(path) as file:
        lines = iter(lambda: file.readline(LONGEST_LINE), "")
        try:
            return list(csv.reader(lines, delimiter=separator(path)))
        except csv.Error as error:
            raise BadFile(f"{path} cannot be read: {error}.") from None


def _records(path: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file that are not empty, each with the line at which it begins."""
    with _text(path) as file:
        lines = iter(lambda: file.readline(LONGEST_LINE), "")
        rows = csv.reader(lines, delimiter=separator(path), strict=True)
        begins = 1
        while True:
            try:
                fields = next(rows, None)
            except csv.Error as error:
                if "field limit" in str(error):  # too long for us, if not for the engine
                    return
                raise _LoneQuote(begins) from None
            if fields is None:
                return
            if fields:
                yield begins, fields
            begins = rows.line_num + 1


def _first_row(path: str) -> list[str]:
    return next(iter(header_lines(path)), [])


def _first_line(path: str) -> str:
    with _text(path) as file:
        return file.readline(LONGEST_LINE)


def _text(path: str) -> IO[str]:
    return io.TextIOWrapper(open_unpacked(path), encoding="utf-8-sig", errors="replace", newline="")


def _several(count: int) -> str:
    return "1 field" if count == 1 else f"{count:,} fields"
