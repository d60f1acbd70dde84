"""A log becomes a pool: choose its columns, see what was read of it, and go on from there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import Response

from evenhand._util.wording import pluralise
from evenhand.errors import BadParameter, EvenhandError, naming_arguments
from evenhand.log.log import Log
from evenhand.log.options import AuditOptions
from evenhand.report.html.element import Markup, element, table
from evenhand.serve.pages.column_guess import guess_columns
from evenhand.serve.pages.forms import button, choice, folded, hidden, text_area
from evenhand.serve.pages.new_pool_page import (
    RULES,
    chosen_rule,
    given_field,
    judged_as,
    name_field,
    new_pool_page,
    rule_field,
)
from evenhand.serve.pages.page_frame import NOTHING_WRONG, Complaint
from evenhand.serve.pages.pool_frame import frame
from evenhand.serve.pages.signed_in import MARK, Visit, complaint, require_own_site
from evenhand.serve.pages.upload_shelf import Upload, UploadShelf
from evenhand.serve.pools.asked_changes import AskedChange
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.history_import import read_history
from evenhand.serve.pools.live_pool import LivePool

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
