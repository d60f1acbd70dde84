"""An answer as a file: a page, a PDF, CSV files in a folder, or an Excel workbook."""

from __future__ import annotations

import contextlib
import csv
import datetime
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from evenhand._util.files import write_whole
from evenhand.auditing.answer import TABLES, Answer, AnswerTable
from evenhand.auditing.compare_logs import LogComparison, comparison_summary
from evenhand.errors import BadParameter, CannotWrite, MissingExtra, argument
from evenhand.report.html.audit_page import report
from evenhand.report.html.page_data import kept_assessments

# An answer as CSV files in a folder, or as an Excel workbook.

# An answer as CSV files in a folder, one table each, written whole.

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


# An answer as an Excel workbook: the tables with formats, and no cell that is a formula.

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # that a sheet of Excel has
LONGEST = 32_767  # characters of a cell
EPOCH = datetime.datetime(1980, 1, 1)
SHARES = ("share_below",)  # columns that are shares of 1


def require_excel() -> None:
    """Refuse in a sentence, before anything else is done, if the package is not there."""
    if importlib.util.find_spec("xlsxwriter") is None:
        raise MissingExtra(
            "an Excel file needs a package that is not installed: pip install 'evenhand[excel]' "
            "brings it."
        )


def workbook(found: Answer | LogComparison, made: datetime.datetime | None = None) -> bytes:
    """The bytes of an .xlsx file.

    Args:
        found: The answer of `audit`, or the comparison of two logs by `compare`.
        made: The time to show as that at which it was made. By default none is shown.
    """
    require_excel()
    import xlsxwriter

    buffer = io.BytesIO()
    # Text is text: nothing in it is read as a number, a link or a formula.
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(buffer, options) as book:
        created = EPOCH if made is None else made.astimezone(datetime.UTC).replace(tzinfo=None)
        book.set_properties({"created": created})
        writer = _Writer(book)
        if isinstance(found, Answer):
            _answer(writer, found, "", made)
        else:
            _comparison(writer, found)
            for log, answer in enumerate((found.first, found.second), 1):
                _answer(writer, answer, f"{log} ", made)
    return buffer.getvalue()


class _Column(NamedTuple):
    """A heading, and the values under it."""

    title: str
    values: Sequence[Any]


class _Writer:
    """Writes sheets; every cell is text, a number, a truth value or empty."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self.title = book.add_format({"bold": True, "font_size": 16})
        self.bold = book.add_format({"bold": True, "valign": "top"})
        self.head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self.wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self.left = book.add_format({"align": "left", "valign": "top"})
        self._numbers: dict[str, Any] = {}
        self._worse = book.add_format({"bg_color": "#FBD9BD"})
        self._better = book.add_format({"bg_color": "#D6E7F3"})

    def sheet(self, name: str) -> Any:
        return self._book.add_worksheet(name)

    def number_format(self, values: Iterable[Any], is_share: bool = False) -> Any:
        """Digits as many as a reader can use; the cell has them all."""
        sizes = [abs(x) for x in values if isinstance(x, int | float) and x == x]
        largest = max(sizes, default=0.0)
        if is_share:
            pattern = "0%"
        elif largest >= 1000 or all(float(x).is_integer() for x in sizes):
            pattern = "#,##0"
        else:
            pattern = "0.00" if largest >= 10 else "0.000" if largest >= 0.1 else "0.00E+00"
        if pattern not in self._numbers:
            self._numbers[pattern] = self._book.add_format({"num_format": pattern})
        return self._numbers[pattern]

    def write(self, sheet: Any, row: int, column: int, value: Any, form: Any = None) -> None:
        if value is None or (isinstance(value, float) and value != value):
            sheet.write_blank(row, column, None, form)
        elif isinstance(value, bool):
            sheet.write_boolean(row, column, value, form)
        elif isinstance(value, int | float):
            sheet.write_number(row, column, value, form)
        else:
            sheet.write_string(row, column, _text(value), form)

    def table(self, name: str, columns: Sequence[_Column]) -> Any:
        """A sheet with a heading that stays in sight, and a filter."""
        rows = len(columns[0].values)
        if rows + 1 > MOST_ROWS:
            raise CannotWrite(
                f"an Excel sheet has {MOST_ROWS:,} rows, and {name.strip()!r} needs {rows + 1:,}: "
                "write CSV files instead."
            )
        sheet = self.sheet(name)
        for place, column in enumerate(columns):
            self.write(sheet, 0, place, column.title, self.head)
            form = self.number_format(column.values, column.title in SHARES)
            for row, value in enumerate(column.values, 1):
                self.write(sheet, row, place, value, None if isinstance(value, str) else form)
            longest = max((len(str(v)) for v in column.values if isinstance(v, str)), default=0)
            sheet.set_column(place, place, min(40, max(11, len(column.title) + 2, longest + 2)))
        sheet.freeze_panes(1, 1)
        sheet.autofilter(0, 0, rows, len(columns) - 1)
        return sheet

    def colour(self, sheet: Any, rows: int, first: int, last: int, worse: str) -> None:
        """The worse side of the mean in one colour and the better one in another."""
        sides = {"<": worse == "below", ">": worse == "above"}
        for criterion, is_worse in sides.items():
            form = self._worse if is_worse else self._better
            rule = {"type": "cell", "criteria": criterion, "value": 0, "format": form}
            sheet.conditional_format(1, first, rows, last, rule)


def _answer(writer: _Writer, answer: Answer, which: str, made: datetime.datetime | None) -> None:
    _summary(writer, answer, f"{which}Summary", made)
    writer.table(f"{which}Stakeholders", _known(TABLES["stakeholders"](answer)))
    _over_time(writer, answer, which)
    writer.table(f"{which}Questions", _known(TABLES["questions"](answer)))


def _known(table: AnswerTable) -> list[_Column]:
    """The columns of a table in which there is anything."""
    columns = [_Column(name, list(values)) for name, values in table.columns.items()]
    return [c for c in columns if any(value is not None for value in c.values)] or columns


def _summary(writer: _Writer, answer: Answer, name: str, made: datetime.datetime | None) -> None:
    sheet, told, overall = writer.sheet(name), answer.presentation, answer.overall
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, 100)
    writer.write(sheet, 0, 0, told.title or "Fairness over time", writer.title)
    rows: list[tuple[str, Any]] = [
        ("About", told.description),
        ("In short", answer.summary),
        ("The verdict", answer.verdict),
        *(("Please check first", ask) for ask in answer.asks),
        *(("Threshold breached", breach) for breach in answer.breaches),
        ("Log", answer.label),
        ("From", overall.first),
        ("To", overall.last),
        ("Assessed", answer.question),
        ("Assessments", overall.assessments),
        ("With somebody worse off", overall.unequal_assessments),
        ("Score", overall.score),
        ("Score of an even log", overall.even_score),
        ("Amounts are in", told.unit or answer.unit),
        *((f"Column: {role}", column) for role, column in told.columns),
        *(("Note", note) for note in answer.notes if note not in answer.asks),
        ("Made by", f"evenhand {answer.origin.get('version', '')}"),
        ("Command", answer.origin.get("command")),
        ("Made at", None if made is None else _moment(made)),
    ]
    for place, (title, value) in enumerate((r for r in rows if r[1] is not None), 2):
        writer.write(sheet, place, 0, title, writer.bold)
        writer.write(
            sheet, place, 1, value, writer.wrapped if isinstance(value, str) else writer.left
        )


def _over_time(writer: _Writer, answer: Answer, which: str) -> None:
    course, kept = answer.over_time, kept_assessments(answer)[: MOST_COLUMNS - 2]
    if not course.times:
        return
    every = [(name, part) for name, part in _courses(answer) if part is not None]
    columns = [_Column("time", list(course.times))]
    columns += [_Column(name, part.tolist()) for name, part in every]
    writer.table(f"{which}Over time", columns)
    direction = answer.terms.direction
    deviation = direction.sign * course.unfairness[kept] + 0.0
    titles = [course.times[k] for k in kept]
    columns = [_Column("distance from the mean", list(course.names))]
    columns += [_Column(time, row.tolist()) for time, row in zip(titles, deviation, strict=True)]
    sheet = writer.table(f"{which}Distances", columns)
    writer.colour(sheet, len(course.names), 1, len(titles), direction.worse)


def _courses(answer: Answer) -> list[tuple[str, Any]]:
    course = answer.over_time
    mean = answer.terms.direction.sign * course.mean
    return [
        ("welfare", course.welfare),
        ("welfare of an even log", course.even_welfare),
        ("mean", mean),
    ]


def _comparison(writer: _Writer, found: LogComparison) -> None:
    sheet = writer.sheet("Comparison")
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, 100)
    told = found.first.presentation
    writer.write(sheet, 0, 0, told.title or "Fairness over time", writer.title)
    short = " ".join(sentence.text for sentence in comparison_summary(found))
    rows = [("In short", short), ("The verdict", found.verdict)]
    for row, (title, value) in enumerate((*rows, *(("Note", n) for n in found.notes)), 2):
        writer.write(sheet, row, 0, title, writer.bold)
        writer.write(sheet, row, 1, value, writer.wrapped)
    questions = found.questions
    columns = [
        _Column("question", [match.question for match in questions]),
        _Column("welfare", [match.welfare for match in questions]),
        _Column("score of log 1", [match.scores[0] for match in questions]),
        _Column("score of log 2", [match.scores[1] for match in questions]),
        _Column("fairer", [match.fairer for match in questions]),
    ]
    if questions:
        writer.table("Side by side", columns)


def _moment(made: datetime.datetime) -> str:
    return f"{made.astimezone(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def _text(value: Any) -> str:
    """Text that a cell can hold; what is no letter at all is a replacement mark."""
    return str(value).encode("utf-8", "replace").decode("utf-8")[:LONGEST]


# The kinds of file that a report can be, by the ending of its name; a page as a PDF.

# A page as a PDF, printed by the system's own Chromium: offline, within a time limit.

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "msedge"),
)
PLACES = (  # where these are that are not on the path
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
SECONDS = 120.0  # a page of 10,000 stakeholders needs a few


def require_browser() -> str:
    """The browser that prints, or a sentence on how to get one."""
    for name in (*BROWSERS, *PLACES):
        found = shutil.which(name)
        if found is not None:
            return found
    raise MissingExtra(
        "a PDF is printed by Chromium or Chrome, and neither was found: install one (such as with "
        "apt-get install chromium), or write an .html file and print it from a browser."
    )


def as_pdf(page: bytes, seconds: float = SECONDS) -> bytes:
    """A page as the bytes of a PDF.

    Args:
        page: The page, which needs nothing else and draws itself before it has loaded.
        seconds: How long the browser may take.
    """
    browser = require_browser()
    with tempfile.TemporaryDirectory(prefix="evenhand-pdf-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source, target = folder / "page.html", folder / "page.pdf"
        source.write_bytes(page)
        _print(_command(browser, folder, source, target), folder, seconds)
        content = target.read_bytes() if target.exists() else b""
    if not content.startswith(b"%PDF"):
        raise CannotWrite(
            f"{browser} made no PDF of the page: write an .html file and print it from a browser."
        )
    return content


def _command(browser: str, folder: Path, source: Path, target: Path) -> list[str]:
    flags = [
        *("--headless", "--disable-gpu", "--no-first-run", "--disable-extensions"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        "--host-resolver-rules=MAP * ~NOTFOUND",  # a page needs no network, and gets none
        f"--user-data-dir={folder / 'profile'}",
        "--no-pdf-header-footer",
        f"--print-to-pdf={target}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")  # which it refuses to do without as root, as in containers
    return [browser, *flags, source.as_uri()]


def _print(command: list[str], folder: Path, seconds: float) -> None:
    """Run the browser; all that it started ends with it."""
    with open(folder / "messages", "wb") as messages:
        try:
            process = subprocess.Popen(
                command,
                stdout=messages,
                stderr=messages,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotWrite(f"{command[0]} cannot be started: {error.strerror}.") from None
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise CannotWrite(
                f"{command[0]} did not print the page within {seconds:g} seconds: write an .html "
                "file and print it from a browser."
            ) from None
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the browser's processes, which have a session of their own."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


# The kinds of file that a report can be, by the ending of its name.

Found = Answer | LogComparison


class ReportFormat(NamedTuple):
    """How a report is made, and what must be there for it."""

    make: Callable[[Found, datetime.datetime | None], bytes]
    require: Callable[[], object] = lambda: None


PAGE = ReportFormat(report)
FORMATS = {
    ".html": PAGE,
    ".htm": PAGE,
    ".xlsx": ReportFormat(workbook, require_excel),
    ".pdf": ReportFormat(lambda found, made: as_pdf(report(found, made)), require_browser),
}


def format_of(path: str | os.PathLike[str]) -> ReportFormat:
    """The format that the ending of a name asks for, once it is known that it can be made."""
    ending = PurePath(path).suffix.lower()
    if ending not in FORMATS:
        raise BadParameter(
            f"{argument('out')} is {os.fspath(path)!r}: its name must end in {', '.join(FORMATS)}."
        )
    FORMATS[ending].require()
    return FORMATS[ending]
