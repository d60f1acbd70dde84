"""The kinds of file that a report can be, by the ending of its name; a page as a PDF."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import NamedTuple

from evenhand.auditing.answer import Answer
from evenhand.auditing.compare_logs import LogComparison
from evenhand.errors import BadParameter, CannotWrite, MissingExtra, argument
from evenhand.report.html.audit_page import report
from evenhand.report.tables import require_excel, workbook

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
