"""The kinds of file that a report can be, by the ending of its name."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple

from evenhand.auditing.answer import Answer
from evenhand.auditing.compare_logs import LogComparison
from evenhand.errors import BadParameter, argument
from evenhand.report.excel_export import require_excel, workbook
from evenhand.report.html.pages.audit_page import report
from evenhand.report.pdf import as_pdf, require_browser

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
