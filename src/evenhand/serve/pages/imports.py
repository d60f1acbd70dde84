"""A log becomes a pool on the page: sent, its columns chosen, looked at, imported."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import pydantic
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from evenhand._util.checks import first_repeated
from evenhand._util.wording import as_beginning, pluralise
from evenhand.decide.rules.built_in import rule_of
from evenhand.errors import BadFile, BadParameter, EvenhandError, naming_arguments
from evenhand.log.engines import fetch
from evenhand.log.files import opened
from evenhand.log.log import Log
from evenhand.log.options import AuditOptions
from evenhand.log.text_files import header_lines
from evenhand.log.workbooks import find_header
from evenhand.report.html.element import Markup, element, table
from evenhand.serve.api.middleware import Role
from evenhand.serve.api.models import PoolSent
from evenhand.serve.pages.frame import (
    MARK,
    NOTHING_WRONG,
    Complaint,
    Visit,
    button,
    choice,
    complaint,
    folded,
    form_field,
    frame,
    hidden,
    require_own_site,
    see,
    text_area,
)
from evenhand.serve.pools.files import suffix_of
from evenhand.serve.pools.imports import read_history
from evenhand.serve.pools.pool import AskedChange, LivePool, PoolDefinition

# Which column probably says who, when and how much: a first proposal, for people to check.

WHO = (
    *("stakeholder", "name", "who", "person", "member", "assignee", "reviewer", "employee"),
    *("recipient", "receiver", "given to", "assigned to", "team", "site", "district", "to", "user"),
)
WHEN = ("date", "time", "when", "day", "timestamp", "month", "week", "year", "created", "at")
AMOUNT = (
    *("amount", "hours", "quantity", "qty", "count", "number", "units", "doses", "value"),
    *("points", "minutes", "shifts", "slots", "how many", "how much", "total"),
)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")
_NUMBER = re.compile(r"[+-]?\d[\d.,' ]*")


class ColumnGuess(NamedTuple):
    """Names of columns; "" where none is likely."""

    stakeholder: str
    time: str
    amount: str


def guess_columns(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> ColumnGuess:
    """The likeliest columns, by their names first and then by what is in them.

    >>> guess_columns(["Shift date", "Hours", "Given to"], [["1/2/2026", "8", "Ann"]])
    ColumnGuess(stakeholder='Given to', time='Shift date', amount='Hours')
    """
    left = [name for name in columns if name]
    time = _first(left, WHEN) or _holding(columns, rows, _DATE.fullmatch)
    left = [name for name in left if name != time]
    who = _first(left, WHO) or _holding(columns, rows, _is_word, left)
    left = [name for name in left if name != who]
    return ColumnGuess(who, time, _first(left, AMOUNT))


def _first(columns: Sequence[str], words: Sequence[str]) -> str:
    """The column whose name is, or has in it, the earliest of some words."""
    for is_it in (lambda name, word: name == word, lambda name, word: _has(name, word)):
        for word in words:
            for column in columns:
                if is_it(column.strip().lower(), word):
                    return column
    return ""


def _has(name: str, word: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(word)}s?(?![a-z])", name.replace("_", " ")) is not None


def _holding(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    fits: Callable[[str], object],
    allowed: Sequence[str] | None = None,
) -> str:
    """The first column of which every cell that is filled fits."""
    for place, column in enumerate(columns):
        cells = [row[place].strip() for row in rows if place < len(row) and row[place].strip()]
        is_allowed = allowed is None or column in allowed
        if column and is_allowed and cells and all(fits(cell) for cell in cells):
            return column
    return ""


def _is_word(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is None


# Logs that were sent and not yet imported: kept for a while, so that nobody sends one twice.

LASTS = 3600.0  # seconds
MOST = 20  # logs at once; the oldest goes first
PREVIEW = 5  # rows


@dataclass(frozen=True)
class Upload:
    """A log that somebody sent.

    Args:
        path: Where it is.
        actor: Who sent it; nobody else can import it.
        name: What its file was called.
        sent: When.
        columns: The names of its columns.
        rows: Its first rows.
        header_row: The row of the names, from 1.
        note: What had to be done to read it, if anything.
    """

    path: Path
    actor: str
    name: str
    sent: float
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    header_row: int
    note: str | None = None


class UploadShelf:
    """Where these logs are; they are gone with the process at the latest."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._uploads: dict[str, Upload] = {}

    def put(self, content: bytes, name: str, actor: str) -> str:
        """Keep a log: the key by which it is found."""
        self._forget_old()
        if not content.strip():
            raise BadFile("the file is empty: choose one with a row for each decision.")
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="evenhand-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        key = secrets.token_urlsafe(16)
        folder = self._folder / key
        folder.mkdir()
        path = folder / f"log{suffix_of(content)}"
        try:
            read = _text_rows if path.suffix == ".csv" else _table_rows
            first = read(path, content)
            if not any(first.columns) or not first.rows:
                raise BadFile(
                    f"{name!r} has no rows: choose a file whose first row names the columns, with "
                    "a row for each time that somebody received something."
                )
        except EvenhandError as error:
            shutil.rmtree(folder, ignore_errors=True)
            error.args = (str(error).replace(str(path), name), *error.args[1:])
            raise
        self._uploads[key] = Upload(path, actor, name, time.time(), *first)
        return key

    def get(self, key: str, actor: str) -> Upload:
        """A log that somebody sent before."""
        self._forget_old()
        found = self._uploads.get(key)
        if found is None or found.actor != actor:
            raise BadParameter("this file is not kept any more: choose it again.")
        return found

    def drop(self, key: str) -> None:
        upload = self._uploads.pop(key, None)
        if upload is not None:
            shutil.rmtree(upload.path.parent, ignore_errors=True)

    def _forget_old(self) -> None:
        now = time.time()
        for key, upload in list(self._uploads.items()):
            if now - upload.sent > LASTS or len(self._uploads) >= MOST:
                self.drop(key)


class _FirstRows(NamedTuple):
    """How a file begins (see `Upload`)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    header_row: int = 1
    note: str | None = None


def _text_rows(path: Path, content: bytes) -> _FirstRows:
    """How a text file begins, once it is kept as UTF-8."""
    text, note = _as_text(content)
    path.write_text(text, encoding="utf-8", newline="")
    lines = header_lines(str(path))
    place = find_header(lines)
    columns = tuple(cell.strip() for cell in lines[place]) if lines else ()
    rows = tuple(tuple(row) for row in lines[place + 1 : place + 1 + PREVIEW])
    return _FirstRows(columns, rows, place + 1, note)


def _table_rows(path: Path, content: bytes) -> _FirstRows:
    """How a workbook, a Parquet file or any other that an audit reads begins."""
    path.write_bytes(content)
    with opened(str(path)) as table:
        columns = table.columns
        found = fetch(table.load(columns, as_text=columns).frame.select(*columns).head(PREVIEW))
        cells = [["" if one is None else str(one) for one in found[name]] for name in columns]
        note = " ".join(table.notes) or None
    return _FirstRows(columns, tuple(zip(*cells, strict=True)), note=note)


def _as_text(content: bytes) -> tuple[str, str | None]:
    """The text of a file, which spreadsheets do not always write as UTF-8."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace"), None
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        note = "The file is not UTF-8, so it was read as Windows-1252: check names with accents."
        return content.decode("cp1252", "replace"), note


# A new pool: from a log that exists already, or from names.

RULES = (
    *("least_served", "virtual_time", "half_life:7d", "half_life:30d", "longest_wait"),
    "round_robin",
    *("lottery", "weighted_lottery", "first_come", "even_out", "proportional"),
)
BURDEN = "burden"
GIVEN = (
    ("", "Something to have: whoever received least is behind"),
    (BURDEN, "A burden, such as nights on call: whoever received most is worst off"),
)
POOL_NAME = "[A-Za-z0-9][A-Za-z0-9_.\\-]{0,63}"


async def new_pool_page(visit: Visit, wrong: Complaint = NOTHING_WRONG) -> Response:
    """The page with both ways."""
    upload = visit.form(
        "/new/import",
        wrong.at("upload"),
        form_field(
            *("File", "log", ""),
            "CSV, Excel, LibreOffice or Parquet, with a row for each time that somebody received "
            "something: who, when, and how much if that differs. Columns may have any names and "
            "come in any order.",
            type="file",
            accept=".csv,.tsv,.txt,.gz,.xlsx,.xlsm,.xls,.ods,.parquet,.pq,.jsonl,text/csv",
            required=True,
        ),
        button("Go on", "strong"),
        upload=True,
    )
    names = visit.form(
        "/new",
        wrong.at("names"),
        name_field(wrong.typed_at("names", "pool")),
        rule_field(visit, wrong.typed_at("names", "rule", RULES[0])),
        given_field(wrong.typed_at("names", "given")),
        text_area(
            *("People, one name per line", "people", wrong.typed_at("names", "people")),
            rows=6,
            required=True,
            dir="auto",
        ),
        button("Make the pool", "strong"),
    )
    return frame(visit, "Make a pool").around(
        element("h1", None, "Make a pool"),
        _part("From a log that you have", "Its history counts from the first day.", upload),
        _part("From names alone", "Everybody starts level.", names),
        status=wrong.status,
    )


def _part(title: str, words: str, form: Markup) -> Markup:
    anchor = title.split()[1]
    return element(
        "section",
        {"class": "card", "aria-labelledby": f"{anchor}-title"},
        element("h2", {"id": f"{anchor}-title"}, title),
        element("p", None, words),
        form,
    )


def name_field(value: str) -> Markup:
    """What the pool is called."""
    words = "Letters, digits, dots, dashes and underscores, such as reviews or on-call."
    given = {"required": True, "pattern": POOL_NAME, "maxlength": 64, "autocomplete": "off"}
    return form_field("Name of the pool", "pool", value, words, **given)


def rule_field(visit: Visit, chosen: str) -> Markup:
    """By which rule, or by which policy of the operator's folder, it is decided."""
    options = [(name, as_beginning(rule_of(name).describe())) for name in RULES]
    options += [(name, f"As {name} says") for name in visit.service.pools.policies.names()]
    return choice("Who is next", "rule", options, chosen)


def given_field(chosen: str) -> Markup:
    """Whether it is good to be given something: who is next is the same, the audit is not."""
    return choice("What is given out", "given", GIVEN, chosen)


def judged_as(fields: Mapping[str, str]) -> dict[str, Any]:
    """The options of an audit that follow from what is given out."""
    return {"lower_is_better": True} if fields.get("given") == BURDEN else {}


def chosen_rule(visit: Visit, fields: Mapping[str, str]) -> str:
    """The rule that was chosen; refused if it is none of those offered."""
    rule = fields.get("rule", "")
    if rule not in (*RULES, *visit.service.pools.policies.names()):
        raise BadParameter("no rule was chosen: choose who is next.")
    return rule


async def make_pool(visit: Visit) -> Response:
    """Make a pool of names."""
    fields = await visit.sent()
    try:
        sent = _pool_sent(fields, chosen_rule(visit, fields))
        service, asked = visit.service, await visit.asks(fields, Role.OWNER)
        definition = await asyncio.to_thread(sent.definition, service.pools.policies)
        await service.make_pool(definition, asked, sent.people())
    except EvenhandError as error:
        return await new_pool_page(visit, complaint("names", error, fields))
    return see(f"/pools/{sent.name}")


def _pool_sent(fields: Mapping[str, str], rule: str) -> PoolSent:
    names = [line.strip() for line in fields.get("people", "").splitlines()]
    names = [name for name in names if name]
    if not names:
        raise BadParameter("nobody is named: type a name on each line.")
    doubled = first_repeated(names)
    if doubled is not None and len(names) < 10_000:
        raise BadParameter(f"{doubled!r} stands there twice: name everybody once.")
    try:
        return PoolSent.model_validate(
            {
                "name": fields.get("pool", "").strip(),
                "rule": rule,
                "audit": judged_as(fields),
                "stakeholders": [{"name": name} for name in names],
            }
        )
    except pydantic.ValidationError as error:
        if error.errors()[0]["loc"][0] == "name":
            raise BadParameter(
                "this name does not do: use at most 64 letters, digits, dots, dashes and "
                "underscores, and begin with a letter or a digit."
            ) from None
        raise BadParameter("a name has 1 to 200 visible characters: shorten it.") from None


# A log becomes a pool: choose its columns, see what was read of it, and go on from there.

FORMATS = (
    ("", "Find out"),
    ("%d/%m/%Y", "31/12/2026 (day first)"),
    ("%m/%d/%Y", "12/31/2026 (month first)"),
    ("%d.%m.%Y", "31.12.2026"),
    ("%d-%m-%Y", "31-12-2026 (day first)"),
    ("%d/%m/%Y %H:%M", "31/12/2026 23:59 (day first)"),
    ("%m/%d/%Y %H:%M", "12/31/2026 23:59 (month first)"),
    ("%d.%m.%Y %H:%M", "31.12.2026 23:59"),
)
ALIKE = (
    ("", "Ask me if there are any"),
    ("one", "They are the same person"),
    ("two", "They are different people"),
)
DECIMALS = (("", "Find out"), (".", "1.5"), (",", "1,5"))
# What the fields of this page are called, in the sentences of an audit that names its arguments.
LABELS = {
    "stakeholder": "“Who received”",
    "time": "“When”",
    "amount": "“How much”",
    "time_format": "“How dates are written”",
    "decimal": "“How fractions are written”",
    "sheet": "“Sheet”",
    "exclude": "“Leave out these names”",
    "merge_names": "“Names that are almost alike”",
}


class _Unanswered(BadParameter):
    """Something in the file that only people can know."""


class ImportPages:
    """The two steps of an import.

    Args:
        shelf: Where a log is kept between them.
    """

    def __init__(self, shelf: UploadShelf) -> None:
        self.shelf = shelf

    async def upload(self, visit: Visit) -> Response:
        """Take the file: then its columns are asked for."""
        require_own_site(visit.request)
        try:
            async with visit.request.form(max_files=1, max_fields=10) as form:
                visit.require_mark(str(form.get(MARK, "")))
                file = form.get("log")
                if not isinstance(file, UploadFile) or not file.filename:
                    raise BadParameter("no file was chosen: choose one.")
                content, name = await file.read(), file.filename[:100]
            key = await asyncio.to_thread(self.shelf.put, content, name, visit.token.name)
        except HTTPException as error:  # it cannot be taken apart, or is too large
            wrong = BadParameter(f"the file cannot be read: {error.detail}.")
            return await new_pool_page(visit, complaint("upload", wrong, {}))
        except EvenhandError as error:
            return await new_pool_page(visit, complaint("upload", error, {}))
        return self._columns(visit, key, self.shelf.get(key, visit.token.name))

    async def carry_out(self, visit: Visit) -> Response:
        """Make the pool, and let the log be its history."""
        fields = await visit.sent()
        key = fields.get("upload", "")
        try:
            upload = self.shelf.get(key, visit.token.name)
        except EvenhandError as error:
            return await new_pool_page(visit, complaint("upload", error, {}))
        try:
            with naming_arguments(_as_label):
                log, pool = await _imported(visit, upload, fields)
        except EvenhandError as error:
            if isinstance(error, _Unanswered):
                fields["checked"] = "yes"  # it is asked once
            wrong = BadParameter(_own_words(str(error), upload))
            return self._columns(visit, key, upload, complaint("import", wrong, fields))
        self.shelf.drop(key)
        return _done(visit, pool, [_own_words(note, upload) for note in log.notes])

    def _columns(
        self, visit: Visit, key: str, upload: Upload, wrong: Complaint = NOTHING_WRONG
    ) -> Response:
        """The page on which the columns are chosen."""
        said = _said_by(upload, wrong)
        columns = [(name, name) for name in upload.columns if name]
        form = visit.form(
            "/new/columns",
            hidden(upload=key, **({"checked": "yes"} if "checked" in wrong.typed else {})),
            wrong.at("import"),
            choice(
                "Who received",
                "stakeholder",
                [("", "Choose …"), *columns],
                said("stakeholder"),
                required=True,
            ),
            choice("When", "time", [("", "Choose …"), *columns], said("time"), required=True),
            choice("How much", "amount", [("", "Each row counts 1"), *columns], said("amount")),
            folded(
                "How dates, numbers and names are written",
                choice("How dates are written", "time_format", FORMATS, said("time_format")),
                choice("How fractions are written", "decimal", DECIMALS, said("decimal")),
                choice(
                    "Names that are almost alike",
                    "alike",
                    ALIKE,
                    said("alike"),
                    "Such as Ann and ANN, which differ in capitals, spaces or accents.",
                ),
                text_area(
                    "Leave out these names, one per line", "exclude", said("exclude"), rows=2
                ),
                is_open=bool(wrong.sentence),
            ),
            name_field(said("pool")),
            rule_field(visit, said("rule")),
            given_field(said("given")),
            button("Import", "strong"),
        )
        return frame(visit, "Import a log").around(
            element("h1", None, "What do the columns mean?"),
            element("p", {"class": "soft"}, upload.note) if upload.note else None,
            _preview(upload),
            form,
            status=wrong.status,
        )


def _preview(upload: Upload) -> Markup:
    width = len(upload.columns)
    rows = ([cell[:80] for cell in (*row, *[""] * width)[:width]] for row in upload.rows)
    return table(f"The first rows of {upload.name}", upload.columns, rows, "words")


def _said_by(upload: Upload, wrong: Complaint) -> Callable[[str], str]:
    """What a field says at first: what was chosen before, or what is likely."""
    likely: dict[str, str] = {
        **guess_columns(upload.columns, upload.rows)._asdict(),
        "pool": re.sub(r"[^A-Za-z0-9_.-]+", "-", PurePath(upload.name).stem).strip("-_.")[:64],
        "rule": RULES[0],
    }
    return lambda name: wrong.typed_at("import", name, likely.get(name, ""))


async def _imported(
    visit: Visit, upload: Upload, fields: Mapping[str, str]
) -> tuple[Log, LivePool]:
    """The log as it was read, and the pool."""
    for name in ("stakeholder", "time"):
        if not fields.get(name):
            raise BadParameter(f"{LABELS[name]} is not said: choose the column.")
    rule = chosen_rule(visit, fields)
    options = AuditOptions(
        stakeholder=fields["stakeholder"],
        time=fields["time"],
        amount=fields.get("amount") or None,
        time_format=fields.get("time_format") or None,
        decimal=fields.get("decimal") or None,
        header_row=upload.header_row if upload.header_row > 1 else None,
        exclude=[name.strip() for name in fields.get("exclude", "").splitlines() if name.strip()],
        merge_names=fields.get("alike") == "one",
    )
    service, asked = visit.service, AskedChange(visit.token.name)
    policies, name = service.pools.policies, fields.get("pool", "").strip()
    PoolDefinition(name, rule, policies=policies)  # refused before the log is read
    async with service.heavy:
        log = await asyncio.to_thread(read_history, str(upload.path), options)
        if log.found.questions and "checked" not in fields:
            raise _Unanswered(" ".join(log.found.questions))
        dates = not log.history.plain_numbers
        definition = PoolDefinition(
            name, rule, dates=dates, audit=judged_as(fields), policies=policies
        )
        room = service.rooms.get(definition.name)
        if room is None or room.pool.number > 1 or room.pool.definition != definition:
            await service.make_pool(definition, asked)
        await service.import_history(definition.name, asked, lambda: log)
    return log, service.room(definition.name).pool


def _done(visit: Visit, pool: LivePool, found: list[str]) -> Response:
    people = pool.allocator.state.there.count(1)
    words = (
        f"{pluralise(pool.decisions, 'decision')} of {pluralise(people, 'person', 'people')} were "
        "imported. They are the history of the new pool: who is next follows from it."
    )
    listed = element("ul", None, (element("li", None, note) for note in found))
    link = element("a", {"href": f"/pools/{pool.name}", "class": "button strong"}, "Who is next?")
    return frame(visit, "Imported").around(
        element("h1", None, "Imported as ", pool.name),
        element("p", {"class": "done", "role": "status"}, words),
        element("h2", None, "What to know about the file") if found else None,
        listed if found else None,
        element("p", None, link),
        status=201,
    )


def _own_words(sentence: str, upload: Upload) -> str:
    """A sentence about the file by the name that it had when it was sent."""
    return sentence.replace(str(upload.path), upload.name)


def _as_label(name: str, *value: Any) -> str:
    return LABELS.get(name, f"“{name.replace('_', ' ')}”") + "".join(f" ({one})" for one in value)
