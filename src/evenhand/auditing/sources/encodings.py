"""Text files that are not written in UTF-8, all that the engine reads."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from evenhand._util.wording import short_repr
from evenhand.auditing.sources.gzip_files import open_unpacked
from evenhand.auditing.sources.temporary_copies import new_folder
from evenhand.errors import BadFile, BadParameter, argument


def copied_in_utf_8(path: str, encoding: str) -> str:
    """A copy of a text file in UTF-8, all that the engine reads, kept until the program ends."""
    _require_known(encoding)
    folder = new_folder()
    copy = folder / Path(path).name.removesuffix(".gz")
    try:
        with (
            io.TextIOWrapper(open_unpacked(path), encoding=encoding, newline="") as source,
            open(copy, "w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
    except UnicodeError as error:
        raise BadFile(f"{path} is not written in {encoding}: {error}.") from None
    return str(copy)


def _require_known(encoding: str) -> None:
    """Refuse what is not the name of an encoding of text."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except (LookupError, ValueError):  # the latter for names that no name can be, with a NUL say
        raise BadParameter(
            f"{argument('encoding')} is {short_repr(encoding)}, which is not known: it is a name "
            "such as latin-1, cp1252 or utf-16."
        ) from None


def where_not_utf_8(paths: tuple[str, ...]) -> str:
    """Where the first line is that is not UTF-8, such as " (line 17 of log.csv)"."""
    for path in paths:
        with open_unpacked(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return f" (line {number:,}{f' of {path}' if len(paths) > 1 else ''})"
    return ""
