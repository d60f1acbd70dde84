"""A new pool: from a log that exists already, or from names."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pydantic
from starlette.responses import Response

from evenhand._util.checks import first_repeated
from evenhand._util.wording import as_beginning
from evenhand.decide.rules.named import rule_of
from evenhand.errors import BadParameter, EvenhandError
from evenhand.report.html.element import Markup, element
from evenhand.serve.api.models import PoolSent
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.forms import button, choice, field, text_area
from evenhand.serve.pages.page_frame import NOTHING_WRONG, Complaint
from evenhand.serve.pages.pool_frame import frame
from evenhand.serve.pages.signed_in import Visit, complaint, see

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
        field(
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
    return field("Name of the pool", "pool", value, words, **given)


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
